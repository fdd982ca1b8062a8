//! Which file a path is.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// What tells a file from every other one. Numbers are given out again after a removal, so the time
/// at which it was made belongs to it, where the file system knows that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The number of its inode there.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970.
    pub born: Option<u64>,
}

impl FileIdentity {
    /// That of an open file; a descriptor that only names a place will do.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let copy = file.as_fd().try_clone_to_owned()?;
        File::from(copy).metadata().map(|found| Self::from(&found))
    }

    /// Whether it is the same file. Where one of two looks could not tell when a file was made, the
    /// numbers alone say so.
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
    fn from(found: &Metadata) -> Self {
        let born = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            device: found.dev(),
            inode: found.ino(),
            born: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        }
    }
}
