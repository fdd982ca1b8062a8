//! Rows that wait for nobody: calls without side effects, written some milliseconds later by a
//! thread of the journal, many in one transaction.
//!
//! They are written within [`Options::flush_within`](crate::Options), before the journal is closed
//! and before it is listed. A process that is killed loses those of its last milliseconds, which is
//! why a call with a side effect never comes here.

use std::collections::VecDeque;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use toolwright_sqlite::Checkpoint;

use crate::JournalError;
use crate::writer::{Work, Writer};

/// The most rows of one transaction: other processes wait so long.
const BATCH: usize = 256;
/// The most that may wait, whatever the number of rows.
const BYTES: usize = 16 << 20;
/// How long a writer that failed rests before it tries again.
const REST: Duration = Duration::from_millis(250);
/// What the thread needs: `SQLite` is sparing with its stack.
const STACK: usize = 512 << 10;

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<(Work, usize)>,
    bytes: usize,
    /// Rows ever queued, and ever written or lost.
    queued: u64,
    settled: u64,
    /// When the oldest waiting row came.
    since: Option<Instant>,
    /// How often a batch was tried, and why the last try failed, if it did.
    tries: u64,
    trouble: Option<JournalError>,
    /// Rows that can never be written, and why the first of them.
    lost: usize,
    loss: Option<JournalError>,
    hurry: bool,
    log_is_long: bool,
    stop: bool,
    thread: Option<JoinHandle<()>>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Behind {
    path: PathBuf,
    within: Duration,
    capacity: usize,
    state: Mutex<State>,
    /// Something for the thread to do.
    wake: Condvar,
    /// Something was written, or failed.
    moved: Condvar,
}

impl Behind {
    pub(crate) fn new(path: PathBuf, within: Duration, capacity: usize) -> Self {
        Self {
            path,
            within,
            capacity: capacity.max(1),
            state: Mutex::default(),
            wake: Condvar::new(),
            moved: Condvar::new(),
        }
    }

    /// Queues a row of about so many bytes. Waits while the queue is full, and fails when it is full
    /// because rows cannot be written.
    pub(crate) fn push(&self, work: Work, bytes: usize) -> Result<(), JournalError> {
        let mut state = self.state();
        let mut tries = None;
        while self.is_full(&state, bytes) {
            let first = *tries.get_or_insert(state.tries);
            match &state.trouble {
                Some(error) if state.tries > first => return Err(error.clone()),
                _ => {}
            }
            state.hurry = true;
            self.wake.notify_one();
            state = wait(&self.moved, state);
        }
        self.queue(state, work, bytes)
    }

    fn is_full(&self, state: &State, bytes: usize) -> bool {
        state.rows.len() >= self.capacity || (state.bytes > 0 && state.bytes + bytes > BYTES)
    }

    fn queue(
        &self,
        mut state: MutexGuard<'_, State>,
        work: Work,
        bytes: usize,
    ) -> Result<(), JournalError> {
        if state.stop {
            return Err(JournalError::Closed { path: self.path.clone() });
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

    /// As [`Behind::push`]; gives the row back when it would have to wait.
    pub(crate) fn push_at_once(
        &self,
        work: Work,
        bytes: usize,
    ) -> Result<Result<(), JournalError>, Box<Work>> {
        let state = self.state();
        if self.is_full(&state, bytes) {
            return Err(Box::new(work));
        }
        Ok(self.queue(state, work, bytes))
    }

    /// Whether the thread was started. It is not until there is something for it to do.
    pub(crate) fn is_running(&self) -> bool {
        self.state().thread.is_some()
    }

    /// Starts the thread, unless it runs.
    pub(crate) fn start(
        self: &Arc<Self>,
        writer: &Arc<Writer>,
        checkpoint: Option<Checkpoint>,
    ) -> std::io::Result<()> {
        let mut state = self.state();
        if state.thread.is_none() && !state.stop {
            let (behind, writer) = (Arc::clone(self), Arc::clone(writer));
            let body = move || behind.run(&writer, checkpoint);
            let builder = thread::Builder::new().name("toolwright-journal".to_owned());
            state.thread = Some(builder.stack_size(STACK).spawn(body)?);
        }
        Ok(())
    }

    /// Asks for the log to be moved into the database.
    pub(crate) fn move_log(&self) {
        self.state().log_is_long = true;
        self.wake.notify_one();
    }

    /// Waits until what is queued now is written, or cannot be.
    pub(crate) fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.settled();
        match (&state.trouble, state.settled < state.queued) {
            (Some(error), true) => Err(error.clone()),
            _ => self.loss(&mut state),
        }
    }

    /// As [`Behind::flush`], for one who wants to see what was recorded, not whether it was.
    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let (queued, tries) = (state.queued, state.tries);
        while state.settled < queued
            && state.thread.is_some()
            && (state.trouble.is_none() || state.tries == tries)
        {
            state.hurry = true;
            self.wake.notify_one();
            state = wait(&self.moved, state);
        }
        state
    }

    /// Writes what is queued, one last time, and ends the thread.
    pub(crate) fn stop(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        state.stop = true;
        let thread = state.thread.take();
        drop(state);
        self.wake.notify_one();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        self.loss(&mut self.state())
    }

    fn loss(&self, state: &mut State) -> Result<(), JournalError> {
        let rows = mem::take(&mut state.lost);
        match state.loss.take() {
            Some(error) => {
                let source = Box::new(error);
                Err(JournalError::Unwritten { path: self.path.clone(), rows, source })
            }
            None => Ok(()),
        }
    }

    fn run(&self, writer: &Writer, mut checkpoint: Option<Checkpoint>) {
        let mut state = self.state();
        loop {
            if mem::take(&mut state.log_is_long) {
                drop(state);
                if let Some(checkpoint) = &mut checkpoint {
                    checkpoint.run();
                }
                state = self.state();
            } else if let Some(since) = state.since {
                let left = self.within.saturating_sub(since.elapsed());
                if left.is_zero() || state.hurry || state.stop || state.rows.len() >= BATCH {
                    state = self.write(writer, state);
                } else {
                    state = wait_for(&self.wake, state, left);
                }
            } else if state.stop {
                return;
            } else {
                state = wait(&self.wake, state);
            }
        }
    }

    /// Writes a batch. On a failure of the database its rows wait for another try.
    fn write<'s>(
        &'s self,
        writer: &Writer,
        mut state: MutexGuard<'s, State>,
    ) -> MutexGuard<'s, State> {
        let count = state.rows.len().min(BATCH);
        let (mut works, mut sizes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (work, size) in state.rows.drain(..count) {
            works.push(work);
            sizes.push(size);
        }
        drop(state);
        let results = writer.write_batch(&works);
        let mut state = self.state();
        state.tries += 1;
        state.trouble = None;
        for ((work, size), result) in works.into_iter().zip(sizes).zip(results).rev() {
            match result {
                Ok(_) => {}
                // Of no use to try again.
                Err(error @ (JournalError::Duplicate { .. } | JournalError::TooLarge { .. })) => {
                    state.lost += 1;
                    state.loss.get_or_insert(error);
                }
                Err(error) => {
                    state.trouble = Some(error);
                    state.rows.push_front((work, size));
                    continue;
                }
            }
            state.bytes = state.bytes.saturating_sub(size);
            state.settled += 1;
        }
        if let Some(error) = state.trouble.clone() {
            if state.stop {
                let rows = mem::take(&mut state.rows).len();
                state.lost += rows;
                state.settled += rows as u64;
                state.loss = Some(error);
            } else {
                self.moved.notify_all();
                state.hurry = false;
                state = wait_for(&self.wake, state, REST);
            }
        }
        if state.rows.is_empty() {
            state.since = None;
            state.hurry = false;
        }
        self.moved.notify_all();
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'s>(condition: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condition.wait(state).unwrap_or_else(PoisonError::into_inner)
}

fn wait_for<'s>(
    condition: &Condvar,
    state: MutexGuard<'s, State>,
    time: Duration,
) -> MutexGuard<'s, State> {
    condition.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
}
