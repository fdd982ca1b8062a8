//! Reading files that a command could have made.
//!
//! Every path is opened below a directory that is held by a descriptor. No link is followed, no mount is
//! crossed, and opening never waits: a pipe, a device or a socket in the place of a file is an error. What is
//! read has a bound.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

const BELOW: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Something else is in the place of a file or directory: a link, a pipe, a device.
    #[error("something else is in its place")]
    WrongKind,
    /// It is longer, or has more entries, than the bound.
    #[error("it is larger than {0}")]
    TooLarge(u64),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO | Errno::ISDIR => {
                Self::WrongKind
            }
            errno => Self::Io(errno.into()),
        }
    }
}

/// A directory that is held by a descriptor.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, in whatever encoding.
    pub name: OsString,
    /// What it is, as the directory says.
    pub kind: FileType,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Directory {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl Directory {
    /// Opens a path that the host knows to be without links.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let opened = openat2(CWD, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        Ok(Self(opened))
    }

    /// Opens a directory below this one. `None`: there is none.
    pub fn below(&self, path: impl AsRef<Path>) -> Result<Option<Self>, ReadError> {
        absent(openat2(&self.0, path.as_ref(), DIRECTORY, Mode::empty(), BELOW).map(Self))
    }

    /// Opens a regular file below this one, for reading. `None`: there is none.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Option<(File, Stat)>, ReadError> {
        let Some(file) = absent(openat2(&self.0, path.as_ref(), FILE, Mode::empty(), BELOW))?
        else {
            return Ok(None);
        };
        let stat = fstat(&file)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(ReadError::WrongKind);
        }
        Ok(Some((file.into(), stat)))
    }

    /// Reads a regular file of at most `limit` bytes. `None`: there is none.
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        let Some((file, stat)) = self.file(path)? else { return Ok(None) };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > limit {
            return Err(ReadError::TooLarge(limit));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(limit + 1).read_to_end(&mut content)?;
        if content.len() as u64 > limit {
            return Err(ReadError::TooLarge(limit));
        }
        Ok(Some(content))
    }

    /// The entries of a directory below this one, or of this one if `path` is `.`, in no order. `None`:
    /// there is none.
    pub fn entries(
        &self,
        path: impl AsRef<Path>,
        limit: usize,
    ) -> Result<Option<Vec<Entry>>, ReadError> {
        let opened = absent(openat2(&self.0, path.as_ref(), DIRECTORY, Mode::empty(), BELOW))?;
        let Some(directory) = opened else { return Ok(None) };
        let mut entries = Vec::new();
        for entry in Dir::new(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if entries.len() == limit {
                return Err(ReadError::TooLarge(limit as u64));
            }
            let name = OsString::from_vec(name.to_vec());
            entries.push(Entry { name, kind: entry.file_type() });
        }
        Ok(Some(entries))
    }
}

fn absent<T>(result: Result<T, Errno>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
