//! One call at a time for one file: twenty edits of the same file made at once all land.
//!
//! The queue is of this process. Between processes the conflict check protects an edit.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::FsError;
use crate::cancel::checkpoint;
use crate::open::Identity;

/// A name in a directory, whatever path led there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) directory: Identity,
    pub(crate) name: OsString,
}

/// Turns are given in the order of arrival.
#[derive(Debug, Default)]
struct Queue {
    next_ticket: u64,
    waiting: std::collections::VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Lane {
    queue: Mutex<Queue>,
    moved: Condvar,
}

static LANES: LazyLock<Mutex<HashMap<Key, Arc<Lane>>>> = LazyLock::new(Mutex::default);

/// How long a waiting call sleeps between two looks at its cancel flag.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A turn on one file; dropping it lets the next call in.
#[derive(Debug)]
pub(crate) struct Turn {
    key: Key,
    lane: Arc<Lane>,
    ticket: u64,
}

impl Turn {
    /// Waits for the calls before this one, at most `limit` and not after a cancel.
    pub(crate) fn wait(
        key: Key,
        display_path: &str,
        limit: Duration,
        cancel: &AtomicBool,
    ) -> Result<Self, FsError> {
        // The ticket is taken under the map's lock, so that a lane is never removed between being
        // found and being joined.
        let turn = {
            let mut lanes = unpoisoned(&LANES);
            let lane = Arc::clone(lanes.entry(key.clone()).or_default());
            let ticket = unpoisoned(&lane.queue).join();
            Self { key, lane, ticket }
        };
        let started = Instant::now();
        let mut queue = unpoisoned(&turn.lane.queue);
        while queue.waiting.front() != Some(&turn.ticket) {
            let waited = started.elapsed();
            let refused = if waited >= limit {
                Err(FsError::Busy { path: display_path.to_owned(), waited })
            } else {
                checkpoint(cancel)
            };
            if let Err(error) = refused {
                drop(queue);
                return Err(error); // dropping `turn` gives the place in the queue back
            }
            queue = turn
                .lane
                .moved
                .wait_timeout(queue, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        drop(queue);
        Ok(turn)
    }
}

impl Queue {
    fn join(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back(ticket);
        ticket
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lanes = unpoisoned(&LANES);
        let mut queue = unpoisoned(&self.lane.queue);
        queue.waiting.retain(|ticket| *ticket != self.ticket);
        if queue.waiting.is_empty() {
            lanes.remove(&self.key);
        } else {
            self.lane.moved.notify_all();
        }
    }
}

/// The guarded data stay consistent through a panic (every change is one call), so a poisoned lock
/// is as good as any other.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
