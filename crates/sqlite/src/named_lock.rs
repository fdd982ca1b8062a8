//! Locks by name: on a file beside the database, or in memory for a database in memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use crate::lock_file::note_of;
use crate::sync::lock;
use crate::{Database, LockFile, SqliteError};

/// A lock that is held. Released on drop, and by the kernel when the process ends, however it ends.
#[derive(Debug)]
#[must_use = "the lock is released as soon as this is dropped"]
pub struct NamedLock {
    name: String,
    /// `None` in memory.
    _file: Option<LockFile>,
    /// The names that are locked in memory.
    memory: Arc<Mutex<HashSet<String>>>,
}

impl Drop for NamedLock {
    fn drop(&mut self) {
        lock(&self.memory).remove(&self.name);
    }
}

/// What came of a try to lock.
#[derive(Debug)]
pub enum TryLock {
    /// The caller has the lock.
    Acquired(NamedLock),
    /// Another has it, who left this note: in parentheses with a space before it, or empty.
    HeldBy(String),
}

impl Database {
    /// Tries to lock a name, which has to be usable as that of a file. A lock excludes everything that
    /// opens this database under whatever name: other threads, other processes, other containers of the
    /// same machine. `note` is for those who find it held.
    pub fn try_lock(&self, name: &str, note: &str) -> Result<TryLock, SqliteError> {
        self.check_writable()?;
        let mut file = None;
        if let Some(locks) = self.locks() {
            let Some(lock) = LockFile::acquire(locks, name)? else {
                let note = note_of(locks, name);
                let holder = if note.is_empty() { note } else { format!(" ({note})") };
                return Ok(TryLock::HeldBy(holder));
            };
            lock.note(note);
            file = Some(lock);
        } else if !lock(&self.memory_locks).insert(name.to_owned()) {
            return Ok(TryLock::HeldBy(String::new()));
        }
        let (name, memory) = (name.to_owned(), Arc::clone(&self.memory_locks));
        Ok(TryLock::Acquired(NamedLock { name, _file: file, memory }))
    }
}
