//! Lets one call at a time change a file, so twenty concurrent edits of the same file all succeed.
//!
//! The queue covers this process. Between processes the conflict check protects an edit.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolwright_reserved::FileId;

use crate::cancel::checkpoint;
use crate::{FsError, FsErrorKind};

/// A name in a directory, whatever path led to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) directory: FileId,
    pub(crate) name: OsString,
}

/// Calls get their turn in the order of arrival.
#[derive(Debug, Default)]
struct Waiters {
    next_number: u64,
    waiting: std::collections::VecDeque<u64>,
}

#[derive(Debug, Default)]
struct FileQueue {
    waiters: Mutex<Waiters>,
    advanced: Condvar,
}

static QUEUES: LazyLock<Mutex<HashMap<Key, Arc<FileQueue>>>> = LazyLock::new(Mutex::default);

/// How often a waiting call checks its cancel flag.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A call's turn on a file. Dropping it lets the next call in.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    key: Key,
    queue: Arc<FileQueue>,
    number: u64,
}

impl QueueSlot {
    /// Waits for the earlier calls, at most `limit`, and ends when cancelled.
    pub(crate) fn wait(
        key: Key,
        display_path: &str,
        limit: Duration,
        cancel: &AtomicBool,
    ) -> Result<Self, FsError> {
        // Joins under the lock of the map, so that the queue is not readvanced before it is joined.
        let slot = {
            let mut queues = unpoisoned(&QUEUES);
            let queue = Arc::clone(queues.entry(key.clone()).or_default());
            let number = unpoisoned(&queue.waiters).join();
            Self { key, queue, number }
        };
        let started = Instant::now();
        let mut waiters = unpoisoned(&slot.queue.waiters);
        while waiters.waiting.front() != Some(&slot.number) {
            let waited = started.elapsed();
            let refused = if waited >= limit {
                Err(FsErrorKind::Busy { waited }.at(display_path))
            } else {
                checkpoint(cancel)
            };
            if let Err(error) = refused {
                drop(waiters);
                return Err(error); // dropping `slot` leaves the queue
            }
            let woken = slot.queue.advanced.wait_timeout(waiters, POLL_INTERVAL);
            waiters = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(waiters);
        Ok(slot)
    }
}

impl Waiters {
    fn join(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.push_back(number);
        number
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut queues = unpoisoned(&QUEUES);
        let mut waiters = unpoisoned(&self.queue.waiters);
        waiters.waiting.retain(|number| *number != self.number);
        if waiters.waiting.is_empty() {
            queues.remove(&self.key);
        } else {
            self.queue.advanced.notify_all();
        }
    }
}

/// Every change of the guarded data is a single call, so they are consistent even in a poisoned
/// lock.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
