//! The right to work on a thread, which one worker has at a time over all processes.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use toolwright_sqlite::clock::now_ms;
use toolwright_sqlite::{NamedLock, TryLock};

use crate::calls::{self, Status};
use crate::store::Shared;
use crate::threads::{no_thread, number};
use crate::{Call, Store, ThreadError};

/// The right to work on a thread. Released on drop, and by the kernel when the process ends, however it
/// ends.
#[derive(Debug)]
#[must_use = "the thread is free again as soon as this is dropped"]
pub struct Worker {
    store: Shared,
    thread: String,
    _lock: NamedLock,
}

impl Store {
    /// The right to work on a thread. Fails with [`Locked`](ThreadError::Locked) at once while another
    /// worker has it, in whatever thread, process or container of this machine.
    pub fn lock_thread(self: &Shared, thread: &str) -> Result<Worker, ThreadError> {
        self.database.check_writable()?;
        if self.get_thread(thread)?.is_none() {
            return Err(no_thread(thread));
        }
        let note = format!("process {}", std::process::id());
        match self.database.try_lock(&lock_name(thread), &note)? {
            TryLock::Acquired(lock) => {
                Ok(Worker { store: Shared::clone(self), thread: thread.to_owned(), _lock: lock })
            }
            TryLock::HeldBy(holder) => {
                Err(ThreadError::Locked { thread: thread.to_owned(), holder })
            }
        }
    }
}

impl Worker {
    /// Begins the next call of a queue. The new status is on disk when this returns.
    pub fn claim(&self, queue: &str) -> Result<Option<Call>, ThreadError> {
        self.store.write("beginning a call", |connection| {
            let thread = number(connection, &self.thread)?;
            Ok(calls::claim_next(connection, thread, queue)?)
        })
    }

    /// Begins one queued call, out of turn.
    pub fn claim_call(&self, call_id: &str) -> Result<Call, ThreadError> {
        let set =
            format!("status = 'running', attempts = attempts + 1, started_at_ms = {}", now_ms());
        self.change(call_id, Status::Queued, &set)
    }

    /// Puts a running call back to its place in the queue.
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

/// A valid name of a file, whatever the id holds.
fn lock_name(thread: &str) -> String {
    let digest = Sha256::digest(thread.as_bytes());
    digest.iter().take(16).fold("thread-".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}
