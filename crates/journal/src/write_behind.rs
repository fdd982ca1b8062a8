//! The queue of rows that are written behind: calls without side effects, written some milliseconds
//! later by a thread of the journal, many in one transaction.
//!
//! They are written within [`Options::flush_within`](crate::Options), before the journal is closed
//! and before it is listed. A process that is killed loses those of its last milliseconds, which is
//! why a call with a side effect never comes here.

use std::collections::VecDeque;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

#[cfg(test)]
use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{Builder, JoinHandle},
};
#[cfg(not(test))]
use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{Builder, JoinHandle},
};
use toolwright_sqlite::SqliteErrorKind;

use crate::JournalError;
use crate::writer::{Work, Writer};

#[cfg(test)]
mod tests;

/// The most rows of one transaction, which other processes wait for.
const MAX_BATCH: usize = 256;
/// The most bytes in the queue, whatever the number of rows.
const MAX_BYTES: usize = 16 << 20;
/// How long to wait before the next try after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// `SQLite` is sparing with its stack.
const STACK: usize = 512 << 10;

/// Where batches of rows go.
pub(crate) trait Sink: Send + Sync + 'static {
    /// Writes rows in one transaction, and gives the result of each.
    fn write_batch(&self, works: &[Work]) -> Vec<Result<i64, JournalError>>;
}

impl Sink for Writer {
    fn write_batch(&self, works: &[Work]) -> Vec<Result<i64, JournalError>> {
        self.write_all(works.iter())
    }
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<(Work, usize)>,
    bytes: usize,
    /// Rows ever queued, and ever written or lost.
    queued: u64,
    settled: u64,
    /// When the oldest row was queued.
    since: Option<Instant>,
    /// The number of batches tried, and the failure of the last one.
    tries: u64,
    last_error: Option<JournalError>,
    /// Rows that can never be written, and the failure of the first of them.
    lost: usize,
    loss: Option<JournalError>,
    /// Write without waiting for more rows.
    flush_now: bool,
    stop: bool,
    thread: Option<JoinHandle<()>>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct WriteBehindQueue {
    path: PathBuf,
    within: Duration,
    capacity: usize,
    state: Mutex<State>,
    /// There is work for the thread.
    wake: Condvar,
    /// A batch was written, or failed.
    progress: Condvar,
}

impl WriteBehindQueue {
    pub(crate) fn new(path: PathBuf, within: Duration, capacity: usize) -> Self {
        Self {
            path,
            within,
            capacity: capacity.max(1),
            state: Mutex::default(),
            wake: Condvar::new(),
            progress: Condvar::new(),
        }
    }

    /// Starts the thread unless it runs. False where it cannot run: rows are written directly then.
    pub(crate) fn start(self: &Arc<Self>, sink: &Arc<impl Sink>) -> bool {
        let mut state = self.state();
        if state.thread.is_none() && !state.stop {
            let (queue, sink) = (Arc::clone(self), Arc::clone(sink));
            let builder = Builder::new().name("toolwright-journal".to_owned()).stack_size(STACK);
            state.thread = builder.spawn(move || queue.run(&*sink)).ok();
        }
        state.thread.is_some()
    }

    /// Queues a row of about this size. Waits while the queue is full, and fails when it is full
    /// because rows cannot be written.
    pub(crate) fn push(&self, work: Work, bytes: usize) -> Result<(), JournalError> {
        let mut state = self.state();
        let first_try = state.tries;
        while self.is_full(&state, bytes) && !state.stop {
            match &state.last_error {
                Some(error) if state.tries > first_try => return Err(error.clone()),
                _ => state = self.wait_for_progress(state),
            }
        }
        self.enqueue(state, work, bytes)
    }

    /// As [`WriteBehindQueue::push`], or `None` when it would have to wait.
    pub(crate) fn try_push_nowait(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Work,
    ) -> Result<Option<()>, JournalError> {
        let state = self.state();
        if self.is_full(&state, bytes) {
            return Ok(None);
        }
        self.enqueue(state, work(), bytes).map(Some)
    }

    fn is_full(&self, state: &State, bytes: usize) -> bool {
        state.rows.len() >= self.capacity || (state.bytes > 0 && state.bytes + bytes > MAX_BYTES)
    }

    fn enqueue(
        &self,
        mut state: MutexGuard<'_, State>,
        work: Work,
        bytes: usize,
    ) -> Result<(), JournalError> {
        if state.stop {
            return Err(SqliteErrorKind::Closed.at(&self.path).into());
        }
        state.rows.push_back((work, bytes));
        state.bytes += bytes;
        state.queued += 1;
        if state.since.is_none() {
            state.since = Some(Instant::now());
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Waits until the rows queued now are written, or cannot be.
    pub(crate) fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.settled();
        match &state.last_error {
            Some(error) if state.settled < state.queued => Err(error.clone()),
            _ => self.take_loss(&mut state),
        }
    }

    /// As [`WriteBehindQueue::flush`], for a reader of the rows: failures are left for `flush`.
    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let (queued, tries) = (state.queued, state.tries);
        while state.settled < queued
            && state.thread.is_some()
            && (state.last_error.is_none() || state.tries == tries)
        {
            state = self.wait_for_progress(state);
        }
        state
    }

    /// Tries once more to write the queue, and ends the thread.
    pub(crate) fn stop(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        state.stop = true;
        let thread = state.thread.take();
        drop(state);
        self.wake.notify_one();
        // Callers that wait for room get an error.
        self.progress.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        self.take_loss(&mut self.state())
    }

    fn take_loss(&self, state: &mut State) -> Result<(), JournalError> {
        let rows = mem::take(&mut state.lost);
        match state.loss.take() {
            Some(error) => {
                let source = Box::new(error);
                Err(JournalError::Unwritten { path: self.path.clone(), rows, source })
            }
            None => Ok(()),
        }
    }

    fn run(&self, sink: &impl Sink) {
        let mut state = self.state();
        loop {
            if let Some(since) = state.since {
                let left = self.within.saturating_sub(since.elapsed());
                let is_due = left.is_zero() || state.rows.len() >= MAX_BATCH;
                if is_due || state.flush_now || state.stop {
                    state = self.write(sink, state);
                } else {
                    state = wait_timeout(&self.wake, state, left);
                }
            } else if state.stop {
                return;
            } else {
                state = wait(&self.wake, state);
            }
        }
    }

    /// Writes a batch. After a failure of the database its rows wait for another try.
    fn write<'s>(
        &'s self,
        sink: &impl Sink,
        mut state: MutexGuard<'s, State>,
    ) -> MutexGuard<'s, State> {
        let count = state.rows.len().min(MAX_BATCH);
        let (works, sizes): (Vec<_>, Vec<_>) = state.rows.drain(..count).unzip();
        drop(state);
        let results = sink.write_batch(&works);
        let mut state = self.state();
        state.tries += 1;
        state.last_error = None;
        for ((work, size), result) in works.into_iter().zip(sizes).zip(results).rev() {
            match result {
                Err(error) if !error.is_permanent() => {
                    state.last_error = Some(error);
                    state.rows.push_front((work, size));
                    continue;
                }
                Err(error) => {
                    state.lost += 1;
                    state.loss.get_or_insert(error);
                }
                Ok(_) => {}
            }
            state.bytes = state.bytes.saturating_sub(size);
            state.settled += 1;
        }
        if let Some(error) = state.last_error.clone() {
            if state.stop {
                let rows = mem::take(&mut state.rows).len();
                state.lost += rows;
                state.settled += rows as u64;
                state.loss = Some(error);
            } else {
                self.progress.notify_all();
                state.flush_now = false;
                state = wait_timeout(&self.wake, state, RETRY_PAUSE);
            }
        }
        if state.rows.is_empty() {
            state.since = None;
            state.flush_now = false;
        }
        self.progress.notify_all();
        state
    }

    fn wait_for_progress<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.flush_now = true;
        self.wake.notify_one();
        wait(&self.progress, state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'s>(condition: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condition.wait(state).unwrap_or_else(PoisonError::into_inner)
}

fn wait_timeout<'s>(
    condition: &Condvar,
    state: MutexGuard<'s, State>,
    time: Duration,
) -> MutexGuard<'s, State> {
    condition.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
}
