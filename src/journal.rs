//! The journal: recorded calls in a file that processes share, or in memory.
//!
//! Writes are tried on the JavaScript thread first: a row takes less time than the way to another thread.
//! A write that would have to wait (another process writes, the disk) runs on a thread of its own, and so
//! does all reading. `docs/decisions/2026-11-20-journal-writes.md` has the measurements.

mod keys;
mod queries;
mod writes;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;
use toolwright_core::failure::Failure;
use toolwright_core::failure::stores::process_died_json;
use toolwright_journal::{
    Access, Journal, JournalError, Location, NamedLock, Options, SqliteErrorKind, Synchronous,
    TaskId,
};

use crate::handles::Handles;
use crate::job;
use crate::job::Promised;
use crate::options::{self, count};
use crate::outcome::Outcome;

/// How a journal is opened.
#[napi(object)]
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
pub struct JournalTask {
    /// The run.
    pub run_id: String,
    /// The task within the run.
    pub node_id: String,
    /// The iteration, for a task in a loop.
    pub iteration: i64,
}

impl From<JournalTask> for TaskId {
    fn from(JournalTask { run_id, node_id, iteration }: JournalTask) -> Self {
        Self { run_id, node_id, iteration }
    }
}

/// What recovery found.
#[napi(object, object_from_js = false)]
pub struct JournalRecovery {
    /// Rows that were `started` and are `unknown` now.
    pub calls: Vec<i64>,
    /// Rows that were `reverting` and are `revert-failed` now.
    pub reverts: Vec<i64>,
    /// The number of other journals that are open for writing.
    pub alive: u32,
    /// The number of owners that cannot be judged from here, whose rows were left alone.
    pub undecided: u32,
}

/// A journal. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeJournal {
    journal: Arc<OnceLock<Arc<Journal>>>,
    locks: Arc<Handles<NamedLock>>,
}

#[napi]
impl NativeJournal {
    /// A journal that is not open yet.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it: `memory:`, `file:PATH` or a path. Gives its full path.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open(&self, location: String, options: JournalOpenOptions) -> Promised<String> {
        let slot = Arc::clone(&self.journal);
        job::long(move || {
            let location = location.parse::<Location>().map_err(JournalError::from);
            let opened = location.and_then(|location| Journal::open(&location, options.into()));
            to_outcome(opened.map(|journal| {
                let path = journal.path().to_string_lossy().into_owned();
                let _ = slot.set(Arc::new(journal));
                path
            }))
        })
    }

    /// Waits until everything recorded so far is on disk.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn flush(&self) -> Promised<()> {
        self.ask(Journal::flush)
    }

    /// Writes what waits, releases every lock and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close(&self) -> Promised<()> {
        let locks = Arc::clone(&self.locks);
        self.ask(move |journal| {
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
    pub fn recover(&self) -> Promised<JournalRecovery> {
        self.ask(|journal| {
            let found = journal.recover(&process_died_json())?;
            Ok(JournalRecovery {
                calls: found.calls,
                reverts: found.reverts,
                alive: count(found.alive),
                undecided: count(found.undecided),
            })
        })
    }

    /// Locks a task for one of its attempts. Gives the number of the lock for `unlockTask`.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn lock_task(&self, task: JournalTask, attempt: i64) -> Promised<u32> {
        let locks = Arc::clone(&self.locks);
        self.ask(move |journal| Ok(locks.add(journal.lock_task(&task.into(), attempt)?)))
    }

    /// Releases a lock; nothing happens the second time.
    #[napi(catch_unwind)]
    pub fn unlock_task(&self, lock: u32) {
        drop(self.locks.remove(lock));
    }
}

impl NativeJournal {
    /// The open journal. `ts/core/native.ts` hands a journal out only once it is open.
    fn opened(&self) -> Result<&Arc<Journal>, JournalError> {
        let closed = || SqliteErrorKind::Closed.at(Path::new("journal")).into();
        self.journal.get().ok_or_else(closed)
    }

    /// Asks on a thread of its own.
    fn ask<T: ToNapiValue + Send + 'static>(
        &self,
        question: impl FnOnce(&Journal) -> Result<T, JournalError> + Send + 'static,
    ) -> Promised<T> {
        let opened = self.opened().cloned();
        job::long(move || to_outcome(opened.and_then(|journal| question(&journal))))
    }
}

fn to_outcome<T>(result: Result<T, JournalError>) -> Outcome<T> {
    result.map_err(Failure::from).into()
}

impl From<JournalOpenOptions> for Options {
    fn from(options: JournalOpenOptions) -> Self {
        Self {
            access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
            synchronous: if options.full { Synchronous::Full } else { Synchronous::Normal },
            output_limit: options::size(options.output_limit_bytes),
            busy_timeout: options::milliseconds(options.busy_timeout_ms),
            ..Self::default()
        }
    }
}
