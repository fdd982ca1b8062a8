//! Values by key.

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_threads::Range;

use super::outcome::ThreadOutcome;
use super::{NativeThreadStore, input};

/// Which values.
#[napi(object)]
#[derive(Debug)]
pub struct ValuesRange {
    /// Only keys that begin so.
    pub prefix: Option<String>,
    /// The first key, inclusive.
    pub start: Option<String>,
    /// The first key, exclusive.
    pub start_after: Option<String>,
    /// The last key, exclusive.
    pub end: Option<String>,
    /// From the last to the first.
    pub reverse: bool,
    /// The most to give.
    pub limit: Option<f64>,
}

impl From<ValuesRange> for Range {
    fn from(range: ValuesRange) -> Self {
        Self {
            prefix: range.prefix,
            start: range.start,
            start_after: range.start_after,
            end: range.end,
            reverse: range.reverse,
            limit: range.limit.map(input::limit),
        }
    }
}

#[napi]
impl NativeThreadStore {
    /// The values of these keys that there are: `[key, value]` in order.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn read_values<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        keys: Vec<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| pairs(store.read_values(&thread_id, &keys)))
    }

    /// Sets values: `values[n]` is that of `keys[n]`.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn write_values<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        keys: Vec<String>,
        values: Vec<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            let entries: Vec<_> = keys.into_iter().zip(values).collect();
            let written = store.write_values(&thread_id, &entries);
            ThreadOutcome::of(written, |()| ThreadOutcome::default())
        })
    }

    /// Removes values; tells how many there were.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn delete_values<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        keys: Vec<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| ThreadOutcome::told(store.delete_values(&thread_id, &keys)))
    }

    /// Removes every value of the thread.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn delete_all_values<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| {
            ThreadOutcome::of(store.delete_all_values(&thread_id), |()| ThreadOutcome::default())
        })
    }

    /// The values of a range: `[key, value]` in order.
    #[napi(catch_unwind, ts_return_type = "Promise<ThreadOutcome>")]
    pub fn list_values<'env>(
        &self,
        env: &'env Env,
        thread_id: String,
        range: ValuesRange,
    ) -> Result<Object<'env>> {
        self.ask(env, move |store| pairs(store.list_values(&thread_id, &range.into())))
    }
}

fn pairs(
    found: std::result::Result<Vec<(String, String)>, toolwright_threads::ThreadError>,
) -> ThreadOutcome {
    ThreadOutcome::of(found, |pairs| {
        ThreadOutcome::list(&pairs, |(key, value)| serde_json::json!([key, value]))
    })
}
