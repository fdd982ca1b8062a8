//! The journal: recorded calls in a file that processes share, or in memory.
//!
//! Writes are tried on the JavaScript thread first: a row takes less time than the way to another thread.
//! A write that would have to wait (another process writes, the disk) runs on a thread of its own, and so
//! does all reading. `docs/decisions/2026-11-20-journal-writes.md` has the measurements.

mod keys;
mod queries;
mod writes;

use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::failure::Failure;
use toolwright_journal::{
    Access, Journal, JournalError, Location, Options, SqliteError, Synchronous, TaskId, TaskLock,
};

use crate::handles::Handles;
use crate::outcome::Outcome;
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
    pub busy_timeout_ms: f64,
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

/// Numbers of rows as JavaScript has them.
fn numbers(integers: Vec<i64>) -> Vec<f64> {
    integers.into_iter().map(number).collect()
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// What recovery found.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct JournalRecovery {
    /// Rows that were `started` and are `unknown` now.
    pub calls: Vec<f64>,
    /// Rows that were `reverting` and are `revert-failed` now.
    pub reverts: Vec<f64>,
    /// The number of other journals that are open for writing.
    pub alive: u32,
    /// The number of owners that cannot be judged from here, whose rows were left alone.
    pub undecided: u32,
}

/// A journal. Open it before anything else.
#[napi]
#[derive(Debug, Default)]
pub struct NativeJournal {
    journal: Arc<OnceLock<Arc<Journal>>>,
    locks: Arc<Handles<TaskLock>>,
}

#[napi]
impl NativeJournal {
    /// A journal that is not open yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it: `memory:`, `file:PATH` or a path. Gives its full path.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open<'env>(
        &self,
        env: &'env Env,
        location: String,
        options: JournalOpenOptions,
    ) -> Result<Object<'env>> {
        let slot = Arc::clone(&self.journal);
        job::long(env, move || {
            let opened = location
                .parse::<Location>()
                .map_err(JournalError::from)
                .and_then(|location| Journal::open(&location, core_options(&options)));
            to_outcome(opened.map(|journal| {
                let path = journal.path().to_string_lossy().into_owned();
                let _ = slot.set(Arc::new(journal));
                path
            }))
        })
    }

    /// Waits until everything recorded so far is on disk.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, Journal::flush)
    }

    /// Writes what waits, releases every lock and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let locks = Arc::clone(&self.locks);
        self.ask(env, move |journal| {
            locks.clear();
            journal.close()
        })
    }

    /// Closes it on this thread, for a process that exits.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        if let Some(journal) = self.journal.get() {
            let _ = journal.close();
        }
    }

    /// Marks what dead processes left without an outcome.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalRecovery | Unfinished>")]
    pub fn recover<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| {
            let found = journal.recover()?;
            Ok(JournalRecovery {
                calls: numbers(found.calls),
                reverts: numbers(found.reverts),
                alive: count(found.alive),
                undecided: count(found.undecided),
            })
        })
    }

    /// Locks a task for one of its attempts. Gives the number of the lock for `unlockTask`.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn lock_task<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
    ) -> Result<Object<'env>> {
        let locks = Arc::clone(&self.locks);
        self.ask(env, move |journal| {
            Ok(locks.add(journal.lock_task(&task.into(), integer(attempt))?))
        })
    }

    /// Releases a lock; nothing happens the second time.
    #[napi(catch_unwind)]
    pub fn unlock_task(&self, lock: u32) {
        drop(self.locks.remove(lock));
    }
}

impl NativeJournal {
    /// The open journal. `ts/core/native.ts` hands a journal out only once it is open.
    fn opened(&self) -> std::result::Result<&Arc<Journal>, JournalError> {
        let closed = || SqliteError::Closed { path: "journal".into() }.into();
        self.journal.get().ok_or_else(closed)
    }

    /// Asks on a thread of its own.
    fn ask<'env, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        question: impl FnOnce(&Journal) -> std::result::Result<T, JournalError> + Send + 'static,
    ) -> Result<Object<'env>> {
        let opened = self.opened().cloned();
        job::long(env, move || to_outcome(opened.and_then(|journal| question(&journal))))
    }
}

fn to_outcome<T>(result: std::result::Result<T, JournalError>) -> Outcome<T> {
    result.map_err(Failure::from).into()
}

fn core_options(options: &JournalOpenOptions) -> Options {
    Options {
        access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
        synchronous: if options.full { Synchronous::Full } else { Synchronous::Normal },
        output_limit: options::size(options.output_limit_bytes),
        busy_timeout: options::milliseconds(options.busy_timeout_ms),
        ..Options::default()
    }
}
