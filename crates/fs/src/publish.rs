//! Putting new bytes in place of old ones.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::Durability;
use crate::FsError;
use crate::cancel::checkpoint;
use crate::error::AFTER_PUBLISHING;
use crate::error::IN_PLACE;

/// Bytes written between two looks at the cancel flag.
const STRIDE: usize = 1 << 20;

/// Swaps two names of one directory in one step.
#[cfg(target_os = "linux")]
pub(crate) fn exchange(directory: BorrowedFd<'_>, a: &OsStr, b: &OsStr) -> Result<(), Errno> {
    rustix::fs::renameat_with(directory, a, directory, b, rustix::fs::RenameFlags::EXCHANGE)
}

/// Not used elsewhere: an edit then checks directly before its rename.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exchange(_directory: BorrowedFd<'_>, _a: &OsStr, _b: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Writes all of `bytes`, looking at the cancel flag in between.
pub(crate) fn write_all(
    mut file: &File,
    shown: &str,
    bytes: &[u8],
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    for stride in bytes.chunks(STRIDE) {
        checkpoint(cancel)?;
        file.write_all(stride).map_err(|source| FsError::Io {
            path: shown.to_owned(),
            operation: "writing",
            source,
        })?;
    }
    Ok(())
}

/// Opens a file that is to be overwritten where it lies.
pub(crate) fn open_in_place(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    shown: &str,
) -> Result<File, FsError> {
    let flags = OFlags::WRONLY
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())
        .map_err(|errno| FsError::at(shown, "opening for writing", errno))?;
    let stat =
        rustix::fs::fstat(&fd).map_err(|errno| FsError::at(shown, "looking at it", errno))?;
    match crate::FileKind::of(&stat) {
        None => Ok(File::from(fd)),
        Some(kind) => Err(FsError::NotAFile { path: shown.to_owned(), kind }),
    }
}

/// Overwrites a file where it lies. Not atomic: only where the caller allowed it.
pub(crate) fn overwrite(
    mut file: &File,
    shown: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), FsError> {
    // A full disk is to be met before the first byte of the old content is gone.
    reserve_space(file, bytes.len())
        .map_err(|errno| FsError::at(shown, "reserving space for it", errno))?;
    // The bytes first and the length after them: a crash leaves a mixture, but never an empty file.
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.write_all(bytes))
        .and_then(|()| file.set_len(bytes.len() as u64))
        .map_err(|source| FsError::Io { path: shown.to_owned(), operation: IN_PLACE, source })?;
    match durability {
        Durability::Process => Ok(()),
        Durability::Fsync => sync(file, shown),
    }
}

#[cfg(target_os = "linux")]
fn reserve_space(file: &File, bytes: usize) -> Result<(), Errno> {
    if bytes == 0 {
        return Ok(()); // which the system call refuses as invalid
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes as u64) {
        // A file system that cannot reserve is found full while it is written, or never.
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the Linux version can fail")]
fn reserve_space(_file: &File, _bytes: usize) -> Result<(), Errno> {
    Ok(())
}

/// Waits until the file's data are on the disk.
pub(crate) fn sync(file: &File, shown: &str) -> Result<(), FsError> {
    file.sync_all().map_err(|source| FsError::Io {
        path: shown.to_owned(),
        operation: "syncing",
        source,
    })
}

/// What syncs a directory. Opened before anything is published: once the new file is in its place
/// it is too late to find that the directory may not be opened.
#[derive(Debug)]
pub(crate) struct DirectorySync(Option<OwnedFd>);

impl DirectorySync {
    pub(crate) fn prepare(
        directory: BorrowedFd<'_>,
        shown: &str,
        durability: Durability,
    ) -> Result<Self, FsError> {
        if durability == Durability::Process {
            return Ok(Self(None));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(directory, ".", flags, Mode::empty())
            .map(|directory| Self(Some(directory)))
            .map_err(|errno| FsError::at(shown, "opening the directory to sync it", errno))
    }

    /// Waits until the directory's entries are on the disk.
    pub(crate) fn finish(self, shown: &str) -> Result<(), FsError> {
        self.0.map_or(Ok(()), rustix::fs::fsync).map_err(|errno| FsError::Io {
            path: shown.to_owned(),
            operation: AFTER_PUBLISHING,
            source: errno.into(),
        })
    }
}
