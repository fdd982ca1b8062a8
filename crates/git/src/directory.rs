//! Reading files that a command could have made.
//!
//! Every path is opened below a directory that is held by a descriptor. No link is followed, opening never
//! waits, and what is read has a bound: a pipe, a device, a socket or a link in the place of a file is an
//! error, and so is a file that another program has leased. A path with `..` is refused.
//!
//! Mounts are crossed. A command mounts nothing that the host sees, because it has a mount namespace of its
//! own or may not mount at all; only a person does, and many a root has a volume below it.
//!
//! [`open_followed`] and [`read_followed`] are for paths of a person, who may have put a link there, in a
//! place that a command can write too. They open nothing but regular files, whatever a link leads to.

mod followed;
mod walk;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

pub use self::followed::{open_followed, read_followed};

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);
const PLACE: OFlags =
    walk::THROUGH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

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
            // `ENODEV` and `ENXIO`: of a socket, or of a device that is not there.
            Errno::LOOP
            | Errno::NOTDIR
            | Errno::XDEV
            | Errno::NXIO
            | Errno::NODEV
            | Errno::OPNOTSUPP
            | Errno::ISDIR => Self::WrongKind,
            errno => Self::Io(errno.into()),
        }
    }
}

impl ReadError {
    /// Whether there is nothing at the path.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            ReadError::WrongKind => Errno::INVAL.into(),
            ReadError::TooLarge(_) => Errno::FBIG.into(),
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

impl From<Directory> for OwnedFd {
    fn from(directory: Directory) -> Self {
        directory.0
    }
}

impl Directory {
    /// Opens a path that the host knows to be without links. One that has become a link is an error.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Self(walk::open(path, DIRECTORY)?))
    }

    /// Opens a directory below this one. `None`: there is none.
    pub fn below(&self, path: impl AsRef<Path>) -> Result<Option<Self>, ReadError> {
        absent(walk::open_below(self.as_fd(), path.as_ref(), DIRECTORY).map(Self))
    }

    /// Opens a directory below this one for its path alone, which needs no right to read it.
    pub(crate) fn place(&self, path: impl AsRef<Path>) -> Result<Option<OwnedFd>, ReadError> {
        absent(walk::open_below(self.as_fd(), path.as_ref(), PLACE))
    }

    /// Opens a regular file below this one, for reading. `None`: there is none.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Option<(File, Stat)>, ReadError> {
        match absent(walk::open_below(self.as_fd(), path.as_ref(), FILE))? {
            Some(opened) => regular(opened).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a regular file of at most `limit` bytes. `None`: there is none.
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        let Some((file, stat)) = self.file(path)? else { return Ok(None) };
        content(file, &stat, limit).map(Some)
    }

    /// What an entry of this directory is; a link is not followed. `None`: there is none.
    pub fn entry(&self, name: impl AsRef<Path>) -> Result<Option<Stat>, ReadError> {
        let name = name.as_ref();
        // Only the last name of a path is not followed.
        if name.components().count() != 1 {
            return Err(ReadError::WrongKind);
        }
        absent(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// The entries of a directory below this one, or of this one if `path` is `.`, in no order. `None`:
    /// there is none.
    pub fn entries(
        &self,
        path: impl AsRef<Path>,
        limit: usize,
    ) -> Result<Option<Vec<Entry>>, ReadError> {
        self.entries_where(path, limit, |_, _| true)
    }

    /// As [`Directory::entries`], of those alone that are asked for. The others take no memory, and do not count.
    pub fn entries_where(
        &self,
        path: impl AsRef<Path>,
        limit: usize,
        is_wanted: impl Fn(&[u8], FileType) -> bool,
    ) -> Result<Option<Vec<Entry>>, ReadError> {
        let opened = absent(walk::open_below(self.as_fd(), path.as_ref(), DIRECTORY))?;
        let Some(directory) = opened else { return Ok(None) };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say it. What has gone meanwhile is nothing that is known.
                FileType::Unknown => statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            if !is_wanted(name.to_bytes(), kind) {
                continue;
            }
            if entries.len() == limit {
                return Err(ReadError::TooLarge(limit as u64));
            }
            entries.push(Entry { name: OsString::from_vec(name.to_bytes().to_vec()), kind });
        }
        Ok(Some(entries))
    }
}

/// A file that was opened, if it is a regular one.
fn regular(opened: OwnedFd) -> Result<(File, Stat), ReadError> {
    let stat = fstat(&opened)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(ReadError::WrongKind);
    }
    Ok((opened.into(), stat))
}

/// What a file says. It may grow meanwhile, and no more than the limit is kept of it.
fn content(file: File, stat: &Stat, limit: u64) -> Result<Vec<u8>, ReadError> {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let mut content = Vec::new();
    content.try_reserve_exact(usize::try_from(size).unwrap_or(0)).map_err(io::Error::other)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(content)
}

fn absent<T>(result: Result<T, Errno>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
