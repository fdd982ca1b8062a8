//! The journal: recorded calls in a file that processes share, or in memory.
//!
//! Writing is tried at once, on the JavaScript thread: a row takes less time than the way to another
//! thread. What would have to wait (another process writes, the disk) is done on a thread of its own,
//! and so is all reading. `docs/decisions/2026-11-20-journal-writes.md` has the measurements.

mod keys;
mod outcome;
mod queries;
mod rows;
mod writes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use outcome::JournalOutcome;
use serde_json::json;
use toolwright_journal::{
    Access, Journal, JournalError, Location, Options, Synchronous, TaskId, TaskLock,
};

use crate::{job, options};

/// How a journal is opened.
#[napi(object)]
#[derive(Debug)]
pub struct JournalOpenOptions {
    /// Wait for the disk with each row, so that it survives a loss of power.
    pub full: bool,
    /// Read only.
    pub read_only: bool,
    /// The most bytes of an output or an error that a row keeps.
    pub output_limit_bytes: f64,
    /// How long to wait for other processes.
    pub patience_ms: f64,
}

/// A task of a run.
#[napi(object)]
#[derive(Debug)]
pub struct JournalTask {
    /// The run.
    pub run_id: String,
    /// The task within the run.
    pub node_id: String,
    /// The iteration, for a task in a loop.
    pub iteration: f64,
}

impl From<JournalTask> for TaskId {
    fn from(task: JournalTask) -> Self {
        Self { run_id: task.run_id, node_id: task.node_id, iteration: integer(task.iteration) }
    }
}

/// A number of JavaScript as an integer; a fraction is cut off, and NaN is 0.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, which is what is wanted")]
fn integer(number: f64) -> i64 {
    number as i64
}

/// An integer for JavaScript: exact up to 2^53, which no row number reaches.
#[expect(clippy::cast_precision_loss, reason = "row numbers and times are smaller than 2^53")]
fn number(integer: i64) -> f64 {
    integer as f64
}

/// The locks that are held, by the number that JavaScript knows them by.
#[derive(Debug, Default)]
struct Locks {
    last: u32,
    held: HashMap<u32, TaskLock>,
}

/// A journal. Open it before anything else.
#[napi]
#[derive(Debug, Default)]
pub struct NativeJournal {
    journal: Arc<OnceLock<Arc<Journal>>>,
    locks: Arc<Mutex<Locks>>,
}

#[napi]
impl NativeJournal {
    /// A journal that is not open yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it: `memory:`, `file:PATH` or a path.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn open<'env>(
        &self,
        env: &'env Env,
        location: String,
        options: JournalOpenOptions,
    ) -> Result<Object<'env>> {
        let place = Arc::clone(&self.journal);
        job::long(env, move || {
            let opened = location
                .parse::<Location>()
                .map_err(JournalError::from)
                .and_then(|location| Journal::open(&location, core_options(&options)));
            JournalOutcome::of(opened, |journal| {
                let path = json!({ "path": journal.path().to_string_lossy() });
                let _ = place.set(Arc::new(journal));
                JournalOutcome::value(path)
            })
        })
    }

    /// Waits until everything recorded so far is on disk.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| JournalOutcome::of(journal.flush(), |()| JournalOutcome::default()))
    }

    /// Writes what waits, gives back every lock and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let locks = Arc::clone(&self.locks);
        self.ask(env, move |journal| {
            unpoisoned(&locks).held.clear();
            JournalOutcome::of(journal.close(), |()| JournalOutcome::default())
        })
    }

    /// Closes it on this thread, for a process that exits: nobody is left who could be told how that
    /// went.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        if let Some(journal) = self.journal.get() {
            let _ = journal.close();
        }
    }

    /// Marks what dead processes left without an outcome.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn recover<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| {
            JournalOutcome::of(journal.recover(), |found| {
                JournalOutcome::value(json!({
                    "calls": found.calls,
                    "reverts": found.reverts,
                    "alive": found.alive,
                    "undecided": found.undecided,
                }))
            })
        })
    }

    /// Locks a task for one of its attempts; `value.lock` is for `unlockTask`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn lock_task<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
    ) -> Result<Object<'env>> {
        let locks = Arc::clone(&self.locks);
        self.ask(env, move |journal| {
            JournalOutcome::of(journal.lock_task(&task.into(), integer(attempt)), |lock| {
                let mut locks = unpoisoned(&locks);
                locks.last += 1;
                let number = locks.last;
                locks.held.insert(number, lock);
                JournalOutcome::value(json!({ "lock": number }))
            })
        })
    }

    /// Gives a lock back; nothing happens the second time.
    #[napi(catch_unwind)]
    pub fn unlock_task(&self, lock: u32) {
        let held = unpoisoned(&self.locks).held.remove(&lock);
        drop(held);
    }
}

impl NativeJournal {
    /// What is open. Never asked before: `ts/core/native.ts` gives a journal out once it is open.
    fn opened(&self) -> std::result::Result<&Arc<Journal>, JournalError> {
        self.journal.get().ok_or_else(|| JournalError::Closed { path: "journal".into() })
    }

    /// Asks on a thread of its own.
    fn ask<'env>(
        &self,
        env: &'env Env,
        question: impl FnOnce(&Journal) -> JournalOutcome + Send + 'static,
    ) -> Result<Object<'env>> {
        let opened = self.opened().cloned();
        job::long(env, move || JournalOutcome::of(opened, |journal| question(&journal)))
    }
}

fn core_options(options: &JournalOpenOptions) -> Options {
    Options {
        access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
        synchronous: if options.full { Synchronous::Full } else { Synchronous::Normal },
        output_limit: options::size(options.output_limit_bytes),
        patience: options::milliseconds(options.patience_ms),
        ..Options::default()
    }
}

/// What the locks of this folder guard is changed by single calls, and whole after a panic.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
