//! The real path of a file below the root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::NAME_DESCRIPTOR;
use crate::{FileKind, FsError, FsErrorKind, Root};

/// An existing file or directory below a root.
#[derive(Debug)]
pub struct FileLocation {
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
    pub fn locate(&self, path: &str) -> Result<FileLocation, FsError> {
        let descriptor = match self.open_directory(path) {
            Ok(directory) => directory,
            Err(FsError { kind: FsErrorKind::NotADirectory, .. }) => {
                OwnedFd::from(self.open_file(path)?)
            }
            Err(error) => return Err(error),
        };
        let failed = |errno| FsError::at(path, "looking at it", errno);
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        let is_directory = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => {
                let kind = FileKind::of(&stat).unwrap_or(FileKind::Other);
                return Err(FsErrorKind::NotAFile { kind }.at(path));
            }
        };
        let root = match self.known_real_path() {
            Some(real_path) => real_path.to_owned(),
            None => name_of(self.as_fd()).map_err(|errno| unnamed(path, errno))?,
        };
        let full = name_of(descriptor.as_fd()).map_err(|errno| unnamed(path, errno))?;
        // Moved out of the root since it was opened, or deleted.
        let relative = full
            .strip_prefix(&root)
            .map(Path::to_path_buf)
            .map_err(|_| FsErrorKind::NotFound.at(path))?;
        Ok(FileLocation { root, relative, is_directory, descriptor })
    }
}

impl FileLocation {
    /// How long the file is, or what the file system says of the directory. `path` is for errors.
    pub fn bytes(&self, path: &str) -> Result<u64, FsError> {
        let stat = rustix::fs::fstat(&self.descriptor)
            .map_err(|errno| FsError::at(path, "looking at it", errno))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }
}

/// The name of an open file is missing only where there is no `/proc`.
pub(crate) fn unnamed(path: &str, errno: Errno) -> FsError {
    match errno {
        Errno::NOENT => FsError::io(path, NAME_DESCRIPTOR, errno),
        errno => FsError::at(path, "looking at it", errno),
    }
}

/// The real path of an open file. `None` once it has been deleted, and where the system does not tell.
pub(crate) fn real_path_of_file(file: BorrowedFd<'_>) -> Option<PathBuf> {
    let path = name_of(file).ok()?;
    let is_deleted = path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)");
    (!is_deleted && path.is_absolute()).then_some(path)
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
