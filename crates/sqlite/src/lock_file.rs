//! Locks that end with the process that holds them.
//!
//! Each lock is a file of its own in a directory beside the database, locked with `flock`. The kernel
//! ties such a lock to the open file and releases it when the last descriptor is closed, whatever
//! ended the process; it excludes two holders within one process as well as two processes, also in
//! different containers. A row in the database could be exact only with the help of such a lock, and
//! byte ranges of one file (`fcntl`) would have to stay away from the database's own locks, which a
//! process loses when it closes any descriptor of that file.

use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use toolwright_reserved::FileId;

use crate::{SqliteError, SqliteErrorKind};

/// How often a file may vanish under this process, because its holder removed it.
const MAX_TRIES: usize = 1000;

/// A longer note was written by another program.
const MAX_NOTE: usize = 100;
/// The most files of one sweep.
const MAX_SWEPT: usize = 10_000;

/// How long to wait for a sweep, and how often to look. Most take less than a millisecond.
const MAX_SWEEP: Duration = Duration::from_secs(1);
const POLL_PAUSE: Duration = Duration::from_micros(500);

/// A held lock. Released on drop.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
    id: FileId,
    /// Whether the file goes with the lock.
    removes: bool,
}

impl LockFile {
    /// A lock that no other process can hold, under a new name: `prefix` and 32 hexadecimal digits.
    pub fn acquire_new(directory: &Path, prefix: &str) -> Result<(String, Self), SqliteError> {
        // Seeded from the system's random numbers, and different at every call.
        let random = || std::hash::RandomState::new().hash_one(std::process::id());
        let name = format!("{prefix}{:016x}{:016x}", random(), random());
        match Self::acquire(directory, &name)? {
            Some(lock) => Ok((name, lock)),
            None => {
                Err(SqliteErrorKind::Lock.because(&directory.join(name), "a new name is taken"))
            }
        }
    }

    /// `None` when another holds it.
    pub fn acquire(directory: &Path, name: &str) -> Result<Option<Self>, SqliteError> {
        let path = directory.join(name);
        let failed = |error: io::Error| SqliteErrorKind::Lock.because(&path, error);
        // Holds the directory, which keeps sweeps away.
        let mut gate = None;
        for _ in 0..MAX_TRIES {
            let file = match open(&path) {
                Ok(file) => file,
                Err(Errno::NOENT) => {
                    // The directory is missing: never made, or removed by the last holder.
                    match std::fs::create_dir(directory) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                            return Err(failed(error));
                        }
                        _ => continue,
                    }
                }
                Err(errno) => return Err(failed(errno.into())),
            };
            match lock(&file, &path).map_err(failed)? {
                Locked::Yes(id) => return Ok(Some(Self { file, path, id, removes: true })),
                // Perhaps only by a sweep, which mistakes a new file for a leftover.
                Locked::ByAnother if gate.as_ref().is_some_and(|gate| is_at(gate, directory)) => {
                    return Ok(None);
                }
                Locked::ByAnother => match enter(directory) {
                    Ok(entered) => gate = Some(entered),
                    // The sweep has removed the directory with the last of them.
                    Err(Errno::NOENT) => gate = None,
                    Err(_) => return Ok(None),
                },
                Locked::Stale => {}
            }
        }
        Err(failed(io::Error::other("it is replaced all the time")))
    }

    /// The file that is locked.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Leaves a note for those who find the lock held.
    pub fn note(&self, text: &str) {
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0));
    }

    /// Releases the lock and leaves the file, so that others see that it is free.
    pub fn release_visibly(mut self) {
        self.removes = false;
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.removes {
            // While the lock is held, and only the file it is on: another process may have removed that
            // one and hold a lock of the same name.
            let metadata = self.path.symlink_metadata();
            if metadata.is_ok_and(|metadata| FileId::from(&metadata) == self.id) {
                remove(&self.path);
            }
        }
    }
}

/// Removes the files of locks whose holders were killed, among those whose names `is_included` accepts.
///
/// The only way to see that a lock is free is to take it. So one process sweeps at a time, with the
/// directory locked, and a caller that finds a lock taken looks again when the sweep is over.
pub fn sweep(directory: &Path, is_included: impl Fn(&str) -> bool) {
    let Ok(gate) = open_directory(directory) else { return };
    if rustix::fs::flock(&gate, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.take(MAX_SWEPT).flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_included(name)) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let path = directory.join(name);
            // In this directory, and not in one that replaced it when it had become empty.
            let Ok(file) = open_at(&gate, name, OFlags::empty()) else { continue };
            if let Ok(Locked::Yes(id)) = lock(&file, &path) {
                // It was free: dropping it removes the file.
                drop(LockFile { file, path, id, removes: true });
            }
        }
    }
}

/// The note of the holder of a lock; empty where it has left none.
pub(crate) fn note_of(directory: &Path, name: &str) -> String {
    let Ok(file) = open_to_look(directory, name) else { return String::new() };
    let mut note = [0; MAX_NOTE + 1];
    let read = file.read_at(&mut note, 0).unwrap_or(0);
    if read > MAX_NOTE {
        String::new()
    } else {
        String::from_utf8_lossy(&note[..read]).into_owned()
    }
}

/// Whether the lock with this file is held; `None` where the file is not there, or is another one.
#[must_use]
pub fn probe(directory: &Path, name: &str, id: FileId) -> Option<bool> {
    let file = open_to_look(directory, name).ok()?;
    if FileId::from(&file.metadata().ok()?) != id {
        return None;
    }
    // Shared, so that two probes do not take each other for the holder.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK) => Some(true),
        Err(_) => None,
    }
}

/// Removes the file of a lock, and the directory if it was the last.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    if let Some(directory) = path.parent() {
        let _ = std::fs::remove_dir(directory);
    }
}

/// What came of locking a file.
#[derive(Debug, PartialEq, Eq)]
enum Locked {
    Yes(FileId),
    ByAnother,
    /// The previous holder removed the file between our opening and locking it: the lock is on a file
    /// without a name.
    Stale,
}

fn lock(file: &File, path: &Path) -> io::Result<Locked> {
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) => return Ok(Locked::ByAnother),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let id = FileId::from(&file.metadata()?);
    let metadata = path.symlink_metadata();
    let is_there = metadata.is_ok_and(|metadata| FileId::from(&metadata) == id);
    Ok(if is_there { Locked::Yes(id) } else { Locked::Stale })
}

fn open(path: &Path) -> Result<File, Errno> {
    open_at(CWD, path, OFlags::CREATE)
}

fn open_at(
    directory: impl AsFd + Copy,
    path: impl Arg + Copy,
    create: OFlags,
) -> Result<File, Errno> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = Mode::from_raw_mode(0o666);
    match rustix::fs::openat(directory, path, flags | OFlags::RDWR | create, mode) {
        // A file of another user can be locked without being written.
        Err(Errno::ACCESS) => {
            rustix::fs::openat(directory, path, flags | OFlags::RDONLY, Mode::empty())
        }
        other => other,
    }
    .map(File::from)
}

fn open_to_look(directory: &Path, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    rustix::fs::open(directory.join(name), flags, Mode::empty()).map(File::from)
}

fn open_directory(directory: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(directory, flags, Mode::empty()).map(File::from)
}

/// Waits until no sweep runs, and keeps sweeps away while the result lives. Fails when a sweep does not
/// end.
fn enter(directory: &Path) -> Result<File, Errno> {
    let gate = open_directory(directory)?;
    let deadline = Instant::now() + MAX_SWEEP;
    loop {
        match rustix::fs::flock(&gate, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(gate),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                std::thread::sleep(POLL_PAUSE);
            }
            Err(errno) => return Err(errno),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| Some(FileId::from(&metadata)) == FileId::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_nothing_is_left() {
        let base = tempfile::tempdir().expect("directory");
        let locks = base.path().join("locks");
        let lock = LockFile::acquire(&locks, "a").expect("works").expect("free");
        lock.note("me");
        let id = lock.id();
        assert!(LockFile::acquire(&locks, "a").expect("works").is_none());
        assert_eq!((probe(&locks, "a", id), note_of(&locks, "a")), (Some(true), "me".into()));
        assert!(LockFile::acquire(&locks, "b").expect("works").is_some());
        lock.release_visibly();
        assert_eq!(probe(&locks, "a", id), Some(false));
        let again = LockFile::acquire(&locks, "a").expect("works").expect("free");
        drop(again);
        assert_eq!(probe(&locks, "a", id), None);
        assert!(!locks.exists());
    }

    #[test]
    fn a_file_that_was_removed_before_it_was_locked_is_no_lock() {
        let base = tempfile::tempdir().expect("directory");
        let path = base.path().join("a");
        let first = LockFile::acquire(base.path(), "a").expect("works").expect("free");
        let late = open(&path).expect("there");
        assert_eq!(lock(&late, &path).expect("works"), Locked::ByAnother);
        drop(first);
        assert_eq!(lock(&late, &path).expect("works"), Locked::Stale);
        let _other = LockFile::acquire(base.path(), "a").expect("works").expect("free");
        assert_eq!(lock(&late, &path).expect("works"), Locked::Stale);
    }

    #[test]
    fn many_threads_never_hold_it_together() {
        let base = tempfile::tempdir().expect("directory");
        let locks = base.path().join("locks");
        let inside = std::sync::atomic::AtomicUsize::new(0);
        let rounds = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    use std::sync::atomic::Ordering::SeqCst;
                    while rounds.load(SeqCst) < 500 {
                        if let Some(lock) = LockFile::acquire(&locks, "a").expect("works") {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            rounds.fetch_add(1, SeqCst);
                            inside.fetch_sub(1, SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_sweep_never_makes_a_free_lock_look_taken() {
        let base = tempfile::tempdir().expect("directory");
        let locks = base.path();
        let over = &std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            use std::sync::atomic::Ordering::Relaxed;
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        sweep(locks, |name| name.starts_with("task-"));
                    }
                });
            }
            let acquiring = (0..2).map(|lane| {
                scope.spawn(move || {
                    (0..5_000)
                        .filter(|number| {
                            let name = format!("task-{lane}-{number}");
                            LockFile::acquire(locks, &name).expect("works").is_none()
                        })
                        .count()
                })
            });
            let acquiring: Vec<_> = acquiring.collect();
            let taken: Vec<_> =
                acquiring.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            over.store(true, Relaxed);
            assert!(taken.iter().all(|taken| matches!(taken, Ok(0))), "{taken:?}");
        });
    }

    #[test]
    fn a_sweep_leaves_what_is_held_and_removes_what_is_left() {
        let base = tempfile::tempdir().expect("directory");
        let lock = LockFile::acquire(base.path(), "task-held").expect("works").expect("free");
        for name in ["task-left", "owner-left"] {
            let left = LockFile::acquire(base.path(), name).expect("works").expect("free");
            left.release_visibly();
        }
        sweep(base.path(), |name| name.starts_with("task-"));
        let there = |name: &str| base.path().join(name).exists();
        assert_eq!(["task-held", "task-left", "owner-left"].map(there), [true, false, true]);
        drop(lock);
    }
}
