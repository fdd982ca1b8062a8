//! Threads for long calls.
//!
//! The thread that became idle last takes the next call. Its stack and its memory are in the caches,
//! and it has written to them since the host last forked. (Node forks for each of its own child
//! processes, and the first write to a page after a fork is a fault.) Round-robin would pay both
//! costs once for each thread.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Condvar, Mutex, lock, thread, wait_timeout};

/// The work of one call. It must not unwind.
pub type Work = Box<dyn FnOnce() -> Completion + Send>;

/// What remains to do when the work of a call has ended.
pub struct Completion {
    /// Reports the result. The thread is idle by then, so a caller that calls again at once gets the
    /// same thread.
    pub report: Box<dyn FnOnce()>,
    /// More work, which the same thread does before any other.
    pub next: Option<Work>,
}

impl Completion {
    /// A completion without more work.
    #[must_use]
    pub fn new(report: impl FnOnce() + 'static) -> Self {
        Self { report: Box::new(report), next: None }
    }
}

/// Runs work on the calling thread, and then the work that follows it.
pub fn run_here(work: Work) {
    let mut next = Some(work);
    while let Some(work) = next {
        let completion = work();
        report(completion.report);
        next = completion.next;
    }
}

/// Starts a thread.
pub type Spawn = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// The threads of all long calls. Thousands of calls that wait for a slow disk are no reason to refuse
/// the next one, but each thread costs memory.
pub static CALL_THREADS: ThreadPool = ThreadPool::new(2048, Duration::from_secs(10));

/// A pool that grows as calls come and shrinks when they stay away.
pub struct ThreadPool {
    max_threads: usize,
    idle_timeout: Duration,
    spawn: Spawn,
    state: Mutex<State>,
}

struct State {
    /// Slots of threads without work; the last one became idle last. None of them is idle while work
    /// waits.
    idle: Vec<Arc<WorkerSlot>>,
    /// Work without a thread. At least one thread is busy while work waits.
    waiting: VecDeque<Work>,
    /// Threads that serve, idle ones included. A thread that is being spawned does not count: the
    /// spawn may fail, so no work waits for it.
    threads: usize,
}

/// The mailbox of one thread.
struct WorkerSlot {
    work: Mutex<Option<Work>>,
    filled: Condvar,
}

impl ThreadPool {
    /// A pool that starts no thread when `max_threads` serve. A thread that has been idle for
    /// `idle_timeout` ends.
    #[must_use]
    pub const fn new(max_threads: usize, idle_timeout: Duration) -> Self {
        Self::with_spawn(max_threads, idle_timeout, spawn)
    }

    /// The same with another way to start threads.
    #[must_use]
    pub const fn with_spawn(max_threads: usize, idle_timeout: Duration, spawn: Spawn) -> Self {
        let state = State { idle: Vec::new(), waiting: VecDeque::new(), threads: 0 };
        Self { max_threads, idle_timeout, spawn, state: Mutex::new(state) }
    }

    /// Runs `work` on a thread. Returns it when the pool has no thread and can start none.
    pub fn run(&'static self, mut work: Work) -> Result<(), Work> {
        let mut state = lock(&self.state);
        if state.idle.is_empty() && state.threads < self.max_threads {
            drop(state);
            work = match self.start(work) {
                Ok(()) => return Ok(()),
                Err(work) => work,
            };
            state = lock(&self.state);
        }
        if let Some(slot) = state.idle.pop() {
            drop(state);
            slot.fill(work);
        } else if state.threads > 0 {
            state.waiting.push_back(work);
        } else {
            return Err(work);
        }
        Ok(())
    }

    fn start(&'static self, work: Work) -> Result<(), Work> {
        let slot = Arc::new(WorkerSlot { work: Mutex::new(Some(work)), filled: Condvar::new() });
        let own = Arc::clone(&slot);
        if (self.spawn)(Box::new(move || self.serve(&own))).is_ok() {
            return Ok(());
        }
        lock(&slot.work).take().map_or(Ok(()), Err)
    }

    /// The life of one thread.
    fn serve(&self, slot: &Arc<WorkerSlot>) {
        lock(&self.state).threads += 1;
        let mut next = self.wait(slot);
        while let Some(work) = next {
            let completion = work();
            let mut state = lock(&self.state);
            next = completion.next.or_else(|| state.waiting.pop_front());
            if next.is_none() {
                state.idle.push(Arc::clone(slot));
            }
            drop(state);
            report(completion.report);
            next = next.or_else(|| self.wait(slot));
        }
    }

    /// Waits for work. Returns `None` when the thread is to end.
    fn wait(&self, slot: &Arc<WorkerSlot>) -> Option<Work> {
        let mut work = lock(&slot.work);
        loop {
            if let Some(work) = work.take() {
                return Some(work);
            }
            let (guard, timed_out) =
                wait_timeout(&slot.filled, &slot.work, work, self.idle_timeout);
            work = guard;
            if timed_out && self.retire(slot) {
                return None;
            }
        }
    }

    /// Takes an idle thread out of the pool. Returns false when the thread has been chosen for work,
    /// which is about to arrive.
    fn retire(&self, slot: &Arc<WorkerSlot>) -> bool {
        let mut state = lock(&self.state);
        let Some(index) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, slot)) else {
            return false;
        };
        state.idle.remove(index);
        state.threads -= 1;
        true
    }
}

impl WorkerSlot {
    fn fill(&self, work: Work) {
        *lock(&self.work) = Some(work);
        self.filled.notify_one();
    }
}

/// An environment that is being torn down may refuse a report; the thread goes on.
fn report(report: Box<dyn FnOnce()>) {
    let _ = catch_unwind(AssertUnwindSafe(report));
}

fn spawn(serve: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    thread::Builder::new().name("toolwright".to_owned()).spawn(serve).map(drop)
}

#[cfg(test)]
mod tests;
