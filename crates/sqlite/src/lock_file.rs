//! Locks that end with the process that holds them.
//!
//! Each lock is a file of its own in a directory beside the database, locked with `flock`. The kernel
//! ties such a lock to the open file and releases it when the last descriptor is closed, whatever
//! ended the process; it excludes two holders within one process as well as two processes, also in
//! different containers. A row in the database could be exact only with the help of such a lock, and
//! byte ranges of one file (`fcntl`) would have to stay away from the database's own locks, which a
//! process loses when it closes any descriptor of that file.

use std::{
    fs::File,
    hash::BuildHasher,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
};

use crate::SqliteError;

/// How often a file may vanish, as its holder removed it, before this gives up.
const TRIES: usize = 1000;

/// A longer note is none of ours.
const LONGEST_NOTE: usize = 256;
/// How many files are looked at in one sweep.
const MOST_SWEPT: usize = 10_000;

/// A lock that is held. Released on drop.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
    /// Whether the file goes with the lock.
    removes: bool,
}

/// Device and inode of a lock's file: what a copy of the directory does not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

/// Whether somebody holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Somebody does.
    Yes,
    /// Nobody does.
    No,
    /// The file is not there, or is another one.
    CannotBeTold,
}

impl LockFile {
    /// `None` when somebody else holds it.
    pub fn acquire(directory: &Path, name: &str) -> Result<Option<Self>, SqliteError> {
        let path = directory.join(name);
        let failed =
            |source: io::Error| SqliteError::Lock { path: path.clone(), source: Arc::new(source) };
        for _ in 0..TRIES {
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
                Locked::Yes => return Ok(Some(Self { file, path, removes: true })),
                Locked::ByAnother => return Ok(None),
                Locked::InVain => {}
            }
        }
        Err(failed(io::Error::other("it is replaced all the time")))
    }

    /// The file that is locked.
    pub fn identity(&self) -> io::Result<Identity> {
        self.file.metadata().map(|metadata| identity_of(&metadata))
    }

    /// Leaves a note for those who find the lock held. It decides nothing.
    pub fn note(&self, text: &str) {
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0));
    }

    /// Releases the lock and leaves the file, so that it can be seen to be free.
    pub fn release_visibly(mut self) {
        self.removes = false;
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.removes {
            // While the lock is held, and only the file it is on: somebody may have removed it, and
            // somebody else may hold one of the same name.
            let found = self.path.symlink_metadata().map(|now| identity_of(&now));
            if found.is_ok() && found.ok() == self.identity().ok() {
                remove(&self.path);
            }
        }
    }
}

/// A name that nobody else gives, for a lock of one holder.
#[must_use]
pub fn unused_name(prefix: &str) -> String {
    // Seeded by the system's random numbers, and different with every call.
    let random = || std::hash::RandomState::new().hash_one(std::process::id());
    format!("{prefix}{:016x}{:016x}", random(), random())
}

/// Removes the locks whose holders are gone, as far as `is_meant` says so of their names. A process that
/// is killed leaves the files of its locks.
pub fn sweep(directory: &Path, is_meant: impl Fn(&str) -> bool) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.take(MOST_SWEPT).flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_meant(name)) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // One that is free goes when it is dropped.
            drop(LockFile::acquire(directory, name));
        }
    }
}

/// The note of whoever holds a lock.
#[must_use]
pub fn note_of(directory: &Path, name: &str) -> String {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(file) = rustix::fs::open(directory.join(name), flags, Mode::empty()) else {
        return String::new();
    };
    let mut note = [0; LONGEST_NOTE];
    let read = File::from(file).read_at(&mut note, 0).unwrap_or(0);
    String::from_utf8_lossy(&note[..read]).into_owned()
}

/// Whether the lock with this file is held.
#[must_use]
pub fn probe(directory: &Path, name: &str, identity: Identity) -> Held {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(file) = rustix::fs::open(directory.join(name), flags, Mode::empty()).map(File::from)
    else {
        return Held::CannotBeTold;
    };
    if !file.metadata().is_ok_and(|metadata| identity_of(&metadata) == identity) {
        return Held::CannotBeTold;
    }
    // Shared, so that two who ask do not take each other for the holder.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Held::No,
        Err(Errno::WOULDBLOCK) => Held::Yes,
        Err(_) => Held::CannotBeTold,
    }
}

/// Removes a lock's file, and the directory after the last one.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    if let Some(directory) = path.parent() {
        let _ = std::fs::remove_dir(directory);
    }
}

/// What came of locking a file.
#[derive(Debug, PartialEq, Eq)]
enum Locked {
    Yes,
    ByAnother,
    /// The holder before removed the file between opening and locking it: the lock is on a file that
    /// nobody will find again.
    InVain,
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
    let found = path.symlink_metadata().ok().map(|metadata| identity_of(&metadata));
    let own = identity_of(&file.metadata()?);
    Ok(if found == Some(own) { Locked::Yes } else { Locked::InVain })
}

fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = Mode::from_raw_mode(0o666);
    match rustix::fs::open(path, flags | OFlags::RDWR | OFlags::CREATE, mode) {
        // Another user's file can be locked without being written.
        Err(Errno::ACCESS) => rustix::fs::open(path, flags | OFlags::RDONLY, Mode::empty()),
        other => other,
    }
    .map(File::from)
}

/// The identity of a file.
#[must_use]
pub fn identity_of(metadata: &std::fs::Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// The identity of the file that a path leads to; `None` where there is none.
#[must_use]
pub fn identity_at(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|metadata| identity_of(&metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_nothing_is_left() {
        let base = tempfile::tempdir().expect("directory");
        let locks = base.path().join("locks");
        let held = LockFile::acquire(&locks, "a").expect("works").expect("free");
        held.note("me");
        let identity = held.identity().expect("metadata");
        assert!(LockFile::acquire(&locks, "a").expect("works").is_none());
        assert_eq!((probe(&locks, "a", identity), note_of(&locks, "a")), (Held::Yes, "me".into()));
        assert!(LockFile::acquire(&locks, "b").expect("works").is_some());
        held.release_visibly();
        assert_eq!(probe(&locks, "a", identity), Held::No);
        let again = LockFile::acquire(&locks, "a").expect("works").expect("free");
        drop(again);
        assert_eq!(probe(&locks, "a", identity), Held::CannotBeTold);
        assert!(!locks.exists());
    }

    #[test]
    fn a_file_that_was_removed_before_it_was_locked_is_no_lock() {
        let base = tempfile::tempdir().expect("directory");
        let path = base.path().join("a");
        let held = LockFile::acquire(base.path(), "a").expect("works").expect("free");
        let late = open(&path).expect("there");
        assert_eq!(lock(&late, &path).expect("works"), Locked::ByAnother);
        drop(held);
        assert_eq!(lock(&late, &path).expect("works"), Locked::InVain);
        let _other = LockFile::acquire(base.path(), "a").expect("works").expect("free");
        assert_eq!(lock(&late, &path).expect("works"), Locked::InVain);
    }

    #[test]
    fn many_threads_never_hold_it_together() {
        let base = tempfile::tempdir().expect("directory");
        let locks = base.path().join("locks");
        let inside = std::sync::atomic::AtomicUsize::new(0);
        let turns = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    use std::sync::atomic::Ordering::SeqCst;
                    while turns.load(SeqCst) < 500 {
                        if let Some(lock) = LockFile::acquire(&locks, "a").expect("works") {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            turns.fetch_add(1, SeqCst);
                            inside.fetch_sub(1, SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }
}
