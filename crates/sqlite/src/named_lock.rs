//! Locks by name: on a file beside the database, or in memory for a database in memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use crate::lock_file::note_of;
use crate::sync::lock;
use crate::{Database, LockFile, SqliteError};

/// A longer note was written by another program.
const MAX_NOTE: usize = 100;

/// A lock that is held. Released on drop, and by the kernel when the process ends, however it ends.
#[derive(Debug)]
#[must_use = "the lock is released as soon as this is dropped"]
pub struct NamedLock {
    _held: Held,
}

#[derive(Debug)]
enum Held {
    File { _lock: LockFile },
    Memory { _lock: MemoryLock },
}

#[derive(Debug)]
struct MemoryLock {
    names: Arc<Mutex<HashSet<String>>>,
    name: String,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        lock(&self.names).remove(&self.name);
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
        let held = if let Some(locks) = self.locks() {
            let Some(lock) = LockFile::acquire(locks, name)? else {
                return Ok(TryLock::HeldBy(match note_of(locks, name) {
                    note if note.is_empty() || note.len() > MAX_NOTE => String::new(),
                    note => format!(" ({note})"),
                }));
            };
            lock.note(note);
            Held::File { _lock: lock }
        } else {
            if !lock(&self.memory_locks).insert(name.to_owned()) {
                return Ok(TryLock::HeldBy(String::new()));
            }
            let names = Arc::clone(&self.memory_locks);
            Held::Memory { _lock: MemoryLock { names, name: name.to_owned() } }
        };
        Ok(TryLock::Acquired(NamedLock { _held: held }))
    }
}
