//! The file that a write or an edit is about to replace.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{Access, AtFlags, Mode};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::file_queue::{Key, QueueSlot};
use crate::open::identity;
use crate::protection::Protection;
use crate::temporary::Temporary;
use crate::walk::{self, CreatedDirectories};
use crate::{
    Content, Durability, FileKind, FsError, FsErrorKind, GitBorder, Refusal, Root, WriteOptions,
    attributes, open, publish, reserved, sweep,
};

/// A name in an open directory, and this call's turn on it.
#[derive(Debug)]
pub(crate) struct Target {
    directory: Arc<OwnedFd>,
    name: OsString,
    // Dropped before `directory`. The order does not matter, only that it lives as long.
    _slot: QueueSlot,
}

/// Where a target was looked for, and what must not change there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) root: &'a Root,
    pub(crate) protected: &'a [PathBuf],
    pub(crate) git: GitBorder,
}

impl<'a> Around<'a> {
    pub(crate) fn of(root: &'a Root, options: &'a WriteOptions) -> Self {
        Self { root, protected: &options.protected, git: options.git }
    }
}

/// The existing file before the change.
#[derive(Debug)]
pub(crate) struct Old {
    /// Open for reading. `None` if it may be written but not read.
    pub(crate) file: Option<File>,
    pub(crate) stat: rustix::fs::Stat,
}

/// How to publish the new bytes.
#[derive(Debug)]
pub(crate) enum PublishMethod<'a> {
    /// Through a temporary file.
    Atomic(Temporary<'a>),
    /// In place, because the caller allowed it and nothing else is possible.
    InPlace,
}

impl Target {
    /// Resolves `path`, fails if it is protected, and waits for earlier calls on the same file.
    pub(crate) fn open(
        root: &Root,
        path: &str,
        created: Option<&mut CreatedDirectories>,
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Self, FsError> {
        let relative = root.relative(path)?;
        let protection = Protection::of(root, options);
        let (directory, name) = root.parent_of(path, &relative, created, &protection)?;
        let around = Around::of(root, options);
        Self::open_at(directory, name, path, options, cancel, Some(&around))
    }

    /// As [`Target::open`], for a name in a directory that is open already.
    pub(crate) fn at(
        directory: OwnedFd,
        name: OsString,
        path: &str,
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Self, FsError> {
        Self::open_at(directory, name, path, options, cancel, None)
    }

    /// As [`Target::at`], in a turn that was taken already.
    pub(crate) fn with_slot(directory: Arc<OwnedFd>, name: OsString, slot: QueueSlot) -> Self {
        Self { directory, name, _slot: slot }
    }

    fn open_at(
        directory: OwnedFd,
        name: OsString,
        path: &str,
        options: &WriteOptions,
        cancel: &AtomicBool,
        around: Option<&Around<'_>>,
    ) -> Result<Self, FsError> {
        let stat = rustix::fs::fstat(&directory)
            .map_err(|errno| FsError::at(path, "looking at its directory", errno))?;
        reserved::check(path, &stat)?;
        let directory_identity = identity(&stat);
        let key = Key { directory: directory_identity, name: name.clone() };
        let slot = QueueSlot::wait(key, path, options.wait, cancel)?;
        // Before the file is looked at, because undoing an exchange changes it.
        sweep::sweep(directory.as_fd(), directory_identity, &name, around);
        Ok(Self { directory: Arc::new(directory), name, _slot: slot })
    }

    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The status of the existing file, or `None`. Fails for anything but a writable regular file,
    /// although a rename could replace it.
    pub(crate) fn existing(&self, display_path: &str) -> Result<Option<rustix::fs::Stat>, FsError> {
        let stat = match self.stat() {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(FsError::at(display_path, "looking at it", errno)),
        };
        // The path was resolved before this link was put here. Replacing it would replace the link,
        // inside the root, but it is not what the caller named.
        if let Some(kind) = FileKind::of(&stat) {
            return Err(FsErrorKind::NotAFile { kind }.at(display_path));
        }
        reserved::check(display_path, &stat)?;
        rustix::fs::accessat(self.directory(), &self.name, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|errno| FsError::at(display_path, "opening for writing", errno))?;
        Ok(Some(stat))
    }

    pub(crate) fn stat(&self) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(self.directory(), &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Reads where a link leads to, and returns its status.
    pub(crate) fn read_link(
        &self,
        display_path: &str,
    ) -> Result<(OsString, rustix::fs::Stat), FsError> {
        let failed = |errno| match errno {
            // It was a link when it was found.
            Errno::INVAL | Errno::NOENT => FsErrorKind::Conflict.at(display_path),
            errno => FsError::at(display_path, "reading the link", errno),
        };
        let stat = self.stat().map_err(failed)?;
        reserved::check(display_path, &stat)?;
        let text = walk::read_link(self.directory(), &self.name).map_err(failed)?;
        let after = self.stat().map_err(failed)?;
        if FileKind::of(&after) == Some(FileKind::Symlink) && identity(&after) == identity(&stat) {
            Ok((text, stat))
        } else {
            Err(FsErrorKind::Conflict.at(display_path))
        }
    }

    /// Opens the file for reading, and returns its status.
    pub(crate) fn open_file(
        &self,
        display_path: &str,
    ) -> Result<(File, rustix::fs::Stat), FsError> {
        match open::open_entry(display_path, self.directory(), &self.name)? {
            Some((fd, stat)) => Ok((File::from(fd), stat)),
            None => Err(FsErrorKind::Conflict.at(display_path)),
        }
    }

    /// Opens the existing file, if any, to copy its attributes.
    pub(crate) fn open_old(&self, display_path: &str) -> Result<Option<Old>, FsError> {
        let Some(stat) = self.existing(display_path)? else { return Ok(None) };
        match self.open_file(display_path) {
            Ok((file, stat)) => Ok(Some(Old { file: Some(file), stat })),
            // It may be written but not read, and keeps its mode and owner.
            Err(FsError { kind: FsErrorKind::Permission { .. }, .. }) => {
                Ok(Some(Old { file: None, stat }))
            }
            Err(error) => Err(error),
        }
    }

    /// Prepares a temporary file with the attributes of `old`, or with those of a new file.
    pub(crate) fn prepare(
        &self,
        display_path: &str,
        old: Option<&Old>,
        options: &WriteOptions,
    ) -> Result<PublishMethod<'_>, FsError> {
        // The new bytes must not be readable before the old file's mode is set on them.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let refused = match (Temporary::create(self.directory(), mode), old) {
            (Ok(temporary), None) => return Ok(PublishMethod::Atomic(temporary)),
            (Ok(temporary), Some(old)) => match self.carry_over(old, &temporary) {
                Ok(()) => return Ok(PublishMethod::Atomic(temporary)),
                Err(refused) => refused,
            },
            (Err(errno @ (Errno::ACCESS | Errno::PERM)), Some(_)) => {
                (Refusal::DirectoryNotWritable, errno)
            }
            (Err(errno), _) => {
                return Err(FsError::at(display_path, "creating a file beside it", errno));
            }
        };
        in_place_or_refuse(display_path, refused, options)
    }

    pub(crate) fn carry_over(
        &self,
        old: &Old,
        temporary: &Temporary<'_>,
    ) -> Result<(), (Refusal, Errno)> {
        if old.file.is_none() && !self.has_no_attributes().unwrap_or(false) {
            // Without its access list, the file's group would have the permissions of the list's
            // mask.
            return Err((Refusal::AttributesNotKeepable, Errno::ACCESS));
        }
        attributes::carry_over(old.file.as_ref(), &old.stat, &temporary.file)
    }

    #[cfg(target_os = "linux")]
    fn has_no_attributes(&self) -> Result<bool, Errno> {
        use rustix::fs::OFlags;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(self.directory(), &self.name, flags, Mode::empty())?;
        attributes::none_beyond_reading(handle.as_fd())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the Linux version can tell")]
    fn has_no_attributes(&self) -> Result<bool, Errno> {
        Ok(false)
    }
}

/// Fills a temporary file, up to the moment before it is published.
pub(crate) fn fill(
    temporary: &Temporary<'_>,
    display_path: &str,
    content: Content<'_>,
    old: Option<&Old>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    content.write_to(&temporary.file, display_path, cancel)?;
    if let Some(old) = old {
        attributes::restore_set_id(&old.stat, &temporary.file)
            .map_err(|errno| FsError::at(display_path, "keeping its mode", errno))?;
    }
    if options.durability == Durability::Fsync {
        publish::sync(&temporary.file, display_path)?;
    }
    checkpoint(cancel)
}

/// Publishes in place if the caller allowed it, and fails otherwise.
pub(crate) fn in_place_or_refuse<'a>(
    display_path: &str,
    (refusal, errno): (Refusal, Errno),
    options: &WriteOptions,
) -> Result<PublishMethod<'a>, FsError> {
    match (options.allow_in_place, errno) {
        (_, Errno::NOSPC | Errno::DQUOT | Errno::IO) => {
            Err(FsError::at(display_path, "keeping its attributes", errno))
        }
        (true, _) => Ok(PublishMethod::InPlace),
        (false, _) => {
            Err(FsErrorKind::NotReplaceable { refusal, source: errno.into() }.at(display_path))
        }
    }
}
