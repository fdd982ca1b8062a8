//! The names in one directory, as they are: hidden ones too, and links that are not followed.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::entry::open_directory;
use crate::{FileLocation, FsError};

/// What a name in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A device, a socket or a named pipe.
    Other,
}

impl NamedKind {
    /// As a listing has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: OsString,
    /// What it is.
    pub kind: NamedKind,
}

/// Lists the names in a directory that was found before, in no order.
pub fn names(
    path: &str,
    directory: &FileLocation,
    cancel: &AtomicBool,
) -> Result<Vec<Named>, FsError> {
    let failed = |errno| FsError::at(path, "listing", errno);
    let directory = open_directory(directory.descriptor.as_fd(), ".").map_err(failed)?;
    let mut listing = Dir::read_from(&directory).map_err(failed)?;
    let mut names = Vec::new();
    while let Some(entry) = listing.read() {
        checkpoint(cancel)?;
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let file_type = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // Deleted meanwhile.
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(failed(errno)),
                }
            }
            known => known,
        };
        let kind = match file_type {
            FileType::RegularFile => NamedKind::File,
            FileType::Directory => NamedKind::Directory,
            FileType::Symlink => NamedKind::Symlink,
            _ => NamedKind::Other,
        };
        let name = std::ffi::OsStr::from_bytes(name.to_bytes()).to_owned();
        names.push(Named { name, kind });
    }
    Ok(names)
}
