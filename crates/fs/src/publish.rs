//! Puts new bytes in place of old ones.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::error::{SYNC_DIRECTORY, WRITE_IN_PLACE};
use crate::{Durability, FsError, deferred_close};

/// Bytes written between two checks of the cancel flag.
const STRIDE: usize = 1 << 20;
/// How often a write without space waits for files that are being closed.
const TRIES: usize = 3;

/// Exchanges two names in one directory, in one step.
#[cfg(target_os = "linux")]
pub(crate) fn exchange(directory: BorrowedFd<'_>, a: &OsStr, b: &OsStr) -> Result<(), Errno> {
    rustix::fs::renameat_with(directory, a, directory, b, rustix::fs::RenameFlags::EXCHANGE)
}

/// Elsewhere an edit checks directly before its rename.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exchange(_directory: BorrowedFd<'_>, _a: &OsStr, _b: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Fails if the content is larger than the process's limit on files. Writing would fail too, but
/// with a signal (`SIGXFSZ`) that ends a process unless it ignores it.
pub(crate) fn within_size_limit(display_path: &str, bytes: &[u8]) -> Result<(), FsError> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(most) if bytes.len() as u64 > most => {
            Err(FsError::at(display_path, "writing", Errno::FBIG))
        }
        _ => Ok(()),
    }
}

/// Writes all of `bytes`, and checks the cancel flag in between.
pub(crate) fn write_all(
    mut file: &File,
    display_path: &str,
    bytes: &[u8],
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    let failed =
        |source| FsError::Io { path: display_path.to_owned(), operation: "writing", source };
    for stride in bytes.chunks(STRIDE) {
        checkpoint(cancel)?;
        let mut rest = stride;
        let mut tries = TRIES;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(failed(io::ErrorKind::WriteZero.into())),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if tries > 0 && is_full(&error) && deferred_close::wait_for_space() => {
                    tries -= 1;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(())
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Opens a file to be overwritten in place.
pub(crate) fn open_in_place(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    display_path: &str,
) -> Result<File, FsError> {
    let flags =
        OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())
        .map_err(|errno| FsError::at(display_path, "opening for writing", errno))?;
    let stat = rustix::fs::fstat(&fd)
        .map_err(|errno| FsError::at(display_path, "looking at it", errno))?;
    match crate::FileKind::of(&stat) {
        None => Ok(File::from(fd)),
        Some(kind) => Err(FsError::NotAFile { path: display_path.to_owned(), kind }),
    }
}

/// Overwrites a file in place. This is not atomic, and only done where the caller allowed it.
pub(crate) fn overwrite(
    mut file: &File,
    display_path: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), FsError> {
    // A full disk must be noticed before the first byte of the old content is gone.
    reserve_space(file, bytes.len())
        .or_else(|errno| match errno {
            Errno::NOSPC | Errno::DQUOT if deferred_close::wait_for_space() => {
                reserve_space(file, bytes.len())
            }
            errno => Err(errno),
        })
        .map_err(|errno| FsError::at(display_path, "reserving space for it", errno))?;
    // The bytes come before the length: a crash leaves a mixture, but never an empty file.
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.write_all(bytes))
        .and_then(|()| file.set_len(bytes.len() as u64))
        .map_err(|source| FsError::Io {
            path: display_path.to_owned(),
            operation: WRITE_IN_PLACE,
            source,
        })?;
    match durability {
        Durability::Process => Ok(()),
        Durability::Fsync => sync(file, display_path),
    }
}

#[cfg(target_os = "linux")]
fn reserve_space(file: &File, bytes: usize) -> Result<(), Errno> {
    if bytes == 0 {
        return Ok(()); // which the system call refuses as invalid
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes as u64) {
        // A file system that cannot reserve space reports a full disk during the write, or never.
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the Linux version can fail")]
fn reserve_space(_file: &File, _bytes: usize) -> Result<(), Errno> {
    Ok(())
}

/// Waits until the file's data is on the disk.
pub(crate) fn sync(file: &File, display_path: &str) -> Result<(), FsError> {
    file.sync_all().map_err(|source| FsError::Io {
        path: display_path.to_owned(),
        operation: "syncing",
        source,
    })
}

/// An open directory that can be locked and synced, unlike one opened with `O_PATH`.
///
/// It is opened before anything is published. Once the new file is in place, it is too late to find
/// that the directory cannot be opened.
#[derive(Debug)]
pub(crate) struct OpenDirectory(Option<OwnedFd>);

impl OpenDirectory {
    /// Opens `directory`. Without permission to read it there is none, unless syncing is asked for.
    pub(crate) fn new(
        directory: BorrowedFd<'_>,
        display_path: &str,
        durability: Durability,
    ) -> Result<Self, FsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
            Ok(directory) => Ok(Self(Some(directory))),
            Err(Errno::ACCESS) if durability == Durability::Process => Ok(Self(None)),
            Err(errno) => Err(FsError::at(display_path, "opening its directory", errno)),
        }
    }

    /// Keeps other processes of this library from exchanging files in the directory, until the
    /// guard is dropped.
    ///
    /// An exchange may take out the file of another edit that is itself about to be exchanged back.
    /// With three such edits at the same time, nothing would show which content to keep. A check
    /// and an exchange take far less than a millisecond, so a lock that is held longer belongs to
    /// another program; it protects nothing here, and the call goes on without it.
    ///
    /// If the caller's own limit is even shorter, the call fails because the file is busy.
    pub(crate) fn lock(
        &self,
        display_path: &str,
        wait: Duration,
        cancel: &AtomicBool,
    ) -> Result<ExchangeGuard<'_>, FsError> {
        const MAX_LOCK_WAIT: Duration = Duration::from_millis(500);
        let started = Instant::now();
        let mut pause = Duration::from_micros(20);
        while let Some(directory) = &self.0 {
            match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR)
                    if started.elapsed() < wait.min(MAX_LOCK_WAIT) =>
                {
                    checkpoint(cancel)?;
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(1));
                }
                Err(Errno::WOULDBLOCK) if wait < MAX_LOCK_WAIT => {
                    return Err(FsError::Busy { path: display_path.to_owned(), waited: wait });
                }
                // Locked, or the lock belongs to another program, or the file system has no locks.
                _ => break,
            }
        }
        let guard = ExchangeGuard(self.0.as_ref());
        checkpoint(cancel)?; // the last moment at which nothing has happened
        Ok(guard)
    }

    /// Waits until the directory's entries are on the disk, if that is asked for.
    pub(crate) fn finish(self, display_path: &str, durability: Durability) -> Result<(), FsError> {
        match (self.0, durability) {
            (Some(directory), Durability::Fsync) => {
                rustix::fs::fsync(directory).map_err(|errno| FsError::Io {
                    path: display_path.to_owned(),
                    operation: SYNC_DIRECTORY,
                    source: errno.into(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// While it exists, no other process of this library exchanges files in the directory.
#[derive(Debug)]
pub(crate) struct ExchangeGuard<'a>(Option<&'a OwnedFd>);

impl Drop for ExchangeGuard<'_> {
    fn drop(&mut self) {
        if let Some(directory) = self.0 {
            let _ = rustix::fs::flock(directory, FlockOperation::Unlock);
        }
    }
}
