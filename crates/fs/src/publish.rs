//! Puts new bytes in place of old ones.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::cancel::checkpoint;
use crate::deferred_close::with_space;
use crate::error::{SYNC_DIRECTORY, WRITE_IN_PLACE};
use crate::{Content, Durability, FsError, FsErrorKind};

/// A lock on a directory that is held for longer belongs to another program.
const MAX_LOCK_WAIT: Duration = Duration::from_millis(500);

/// Bytes written between two checks of the cancel flag.
const STRIDE: usize = 1 << 20;

/// Exchanges two names in one directory, in one step.
#[cfg(target_os = "linux")]
pub(crate) fn exchange(directory: BorrowedFd<'_>, a: &OsStr, b: &OsStr) -> Result<(), Errno> {
    #[cfg(test)]
    if WITHOUT_FLAGS.get() {
        return Err(Errno::INVAL);
    }
    rustix::fs::renameat_with(directory, a, directory, b, rustix::fs::RenameFlags::EXCHANGE)
}

#[cfg(test)]
thread_local! {
    /// Renames as on a file system that knows neither flag, for tests.
    pub(crate) static WITHOUT_FLAGS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Renames an entry, and never replaces another one: fails with `EXIST` if the new name is taken.
pub(crate) fn rename_unless_taken(
    directory: BorrowedFd<'_>,
    from: &OsStr,
    to_directory: BorrowedFd<'_>,
    to: &OsStr,
) -> Result<(), Errno> {
    match rename_noreplace(directory, from, to_directory, to) {
        // A file system without the flag leaves a moment between the check and the rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::statat(to_directory, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => rustix::fs::renameat(directory, from, to_directory, to),
                Err(errno) => Err(errno),
            }
        }
        done => done,
    }
}

fn rename_noreplace(
    directory: BorrowedFd<'_>,
    from: &OsStr,
    to_directory: BorrowedFd<'_>,
    to: &OsStr,
) -> Result<(), Errno> {
    #[cfg(test)]
    if WITHOUT_FLAGS.get() {
        return Err(Errno::INVAL);
    }
    rustix::fs::renameat_with(directory, from, to_directory, to, rustix::fs::RenameFlags::NOREPLACE)
}

/// Elsewhere an edit checks directly before its rename.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exchange(_directory: BorrowedFd<'_>, _a: &OsStr, _b: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Fails if the content is larger than the process's limit on files. Writing would fail too, but
/// with a signal (`SIGXFSZ`) that ends a process unless it ignores it.
pub(crate) fn within_size_limit(display_path: &str, bytes: u64) -> Result<(), FsError> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(max) if bytes > max => Err(FsError::at(display_path, "writing", Errno::FBIG)),
        _ => Ok(()),
    }
}

/// Writes all of `bytes`, and checks the cancel flag in between.
pub(crate) fn write_all(
    file: &File,
    display_path: &str,
    bytes: &[u8],
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    for stride in bytes.chunks(STRIDE) {
        checkpoint(cancel)?;
        let mut rest = stride;
        while !rest.is_empty() {
            match with_space(|| rustix::io::write(file, rest)) {
                Ok(0) => {
                    let error = io::Error::from(io::ErrorKind::WriteZero);
                    return Err(FsError::io(display_path, "writing", error));
                }
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(FsError::at(display_path, "writing", errno)),
            }
        }
    }
    Ok(())
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
        Some(kind) => Err(FsErrorKind::NotAFile { kind }.at(display_path)),
    }
}

/// Overwrites a file in place. This is not atomic, and only done where the caller allowed it.
pub(crate) fn overwrite(
    mut file: &File,
    display_path: &str,
    content: Content<'_>,
    durability: Durability,
) -> Result<(), FsError> {
    // A full disk must be noticed before the first byte of the old content is gone.
    with_space(|| reserve_space(file, content.size()))
        .map_err(|errno| FsError::at(display_path, "reserving space for it", errno))?;
    // The bytes come before the length: a crash leaves a mixture, but never an empty file.
    let failed = |error| FsError::io(display_path, WRITE_IN_PLACE, error);
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    match content {
        Content::Bytes(bytes) => file.write_all(bytes).map_err(failed)?,
        // Too late to stop.
        Content::Staged { .. } => {
            content.write_to(file, display_path, &AtomicBool::new(false))?;
        }
    }
    file.set_len(content.size()).map_err(failed)?;
    match durability {
        Durability::Process => Ok(()),
        Durability::Fsync => sync(file, display_path),
    }
}

#[cfg(target_os = "linux")]
fn reserve_space(file: &File, bytes: u64) -> Result<(), Errno> {
    if bytes == 0 {
        return Ok(()); // which the system call refuses as invalid
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes) {
        // A file system that cannot reserve space reports a full disk during the write, or never.
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the Linux version can fail")]
fn reserve_space(_file: &File, _bytes: u64) -> Result<(), Errno> {
    Ok(())
}

/// Waits until the file's data is on the disk.
pub(crate) fn sync(file: &File, display_path: &str) -> Result<(), FsError> {
    file.sync_all().map_err(|error| FsError::io(display_path, "syncing", error))
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
        if let Some(directory) = &self.0 {
            lock_exclusively(directory, MAX_LOCK_WAIT, display_path, wait, cancel)?;
        }
        let guard = ExchangeGuard(self.0.as_ref());
        checkpoint(cancel)?; // the last moment at which nothing has happened
        Ok(guard)
    }

    /// As [`Self::lock`], until the descriptor is closed. A cancellation does not count.
    pub(crate) fn hold(self, cancel: &AtomicBool, wait: Duration) -> Option<OwnedFd> {
        let directory = self.0?;
        let _ = lock_exclusively(&directory, MAX_LOCK_WAIT, "", wait, cancel);
        Some(directory)
    }

    /// Waits until the directory's entries are on the disk, if that is asked for.
    pub(crate) fn finish(self, display_path: &str, durability: Durability) -> Result<(), FsError> {
        match (self.0, durability) {
            (Some(directory), Durability::Fsync) => rustix::fs::fsync(directory)
                .map_err(|errno| FsError::io(display_path, SYNC_DIRECTORY, errno)),
            _ => Ok(()),
        }
    }
}

/// Waits at most `max_wait` for others to release the directory, and then goes on without the lock: it
/// belongs to another program, or the file system has no locks. If `wait`, the caller's own limit, is
/// shorter and over, the directory is busy.
fn lock_exclusively(
    directory: &OwnedFd,
    max_wait: Duration,
    display_path: &str,
    wait: Duration,
    cancel: &AtomicBool,
) -> Result<(), FsError> {
    let started = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) if started.elapsed() < wait.min(max_wait) => {
                checkpoint(cancel)?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(1));
            }
            Err(Errno::WOULDBLOCK) if wait < max_wait => {
                return Err(FsErrorKind::Busy { waited: wait }.at(display_path));
            }
            _ => return Ok(()),
        }
    }
}

/// A directory that one change set at a time works in, until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenDirectoryLock {
    _directory: Option<OwnedFd>,
}

impl OpenDirectoryLock {
    /// Waits for other change sets. A lock that is held for longer than they take belongs to
    /// another program, and the call goes on without it.
    ///
    /// If the caller's own limit is shorter, the call fails because the directory is busy.
    pub(crate) fn take(
        directory: BorrowedFd<'_>,
        display_path: &str,
        wait: Duration,
        cancel: &AtomicBool,
    ) -> Result<Self, FsError> {
        const MAX_SET_WAIT: Duration = Duration::from_secs(10);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::ACCESS) => return Ok(Self { _directory: None }),
            Err(errno) => return Err(FsError::at(display_path, "opening the root", errno)),
        };
        lock_exclusively(&directory, MAX_SET_WAIT, display_path, wait, cancel)?;
        Ok(Self { _directory: Some(directory) })
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
