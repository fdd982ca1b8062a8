//! Threads with their values, messages, calls and attachments, in a file that processes share, or in
//! memory.
//!
//! All of it runs on threads of its own: what is written here is larger than the row of a journal, and no
//! tool call waits for it on the JavaScript thread. Rows come back as JSON, and bytes without a copy.

mod attachments;
mod input;
mod values;
mod workers;

use std::sync::{Arc, Mutex, OnceLock};

use input::{ListedPart, ThreadCommit};
use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::failure::Failure;
use toolwright_thread_store::{
    Access, CallFilter, Location, Options, SqliteError, Store, Synchronous, ThreadError, Upload,
    Worker,
};

use crate::handles::Handles;
use crate::outcome::Outcome;
use crate::{job, options, rows};

/// How a store of threads is opened.
#[napi(object)]
#[derive(Debug)]
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
#[derive(Debug)]
pub struct CommittedRows {
    /// The messages with their numbers.
    pub messages: Vec<String>,
    /// The calls that were queued.
    pub calls: Vec<String>,
}

/// A store of threads. Open it before anything else.
#[napi]
#[derive(Debug, Default)]
pub struct NativeThreadStore {
    store: Arc<OnceLock<Arc<Store>>>,
    workers: Arc<Handles<Arc<Worker>>>,
    uploads: Arc<Handles<Arc<Mutex<Option<Upload>>>>>,
}

#[napi]
impl NativeThreadStore {
    /// A store that is not open yet.
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
        options: ThreadStoreOptions,
    ) -> Result<Object<'env>> {
        let slot = Arc::clone(&self.store);
        job::long(env, move || {
            let opened = location
                .parse::<Location>()
                .map_err(ThreadError::from)
                .and_then(|location| Store::open(&location, core_options(&options)));
            to_outcome(opened.map(|store| {
                let path = store.path().to_string_lossy().into_owned();
                let _ = slot.set(Arc::new(store));
                path
            }))
        })
    }

    /// Releases every worker, removes what is staged and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (workers, uploads) = (Arc::clone(&self.workers), Arc::clone(&self.uploads));
        self.ask(env, move |store| {
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
    pub fn open_thread<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        flow_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| Ok(rows::text(&store.open_thread(&thread_id, &flow_id)?)))
    }

    /// The thread as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        self.ask(env, move |store| Ok(store.get_thread(&thread_id)?.as_ref().map(rows::text)))
    }

    /// All threads, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_threads<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |store| Ok(rows::texts(&store.list_threads()?)))
    }

    /// Removes a thread and all that it has. False where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn delete_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        self.ask(env, move |store| store.delete_thread(&thread_id))
    }

    /// Writes what belongs together.
    #[napi(catch_unwind, ts_return_type = "Promise<CommittedRows | Unfinished>")]
    pub fn commit<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        commit: ThreadCommit,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            let committed = store.commit(&thread_id, &commit.into())?;
            Ok(CommittedRows {
                messages: rows::texts(&committed.messages),
                calls: rows::texts(&committed.calls),
            })
        })
    }

    /// Messages in order, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_messages<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        part: ListedPart,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| Ok(rows::texts(&store.list_messages(&thread_id, part.into())?)))
    }

    /// A call as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn get_call<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            Ok(store.get_call(&thread_id, &call_id)?.as_ref().map(rows::text))
        })
    }

    /// Calls by their numbers, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_calls<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        status: Option<String>,
        queue: Option<String>,
        part: ListedPart,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            let filter = CallFilter { status: status.as_deref().and_then(input::status), queue };
            Ok(rows::texts(&store.list_calls(&thread_id, &filter, part.into())?))
        })
    }

    /// Cancels queued calls, and gives them as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn cancel_queued<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        queue: Option<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            Ok(rows::texts(&store.cancel_queued(&thread_id, queue.as_deref())?))
        })
    }
}

impl NativeThreadStore {
    /// Asks on a thread of its own.
    fn ask<'env, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        question: impl FnOnce(&Arc<Store>) -> std::result::Result<T, ThreadError> + Send + 'static,
    ) -> Result<Object<'env>> {
        // `ts/core/native.ts` hands a store out only once it is open.
        let opened = self.store.get().cloned().ok_or_else(not_open);
        job::long(env, move || to_outcome(opened.and_then(|store| question(&store))))
    }
}

fn to_outcome<T>(result: std::result::Result<T, ThreadError>) -> Outcome<T> {
    result.map_err(Failure::from).into()
}

/// A store that is closed, or was never opened.
fn not_open() -> ThreadError {
    SqliteError::Closed { path: "thread store".into() }.into()
}

fn core_options(options: &ThreadStoreOptions) -> Options {
    Options {
        access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
        synchronous: if options.full { Synchronous::Full } else { Synchronous::Normal },
        busy_timeout: options::milliseconds(options.busy_timeout_ms),
        attachment_limit: options::bytes(options.attachment_limit_bytes),
        text_limit: options::size(options.text_limit_bytes),
    }
}
