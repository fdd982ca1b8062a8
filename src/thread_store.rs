//! Threads with their values, messages, calls and attachments, in a file that processes share, or in
//! memory.
//!
//! Everything is done on threads of its own: what is written here is larger than the row of a journal,
//! and nobody's tool call waits for it on the JavaScript thread. What comes back are texts in JSON,
//! which a JavaScript engine takes several times faster than objects, and bytes without a copy.

mod attachments;
mod input;
mod outcome;
mod rows;
mod values;
mod workers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use input::{ListedPart, ThreadCommit};
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use outcome::ThreadOutcome;
use serde_json::json;
use toolwright_threads::{
    Access, CallFilter, Location, Options, Store, Synchronous, ThreadError, Upload, Worker,
};

use crate::{job, options};

/// How a store of threads is opened.
#[napi(object)]
#[derive(Debug)]
pub struct ThreadStoreOptions {
    /// Wait for the disk with each transaction, so that it survives a loss of power.
    pub full: bool,
    /// Read only.
    pub read_only: bool,
    /// How long to wait for other processes.
    pub patience_ms: f64,
    /// The most bytes of an attachment.
    pub attachment_limit_bytes: f64,
    /// The most bytes of any other text.
    pub text_limit_bytes: f64,
}

/// What JavaScript knows by a number.
#[derive(Debug)]
struct Numbered<T> {
    last: u32,
    held: HashMap<u32, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { last: 0, held: HashMap::new() }
    }
}

impl<T> Numbered<T> {
    fn add(&mut self, value: T) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.held.insert(self.last, value);
        self.last
    }
}

type Shared<T> = Arc<Mutex<Numbered<Arc<T>>>>;

/// A store of threads. Open it before anything else.
#[napi]
#[derive(Debug, Default)]
pub struct NativeThreadStore {
    store: Arc<OnceLock<Arc<Store>>>,
    workers: Shared<Worker>,
    uploads: Shared<Mutex<Option<Upload>>>,
}

#[napi]
impl NativeThreadStore {
    /// A store that is not open yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it: `memory:`, `file:PATH` or a path. `json` is its absolute path.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn open<'env>(
        &self,
        env: &'env Env,
        location: String,
        options: ThreadStoreOptions,
    ) -> Result<Object<'env>> {
        let place = Arc::clone(&self.store);
        job::long(env, move || {
            let opened = location
                .parse::<Location>()
                .map_err(ThreadError::from)
                .and_then(|location| Store::open(&location, core_options(&options)));
            ThreadOutcome::of(opened, |store| {
                let path = json!(store.path().to_string_lossy());
                let _ = place.set(Arc::new(store));
                ThreadOutcome::json(&path)
            })
        })
    }

    /// Gives back every worker, removes what is staged and closes the file.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (workers, uploads) = (Arc::clone(&self.workers), Arc::clone(&self.uploads));
        self.ask(env, move |store| {
            unpoisoned(&workers).held.clear();
            unpoisoned(&uploads).held.clear();
            ThreadOutcome::of(store.close(), |()| ThreadOutcome::default())
        })
    }

    /// Closes it on this thread, for a process that exits: nobody is left who could be told how that
    /// went.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        unpoisoned(&self.workers).held.clear();
        unpoisoned(&self.uploads).held.clear();
        if let Some(store) = self.store.get() {
            let _ = store.close();
        }
    }

    /// The thread with this id, created where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn open_thread<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        flow_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.open_thread(&thread_id, &flow_id), |thread| {
                ThreadOutcome::json(&rows::thread(&thread))
            })
        })
    }

    /// The thread, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn get_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.get_thread(&thread_id), |thread| {
                ThreadOutcome::json(&json!(thread.as_ref().map(rows::thread)))
            })
        })
    }

    /// All threads.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn list_threads<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |store| {
            ThreadOutcome::of(store.list_threads(), |threads| {
                ThreadOutcome::list(&threads, rows::thread)
            })
        })
    }

    /// Removes a thread and all that it has; tells whether there was one.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn delete_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        self.ask(env, move |store| ThreadOutcome::told(store.delete_thread(&thread_id)))
    }

    /// Writes what belongs together: `{ messages, calls }`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn commit<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        commit: ThreadCommit,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.commit(&thread_id, &commit.into()), |committed| {
                let messages: Vec<_> = committed.messages.iter().map(rows::message).collect();
                let calls: Vec<_> = committed.calls.iter().map(rows::call).collect();
                ThreadOutcome::json(&json!({ "messages": messages, "calls": calls }))
            })
        })
    }

    /// Messages in order.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn list_messages<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        part: ListedPart,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.list_messages(&thread_id, part.into()), |messages| {
                ThreadOutcome::list(&messages, rows::message)
            })
        })
    }

    /// A call, or `null`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn get_call<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.get_call(&thread_id, &call_id), |call| {
                ThreadOutcome::json(&json!(call.as_ref().map(rows::call)))
            })
        })
    }

    /// Calls by their numbers.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
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
            ThreadOutcome::of(store.list_calls(&thread_id, &filter, part.into()), |calls| {
                ThreadOutcome::list(&calls, rows::call)
            })
        })
    }

    /// Takes back what is queued, and gives it.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn cancel_queued<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        queue: Option<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.cancel_queued(&thread_id, queue.as_deref()), |calls| {
                ThreadOutcome::list(&calls, rows::call)
            })
        })
    }
}

impl NativeThreadStore {
    /// Asks on a thread of its own.
    fn ask<'env>(
        &self,
        env: &'env Env,
        question: impl FnOnce(&Arc<Store>) -> ThreadOutcome + Send + 'static,
    ) -> Result<Object<'env>> {
        // Never asked before: `ts/core/native.ts` gives a store out once it is open.
        let opened = self.store.get().cloned().ok_or_else(outcome::not_open);
        job::long(env, move || ThreadOutcome::of(opened, |store| question(&store)))
    }
}

fn core_options(options: &ThreadStoreOptions) -> Options {
    Options {
        access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
        synchronous: if options.full { Synchronous::Full } else { Synchronous::Normal },
        patience: options::milliseconds(options.patience_ms),
        attachment_limit: options::bytes(options.attachment_limit_bytes),
        text_limit: options::size(options.text_limit_bytes),
    }
}

/// What the locks of this folder guard is changed by single calls, and whole after a panic.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
