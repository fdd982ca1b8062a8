//! The real path of a file below the root.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::open::{Links, READ};
use crate::walk::{Missing, Place};
use crate::{FileKind, FsError, Root, reserved, walk};

/// An existing file or directory below a root.
#[derive(Debug)]
pub struct Located {
    /// The real path of the root.
    pub root: PathBuf,
    /// The path below it, without links and `..`; empty for the root itself.
    pub relative: PathBuf,
    /// True for a directory, false for a regular file.
    pub is_directory: bool,
    /// A descriptor of the directory or file.
    pub descriptor: OwnedFd,
}

impl Root {
    /// Finds the regular file or directory at `path`. The real paths are for programs that cannot
    /// take a descriptor. To stay inside the root, open files through the root again.
    pub fn locate(&self, path: &str) -> Result<Located, FsError> {
        let descriptor = match self.open_directory(path) {
            Ok(directory) => directory,
            Err(FsError::NotADirectory { .. }) => OwnedFd::from(self.open_file(path)?),
            Err(error) => return Err(error),
        };
        let failed = |errno| FsError::at(path, "looking at it", errno);
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        let is_directory = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => {
                let kind = FileKind::of(&stat).unwrap_or(FileKind::Other);
                return Err(FsError::NotAFile { path: path.to_owned(), kind });
            }
        };
        let root = match self.known_place() {
            Some(place) => place.to_owned(),
            None => name_of(self.as_fd()).map_err(|errno| unnamed(path, errno))?,
        };
        let full = name_of(descriptor.as_fd()).map_err(|errno| unnamed(path, errno))?;
        // Moved out of the root since it was opened, or deleted.
        let relative = full
            .strip_prefix(&root)
            .map(Path::to_path_buf)
            .map_err(|_| FsError::NotFound { path: path.to_owned() })?;
        Ok(Located { root, relative, is_directory, descriptor })
    }
}

impl Root {
    /// Opens a regular file or a directory below the root for a search, by a path from a listing.
    /// Where the kernel can, this takes one system call and a look, because a search opens many
    /// files. A listing already leaves out devices and pipes.
    pub fn open_listed(&self, relative: &Path) -> io::Result<File> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        // A listing leaves out reserved files, so only a link could lead to one.
        let links = if toolwright_reserved::is_any() { Links::Refused } else { Links::Followed };
        let fd = match self.beneath(relative, READ, links) {
            Some(opened) => opened?,
            None => self.open_listed_by_walk(relative)?,
        };
        let stat = rustix::fs::fstat(&fd)?;
        let fd = reserved::unless_reserved(fd, &stat).ok_or(Errno::NXIO)?;
        match FileKind::of(&stat) {
            None | Some(FileKind::Directory) => Ok(File::from(fd)),
            Some(_) => Err(Errno::NXIO.into()),
        }
    }

    fn open_listed_by_walk(&self, relative: &Path) -> io::Result<OwnedFd> {
        let display_path = relative.to_string_lossy();
        let outside = |error: FsError| match error {
            FsError::NotFound { .. } => Errno::NOENT.into(),
            FsError::Permission { source, .. } | FsError::Io { source, .. } => source,
            _ => io::Error::from(Errno::XDEV),
        };
        let (directory, name) =
            match walk::walk(self, &display_path, relative, Missing::Reported).map_err(outside)? {
                Place::Entry { parent, name, .. } => (parent, name),
                Place::Directory(directory) => (directory, ".".into()),
            };
        let directory = directory.as_ref().map_or_else(|| self.as_fd(), AsFd::as_fd);
        if is_reserved_entry(directory, &name) {
            return Err(Errno::NXIO.into());
        }
        Ok(rustix::fs::openat(directory, name, READ | OFlags::NOFOLLOW, Mode::empty())?)
    }
}

/// The name of an open file is missing only where there is no `/proc`.
pub(crate) fn unnamed(path: &str, errno: Errno) -> FsError {
    match errno {
        Errno::NOENT => FsError::Io {
            path: path.to_owned(),
            operation: crate::error::NAME_DESCRIPTOR,
            source: errno.into(),
        },
        errno => FsError::at(path, "looking at it", errno),
    }
}

/// Whether `name` in an open directory is a reserved file.
pub(crate) fn is_reserved_entry(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    toolwright_reserved::is_any()
        && rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| reserved::is_reserved(&stat))
}

/// The system's name for an open file.
#[cfg(target_os = "linux")]
pub(crate) fn name_of(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    std::fs::read_link(link).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// The system's name for an open file.
#[cfg(target_vendor = "apple")]
pub(crate) fn name_of(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let name = rustix::fs::getpath(fd)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes())))
}
