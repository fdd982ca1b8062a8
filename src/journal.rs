//! The journal: recorded calls in a file that processes share, or in memory.
//!
//! Writes are tried on the JavaScript thread first: a row takes less time than the way to another thread.
//! A write that would have to wait (another process writes, the disk) runs on a thread of its own, and so
//! does all reading. `docs/decisions/2026-11-20-journal-writes.md` has the measurements.

mod claims;
mod keys;
mod queries;
mod writes;

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;
use toolwright_core::failure::stores::process_died_json;
use toolwright_core::handles::Handles;
use toolwright_journal::{
    Access, Journal, JournalError, Location, NamedLock, Options, Recovered, SqliteErrorKind,
    Synchronous, TaskId,
};

use crate::call::Promised;
use crate::cross::{Cross, cross};
use crate::store::Opened;

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

cross! { JournalTask => TaskId { run_id, node_id, iteration } }

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

cross! { Recovered => JournalRecovery { calls, reverts, alive, undecided } }

/// A journal. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeJournal {
    journal: Opened<Journal>,
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
        self.journal.open(move || {
            let journal = Journal::open(&location.parse::<Location>()?, options.cross())?;
            let path = journal.path().to_path_buf().cross();
            Ok::<_, JournalError>((journal, path))
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
        self.ask(|journal| journal.recover(&process_died_json()))
    }

    /// The rows that are `started` while their process is gone.
    #[napi(catch_unwind, ts_return_type = "Promise<number[] | Unfinished>")]
    pub fn left_open(&self) -> Promised<Vec<i64>> {
        self.ask(Journal::left_open)
    }

    /// Locks a task for one of its attempts. Gives the number of the lock for `unlockTask`.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn lock_task(&self, task: JournalTask, attempt: i64) -> Promised<u32> {
        let locks = Arc::clone(&self.locks);
        self.ask(move |journal| Ok(locks.add(journal.lock_task(&task.cross(), attempt)?)))
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
        self.journal.get().ok_or_else(closed)
    }

    /// Asks on a thread of its own.
    fn ask<T: ToNapiValue + Send + 'static, V: Cross<T>>(
        &self,
        question: impl FnOnce(&Journal) -> Result<V, JournalError> + Send + 'static,
    ) -> Promised<T> {
        self.journal.ask(closed, |journal| question(journal))
    }
}

fn closed() -> JournalError {
    SqliteErrorKind::Closed.at(Path::new("journal")).into()
}

impl Cross<Options> for JournalOpenOptions {
    fn cross(self) -> Options {
        Options {
            access: if self.read_only { Access::ReadOnly } else { Access::ReadWrite },
            synchronous: if self.full { Synchronous::Full } else { Synchronous::Normal },
            output_limit: self.output_limit_bytes.cross(),
            busy_timeout: self.busy_timeout_ms.cross(),
            ..Options::default()
        }
    }
}
