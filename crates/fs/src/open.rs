//! Opens files, directories and parent directories below a root.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolwright_reserved::FileId;

#[cfg(target_os = "linux")]
use crate::Resolver;
use crate::protection::Protection;
use crate::root::O_PATH;
use crate::walk::{CreatedDirectories, Missing, WalkEnd};
use crate::{FileKind, FsError, FsErrorKind, Root, path, reserved, walk};

/// How often to try again when a file is replaced between the check and the opening.
const MAX_REPLACED: usize = 64;

/// A read never waits for a writer (a FIFO put in place of the file) and never acquires a terminal.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How the kernel treats links when it resolves a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Follows them, as long as they stay below the root.
    Followed,
    /// Leaves them to the component walk, which knows where they lead.
    Refused,
}

#[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "types differ"))]
#[cfg_attr(not(target_os = "linux"), expect(clippy::cast_sign_loss, reason = "only compared"))]
pub(crate) fn identity(stat: &rustix::fs::Stat) -> FileId {
    FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
}

impl Root {
    /// Opens the regular file at `path`, as the caller wrote it, for reading.
    ///
    /// Anything else (a directory, FIFO, device or socket) is refused without being opened: opening
    /// a device can act on it, and opening a FIFO can wait for ever.
    pub fn open_file(&self, path: &str) -> Result<File, FsError> {
        let relative = self.relative(path)?;
        self.open_file_below(path, &relative)
    }

    /// As [`Root::open_file`], for a path that is relative already. `display_path` is for errors.
    pub fn open_file_below(&self, display_path: &str, relative: &Path) -> Result<File, FsError> {
        for _ in 0..MAX_REPLACED {
            let opened = match self.beneath(relative, O_PATH | OFlags::CLOEXEC, Links::Followed) {
                Some(Ok(handle)) => {
                    regular(display_path, handle.as_fd())?;
                    match self.beneath(relative, READ, Links::Followed) {
                        // It may have been replaced since the check, so the open file is checked
                        // too.
                        Some(Ok(file)) => Some(opened(display_path, file)?.0),
                        Some(Err(Errno::NXIO | Errno::NOENT | Errno::LOOP)) | None => None,
                        Some(Err(errno)) => {
                            return Err(FsError::at(display_path, "opening", errno));
                        }
                    }
                }
                Some(Err(errno)) => return Err(FsError::at(display_path, "opening", errno)),
                None => match walk::walk(self, display_path, relative, Missing::Reported)? {
                    WalkEnd::Directory(_) => {
                        return Err(
                            FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display_path)
                        );
                    }
                    WalkEnd::Entry { parent, name, .. } => {
                        let parent = parent.as_ref().map_or_else(|| self.as_fd(), AsFd::as_fd);
                        open_entry(display_path, parent, &name)?.map(|(file, _)| file)
                    }
                },
            };
            // It was replaced between the check and the opening by something that cannot be opened.
            // Try again.
            if let Some(file) = opened {
                return Ok(File::from(file));
            }
        }
        Err(FsError::at(display_path, "opening a file that is being replaced", Errno::AGAIN))
    }

    /// Opens the directory at `path`, as the caller wrote it, or the root for an empty one.
    pub fn open_directory(&self, path: &str) -> Result<OwnedFd, FsError> {
        let relative = self.relative(path)?;
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self.beneath(&relative, flags, Links::Followed) {
            Some(Ok(fd)) => Ok(fd),
            Some(Err(errno)) => Err(FsError::at(path, "opening", errno)),
            None => {
                let mut relative = relative.clone();
                relative.push(""); // asks for a directory
                let opened = match walk::walk(self, path, &relative, Missing::Reported)? {
                    WalkEnd::Directory(Some(fd)) => return Ok(fd),
                    WalkEnd::Directory(None) => rustix::fs::openat(self, ".", flags, Mode::empty()),
                    WalkEnd::Entry { .. } => Err(Errno::NOTDIR),
                };
                opened.map_err(|errno| FsError::at(path, "opening", errno))
            }
        }
    }

    /// The directory and the final name of `relative`, with links in it followed. Fails if that
    /// path is protected.
    pub(crate) fn parent_of(
        &self,
        display_path: &str,
        relative: &Path,
        created: Option<&mut CreatedDirectories>,
        protection: &Protection<'_>,
    ) -> Result<(OwnedFd, OsString), FsError> {
        if let Some(parent) = self.parent_directly(display_path, relative, protection)? {
            return Ok(parent);
        }
        let missing =
            created.map_or(Missing::Reported, |created| Missing::Made(created, protection));
        match walk::walk(self, display_path, relative, missing)? {
            WalkEnd::Entry { parent, name, resolved } => {
                protection.check_file(display_path, &resolved)?;
                let parent = parent.map_or_else(|| self.reopen(display_path), Ok)?;
                protection.check_entry(display_path, parent.as_fd(), &name)?;
                Ok((parent, name))
            }
            WalkEnd::Directory(_) => {
                Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display_path))
            }
        }
    }

    /// The usual case in two system calls: the parent exists and the name in it is not a link.
    fn parent_directly(
        &self,
        display_path: &str,
        relative: &Path,
        protection: &Protection<'_>,
    ) -> Result<Option<(OwnedFd, OsString)>, FsError> {
        let Some((parent, name)) = path::split_last(relative) else { return Ok(None) };
        // Without links on the way, the path is the real path, and the kernel guarantees that.
        // Asking for the name of a descriptor afterwards would take longer.
        let (links, resolved) = if protection.is_empty() {
            (Links::Followed, None)
        } else {
            let Some(resolved) = path::plain(relative) else { return Ok(None) };
            (Links::Refused, Some(resolved))
        };
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = match self.beneath(parent.unwrap_or(Path::new(".")), flags, links) {
            Some(Ok(parent)) => parent,
            Some(Err(Errno::NOENT)) | None => return Ok(None),
            Some(Err(errno)) => {
                return Err(FsError::at(display_path, "opening its directory", errno));
            }
        };
        match walk::read_link(parent.as_fd(), name) {
            Ok(_) => Ok(None),
            Err(Errno::INVAL | Errno::NOENT) => {
                if let Some(resolved) = resolved {
                    protection.check_file(display_path, &resolved)?;
                    protection.check_entry(display_path, parent.as_fd(), name)?;
                }
                Ok(Some((parent, name.to_os_string())))
            }
            Err(errno) => Err(FsError::at(display_path, "opening", errno)),
        }
    }

    fn reopen(&self, display_path: &str) -> Result<OwnedFd, FsError> {
        rustix::io::fcntl_dupfd_cloexec(self, 0)
            .map_err(|errno| FsError::at(display_path, "opening the root", errno))
    }

    /// Opens `relative` in one system call. `None` where the component walk must decide.
    #[cfg(target_os = "linux")]
    pub(crate) fn beneath(
        &self,
        relative: &Path,
        flags: OFlags,
        links: Links,
    ) -> Option<Result<OwnedFd, Errno>> {
        if self.resolver() == Resolver::Walk || !kernel::has_openat2() {
            return None;
        }
        match kernel::openat2_beneath(self.as_fd(), relative, flags, links) {
            // An absolute link (perhaps back inside), a link that is not text or must not be
            // followed, or a `..` that raced a rename too often.
            Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN) => None,
            decided => Some(decided),
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the Linux version uses it")]
    pub(crate) fn beneath(
        &self,
        _relative: &Path,
        _flags: OFlags,
        _links: Links,
    ) -> Option<Result<OwnedFd, Errno>> {
        None
    }
}

/// Opens the regular file `name` in `parent` without following a link. `None` if it was replaced
/// meanwhile.
pub(crate) fn open_entry(
    display_path: &str,
    parent: BorrowedFd<'_>,
    name: &OsStr,
) -> Result<Option<(OwnedFd, rustix::fs::Stat)>, FsError> {
    // Checked before it is opened, because opening some things acts on them.
    let stat = rustix::fs::statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| FsError::at(display_path, "looking at it", errno))?;
    match FileKind::of(&stat) {
        None => reserved::check(display_path, &stat)?,
        Some(FileKind::Symlink) => return Ok(None),
        Some(kind) => return Err(FsErrorKind::NotAFile { kind }.at(display_path)),
    }
    match rustix::fs::openat(parent, name, READ | OFlags::NOFOLLOW, Mode::empty()) {
        // And checked after, because another file may have been opened.
        Ok(file) => opened(display_path, file).map(Some),
        Err(Errno::LOOP | Errno::MLINK | Errno::NXIO) => Ok(None),
        Err(errno) => Err(FsError::at(display_path, "opening", errno)),
    }
}

/// The status of a regular file that is not reserved. Anything else is a typed error.
fn regular(display_path: &str, fd: BorrowedFd<'_>) -> Result<rustix::fs::Stat, FsError> {
    let stat =
        rustix::fs::fstat(fd).map_err(|errno| FsError::at(display_path, "looking at it", errno))?;
    match FileKind::of(&stat) {
        None => reserved::check(display_path, &stat).map(|()| stat),
        Some(kind) => Err(FsErrorKind::NotAFile { kind }.at(display_path)),
    }
}

/// As [`regular`], for an open file.
fn opened(display_path: &str, file: OwnedFd) -> Result<(OwnedFd, rustix::fs::Stat), FsError> {
    match regular(display_path, file.as_fd()) {
        Ok(stat) => Ok((file, stat)),
        Err(error) => {
            if matches!(error.kind, FsErrorKind::Reserved) {
                toolwright_reserved::keep(file);
            }
            Err(error)
        }
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::path::Path;
    use std::sync::OnceLock;

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    use super::Links;

    /// The kernel returns `EAGAIN` when a rename made a `..` undecidable.
    const MAX_RENAME_RACES: usize = 128;

    pub(super) fn openat2_beneath(
        root: BorrowedFd<'_>,
        relative: &Path,
        flags: OFlags,
        links: Links,
    ) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH
            | match links {
                Links::Followed => ResolveFlags::NO_MAGICLINKS,
                Links::Refused => ResolveFlags::NO_SYMLINKS,
            };
        let mut answer = Err(Errno::AGAIN);
        for _ in 0..MAX_RENAME_RACES {
            answer = rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve);
            if !matches!(answer, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        answer
    }

    /// Determined once, by a call: kernels before 5.6 lack it, and some containers refuse it with
    /// `EPERM`.
    pub(super) fn has_openat2() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            rustix::fs::openat2(
                CWD,
                "/",
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
                ResolveFlags::NO_MAGICLINKS,
            )
            .is_ok()
        })
    }
}
