//! The right to work on a thread, and what its holder does with the queue.

use std::sync::Arc;

use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_thread_store::{ThreadError, Worker};

use super::{NativeThreadStore, to_outcome};
use crate::{job, rows};

/// The right to work on a thread.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct LockedThread {
    /// Its number, for `unlockThread` and the methods of a worker.
    pub worker: u32,
    /// The calls whose worker died, as JSON texts of arrays.
    pub interrupted: Vec<String>,
}

#[napi]
impl NativeThreadStore {
    /// The right to work on a thread, or `THREAD_LOCKED` at once.
    #[napi(catch_unwind, ts_return_type = "Promise<LockedThread | Unfinished>")]
    pub fn lock_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        let workers = Arc::clone(&self.workers);
        self.ask(env, move |store| {
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
    pub fn claim<'env>(&self, env: &'env Env, worker: u32, queue: String) -> Result<Object<'env>> {
        self.with_worker(env, worker, move |worker| {
            Ok(worker.claim(&queue)?.as_ref().map(rows::text))
        })
    }

    /// Begins one queued call, out of turn, and gives it as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn claim_call<'env>(
        &self,
        env: &'env Env,
        worker: u32,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.with_worker(env, worker, move |worker| Ok(rows::text(&worker.claim_call(&call_id)?)))
    }

    /// Puts a running call back to its place in the queue, and gives it as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn requeue<'env>(
        &self,
        env: &'env Env,
        worker: u32,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.with_worker(env, worker, move |worker| Ok(rows::text(&worker.requeue(&call_id)?)))
    }
}

impl NativeThreadStore {
    fn with_worker<'env, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        number: u32,
        act: impl FnOnce(&Worker) -> std::result::Result<T, ThreadError> + Send + 'static,
    ) -> Result<Object<'env>> {
        let worker = self.workers.get(number).ok_or_else(|| ThreadError::Locked {
            thread: "released".to_owned(),
            holder: String::new(),
        });
        job::long(env, move || to_outcome(worker.and_then(|worker| act(&worker))))
    }
}
