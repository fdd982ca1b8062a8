//! The right to work on a thread: for one at a time, over all processes.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use toolwright_sqlite::lock_file::note_of;
use toolwright_sqlite::{LockFile, SqliteError};

use crate::calls::{self, Status};
use crate::store::{Shared, now_ms, unpoisoned};
use crate::threads::{no_thread, number};
use crate::{Call, Store, ThreadError};

/// The right to work on a thread. Given back on drop, and by the kernel when the process ends,
/// however it ends.
#[derive(Debug)]
#[must_use = "the thread is free again as soon as this is dropped"]
pub struct Worker {
    store: Shared,
    thread: String,
    _held: Held,
}

#[derive(Debug)]
enum Held {
    File { _lock: LockFile },
    Memory { _lock: MemoryLock },
}

#[derive(Debug)]
struct MemoryLock {
    store: Shared,
    thread: String,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        unpoisoned(&self.store.memory_locks).remove(&self.thread);
    }
}

impl Store {
    /// The right to work on a thread, or [`Locked`](ThreadError::Locked) at once. Whoever wants to
    /// wait asks again.
    ///
    /// The lock is a file beside the database and holds for everything that opens this database
    /// under whatever name: other threads, other processes, other containers of the same machine.
    pub fn lock_thread(self: &Shared, thread: &str) -> Result<Worker, ThreadError> {
        self.check_writable()?;
        if self.is_closed() {
            return Err(SqliteError::Closed { path: self.path().to_owned() }.into());
        }
        if self.get_thread(thread)?.is_none() {
            return Err(no_thread(thread));
        }
        let taken = |holder| ThreadError::Locked { thread: thread.to_owned(), holder };
        let held = if let Some(locks) = self.locks() {
            let name = lock_name(thread);
            let Some(lock) = LockFile::acquire(locks, &name)? else {
                return Err(taken(match note_of(locks, &name) {
                    note if note.is_empty() || note.len() > 100 => String::new(),
                    note => format!(" ({note})"),
                }));
            };
            lock.note(&format!("process {}", std::process::id()));
            Held::File { _lock: lock }
        } else {
            if !unpoisoned(&self.memory_locks).insert(thread.to_owned()) {
                return Err(taken(String::new()));
            }
            let (store, thread) = (Shared::clone(self), thread.to_owned());
            Held::Memory { _lock: MemoryLock { store, thread } }
        };
        Ok(Worker { store: Shared::clone(self), thread: thread.to_owned(), _held: held })
    }
}

impl Worker {
    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// Begins the next call of a queue. That it was begun is on disk when this returns.
    pub fn claim(&self, queue: &str) -> Result<Option<Call>, ThreadError> {
        self.store.write("beginning a call", |connection| {
            let thread = number(connection, &self.thread)?;
            Ok(calls::claim_next(connection, thread, queue)?)
        })
    }

    /// Begins one call that is queued, out of turn.
    pub fn claim_call(&self, call_id: &str) -> Result<Call, ThreadError> {
        let set =
            format!("status = 'running', attempts = attempts + 1, started_at_ms = {}", now_ms());
        self.change(call_id, Status::Queued, &set)
    }

    /// Puts a call that runs back into its queue, where it was.
    pub fn requeue(&self, call_id: &str) -> Result<Call, ThreadError> {
        self.change(call_id, Status::Running, "status = 'queued'")
    }

    fn change(&self, call_id: &str, from: Status, set: &str) -> Result<Call, ThreadError> {
        self.store.write("changing a call", |connection| {
            let thread = number(connection, &self.thread)?;
            calls::change(connection, (&self.thread, thread), call_id, from, set)
        })
    }
}

/// The name of a file whatever the id holds.
fn lock_name(thread: &str) -> String {
    let digest = Sha256::digest(thread.as_bytes());
    digest.iter().take(16).fold("thread-".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}
