//! Putting new bytes in place of old ones.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::FsError;
use crate::cancel::checkpoint;

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

/// Overwrites a file where it lies. Not atomic: only where the caller allowed it.
pub(crate) fn overwrite(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    shown: &str,
    bytes: &[u8],
) -> Result<(), FsError> {
    let flags = OFlags::WRONLY
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())
        .map_err(|errno| FsError::at(shown, "opening for writing", errno))?;
    let stat =
        rustix::fs::fstat(&fd).map_err(|errno| FsError::at(shown, "looking at it", errno))?;
    if let Some(kind) = crate::FileKind::of(&stat) {
        return Err(FsError::NotAFile { path: shown.to_owned(), kind });
    }
    let mut file = File::from(fd);
    // The bytes first and the length after them: a crash leaves a mixture, but never an empty file.
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.write_all(bytes))
        .and_then(|()| file.set_len(bytes.len() as u64))
        .map_err(|source| FsError::Io { path: shown.to_owned(), operation: "writing in place", source })
}

/// Waits until file data and the directory entry are on the disk.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>, shown: &str) -> Result<(), FsError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, Mode::empty())
        .and_then(rustix::fs::fsync)
        .map_err(|errno| FsError::at(shown, "syncing the directory", errno))
}
