//! The right to work on a thread, and what its holder does with the queue.

use std::sync::Arc;

use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;
use toolwright_core::failure::Failure;
use toolwright_core::rows;
use toolwright_thread_store::{ThreadError, Worker};

use super::NativeThreadStore;
use crate::call::{self, Promised};
use crate::cross::{Cross, same};

/// The right to work on a thread.
#[napi(object, object_from_js = false)]
pub struct LockedThread {
    /// Its number, for `unlockThread` and the methods of a worker.
    pub worker: u32,
    /// The calls whose worker died, as JSON texts of arrays.
    pub interrupted: Vec<String>,
}

same!(LockedThread);

#[napi]
impl NativeThreadStore {
    /// The right to work on a thread, or `THREAD_LOCKED` at once.
    #[napi(catch_unwind, ts_return_type = "Promise<LockedThread | Unfinished>")]
    pub fn lock_thread(&self, thread_id: String) -> Promised<LockedThread> {
        let workers = Arc::clone(&self.workers);
        self.ask(move |store| {
            let worker = store.lock_thread(&thread_id)?;
            let interrupted = rows::texts(&store.interrupted(&thread_id)?);
            Ok(LockedThread { worker: workers.add(Arc::new(worker)), interrupted })
        })
    }

    /// Releases the right once the worker has finished what it is doing; nothing happens the second time.
    #[napi(catch_unwind)]
    pub fn unlock_thread(&self, worker: u32) {
        drop(self.workers.remove(worker));
    }

    /// Begins the next call of a queue, and gives it as a JSON text, if there is one.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn claim(&self, worker: u32, queue: String) -> Promised<Option<String>> {
        self.with_worker(worker, move |worker| Ok(worker.claim(&queue)?.as_ref().map(rows::text)))
    }

    /// Begins one queued call, out of turn, and gives it as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn claim_call(&self, worker: u32, call_id: String) -> Promised<String> {
        self.with_worker(worker, move |worker| Ok(rows::text(&worker.claim_call(&call_id)?)))
    }

    /// Puts a running call back where it was in the queue, and gives it as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn requeue(&self, worker: u32, call_id: String) -> Promised<String> {
        self.with_worker(worker, move |worker| Ok(rows::text(&worker.requeue(&call_id)?)))
    }
}

impl NativeThreadStore {
    fn with_worker<T: ToNapiValue + Cross<T> + Send + 'static>(
        &self,
        number: u32,
        act: impl FnOnce(&Worker) -> Result<T, ThreadError> + Send + 'static,
    ) -> Promised<T> {
        let worker = self.workers.get(number).ok_or_else(ThreadError::released);
        call::unstoppable(move || worker.and_then(|worker| act(&worker)).map_err(Failure::from))
    }
}
