//! The right to work on a thread, and what its holder does with the queue.

use std::sync::Arc;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::json;
use toolwright_threads::{ThreadError, Worker};

use super::outcome::ThreadOutcome;
use super::{NativeThreadStore, rows, unpoisoned};
use crate::job;

#[napi]
impl NativeThreadStore {
    /// The right to work on a thread: `{ worker, interrupted }`, or `THREAD_LOCKED` at once.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn lock_thread<'env>(&self, env: &'env Env, thread_id: String) -> Result<Object<'env>> {
        let workers = Arc::clone(&self.workers);
        self.ask(env, move |store| {
            let locked = store.lock_thread(&thread_id).and_then(|worker| {
                let interrupted = store.interrupted(&thread_id)?;
                Ok((worker, interrupted))
            });
            ThreadOutcome::of(locked, |(worker, interrupted)| {
                let number = unpoisoned(&workers).add(Arc::new(worker));
                let interrupted: Vec<_> = interrupted.iter().map(rows::call).collect();
                ThreadOutcome::json(&json!({ "worker": number, "interrupted": interrupted }))
            })
        })
    }

    /// Gives the right back; nothing happens the second time. What the worker is doing meanwhile is
    /// done first.
    #[napi(catch_unwind)]
    pub fn unlock_thread(&self, worker: u32) {
        let held = unpoisoned(&self.workers).held.remove(&worker);
        drop(held);
    }

    /// Begins the next call of a queue; `null` when there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn claim<'env>(&self, env: &'env Env, worker: u32, queue: String) -> Result<Object<'env>> {
        self.as_worker(env, worker, move |worker| {
            ThreadOutcome::of(worker.claim(&queue), |call| {
                ThreadOutcome::json(&json!(call.as_ref().map(rows::call)))
            })
        })
    }

    /// Begins one call that is queued, out of turn.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn claim_call<'env>(
        &self,
        env: &'env Env,
        worker: u32,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.as_worker(env, worker, move |worker| {
            ThreadOutcome::of(worker.claim_call(&call_id), |call| {
                ThreadOutcome::json(&rows::call(&call))
            })
        })
    }

    /// Puts a call that runs back into its queue, where it was.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn requeue<'env>(
        &self,
        env: &'env Env,
        worker: u32,
        call_id: String,
    ) -> Result<Object<'env>> {
        self.as_worker(env, worker, move |worker| {
            ThreadOutcome::of(worker.requeue(&call_id), |call| {
                ThreadOutcome::json(&rows::call(&call))
            })
        })
    }
}

impl NativeThreadStore {
    fn as_worker<'env>(
        &self,
        env: &'env Env,
        number: u32,
        act: impl FnOnce(&Worker) -> ThreadOutcome + Send + 'static,
    ) -> Result<Object<'env>> {
        let worker = unpoisoned(&self.workers).held.get(&number).cloned();
        let worker = worker.ok_or_else(|| ThreadError::Locked {
            thread: "released".to_owned(),
            holder: String::new(),
        });
        job::long(env, move || ThreadOutcome::of(worker, |worker| act(&worker)))
    }
}
