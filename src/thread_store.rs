//! Threads with their values, messages, calls and attachments, in a file that processes share, or in
//! memory.
//!
//! All of it runs on threads of its own: what is written here is larger than the row of a journal, and no
//! tool call waits for it on the JavaScript thread. Rows come back as JSON, and bytes without a copy.

mod attachments;
mod input;
mod values;
mod workers;

use std::path::Path;
use std::sync::{Arc, Mutex};

use input::{ListedPart, ThreadCommit};
use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;
use toolwright_core::handles::Handles;
use toolwright_core::rows;
use toolwright_thread_store::{
    Access, CallFilter, Committed, Location, Options, SqliteErrorKind, Status, Store, Synchronous,
    ThreadError, Upload, Worker,
};

use crate::call::Promised;
use crate::cross::Cross;
use crate::store::Opened;

/// How a store of threads is opened.
#[napi(object)]
pub struct ThreadStoreOptions {
    /// Wait for the disk with each transaction, so that it survives a loss of power.
    pub full: bool,
    /// Read only.
    pub read_only: bool,
    /// How long to wait for other processes.
    pub busy_timeout_ms: f64,
    /// The most bytes of an attachment.
    pub attachment_limit_bytes: f64,
    /// The most bytes of any other text.
    pub text_limit_bytes: f64,
}

/// What a commit wrote, as JSON texts of arrays.
#[napi(object, object_from_js = false)]
pub struct CommittedRows {
    /// The messages with their numbers.
    pub messages: Vec<String>,
    /// The calls that were queued.
    pub calls: Vec<String>,
}

impl Cross<CommittedRows> for Committed {
    fn cross(self) -> CommittedRows {
        let Self { messages, calls } = self;
        CommittedRows { messages: rows::texts(&messages), calls: rows::texts(&calls) }
    }
}

/// A store of threads. Open it before anything else.
#[napi]
#[derive(Default)]
pub struct NativeThreadStore {
    store: Opened<Store>,
    workers: Arc<Handles<Arc<Worker>>>,
    uploads: Arc<Handles<Arc<Mutex<Option<Upload>>>>>,
}

#[napi]
impl NativeThreadStore {
    /// A store that is not open yet.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it: `memory:`, `file:PATH` or a path. Gives its full path.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open(&self, location: String, options: ThreadStoreOptions) -> Promised<String> {
        self.store.open(move || {
            let store = Store::open(&location.parse::<Location>()?, options.cross())?;
            let path = store.path().to_path_buf().cross();
            Ok::<_, ThreadError>((store, path))
        })
    }

    /// Releases every worker, removes what is staged and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close(&self) -> Promised<()> {
        let (workers, uploads) = (Arc::clone(&self.workers), Arc::clone(&self.uploads));
        self.ask(move |store| {
            workers.clear();
            uploads.clear();
            store.close()
        })
    }

    /// Closes it on this thread, for a process that exits.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        self.workers.clear();
        self.uploads.clear();
        if let Some(store) = self.store.get() {
            let _ = store.close();
        }
    }

    /// The thread with this id as a JSON text, created where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn open_thread(&self, thread_id: String, flow_id: String) -> Promised<String> {
        self.ask(move |store| Ok(rows::text(&store.open_thread(&thread_id, &flow_id)?)))
    }

    /// The thread as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_thread(&self, thread_id: String) -> Promised<Option<String>> {
        self.ask(move |store| Ok(store.get_thread(&thread_id)?.as_ref().map(rows::text)))
    }

    /// All threads, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_threads(&self) -> Promised<Vec<String>> {
        self.ask(|store| Ok(rows::texts(&store.list_threads()?)))
    }

    /// Removes a thread and all that it has. False where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn delete_thread(&self, thread_id: String) -> Promised<bool> {
        self.ask(move |store| store.delete_thread(&thread_id))
    }

    /// Writes what belongs together.
    #[napi(catch_unwind, ts_return_type = "Promise<CommittedRows | Unfinished>")]
    pub fn commit(&self, thread_id: String, commit: ThreadCommit) -> Promised<CommittedRows> {
        self.ask(move |store| store.commit(&thread_id, &commit.cross()))
    }

    /// Messages in order, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_messages(&self, thread_id: String, part: ListedPart) -> Promised<Vec<String>> {
        self.ask(move |store| Ok(rows::texts(&store.list_messages(&thread_id, part.cross())?)))
    }

    /// A call as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_call(&self, thread_id: String, call_id: String) -> Promised<Option<String>> {
        self.ask(move |store| Ok(store.get_call(&thread_id, &call_id)?.as_ref().map(rows::text)))
    }

    /// Calls by their numbers, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_calls(
        &self,
        thread_id: String,
        status: Option<String>,
        queue: Option<String>,
        part: ListedPart,
    ) -> Promised<Vec<String>> {
        self.ask(move |store| {
            let filter = CallFilter { status: status.as_deref().and_then(Status::of_word), queue };
            Ok(rows::texts(&store.list_calls(&thread_id, &filter, part.cross())?))
        })
    }

    /// Cancels queued calls, and gives them as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn cancel_queued(&self, thread_id: String, queue: Option<String>) -> Promised<Vec<String>> {
        self.ask(move |store| Ok(rows::texts(&store.cancel_queued(&thread_id, queue.as_deref())?)))
    }
}

impl NativeThreadStore {
    /// Asks on a thread of its own. `ts/core/native.ts` hands a store out only once it is open.
    fn ask<T: ToNapiValue + Send + 'static, V: Cross<T>>(
        &self,
        question: impl FnOnce(&Arc<Store>) -> Result<V, ThreadError> + Send + 'static,
    ) -> Promised<T> {
        self.store.ask(closed, question)
    }
}

/// A store that is closed, or was never opened.
fn closed() -> ThreadError {
    SqliteErrorKind::Closed.at(Path::new("thread store")).into()
}

impl Cross<Options> for ThreadStoreOptions {
    fn cross(self) -> Options {
        Options {
            access: if self.read_only { Access::ReadOnly } else { Access::ReadWrite },
            synchronous: if self.full { Synchronous::Full } else { Synchronous::Normal },
            busy_timeout: self.busy_timeout_ms.cross(),
            attachment_limit: self.attachment_limit_bytes.cross(),
            text_limit: self.text_limit_bytes.cross(),
        }
    }
}
