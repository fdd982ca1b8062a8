//! The identity of a file.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// Distinguishes a file from every other one. Inode numbers are reused after a removal, so the
/// creation time is part of the identity where the file system records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The inode number on the device.
    pub inode: u64,
    /// The creation time, in nanoseconds since 1970.
    pub born: Option<u64>,
}

impl FileIdentity {
    /// The identity of an open file. A descriptor opened with `O_PATH` is enough.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let copy = file.as_fd().try_clone_to_owned()?;
        File::from(copy).metadata().map(|metadata| Self::from(&metadata))
    }

    /// Whether this is the same file. If either has no creation time, the numbers decide.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        let same_age = match (self.born, other.born) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        (self.device, self.inode) == (other.device, other.inode) && same_age
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        }
    }
}
