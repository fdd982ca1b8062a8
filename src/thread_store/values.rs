//! Values by key.

use napi_derive::napi;
use toolwright_core::rows;
use toolwright_thread_store::Range;

use super::NativeThreadStore;
use crate::call::Promised;
use crate::cross::{Cross, cross};

/// Which values.
#[napi(object)]
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

cross! { ValuesRange => Range { prefix, start, start_after, end, reverse, limit } }

#[napi]
impl NativeThreadStore {
    /// The values of these keys that there are: JSON texts of arrays of `[key, value]`, in order.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn read_values(&self, thread_id: String, keys: Vec<String>) -> Promised<Vec<String>> {
        self.ask(move |store| Ok(rows::texts(&store.read_values(&thread_id, &keys)?)))
    }

    /// Sets values: `values[n]` is that of `keys[n]`.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn write_values(
        &self,
        thread_id: String,
        keys: Vec<String>,
        values: Vec<String>,
    ) -> Promised<()> {
        self.ask(move |store| {
            let entries: Vec<_> = keys.into_iter().zip(values).collect();
            store.write_values(&thread_id, &entries)
        })
    }

    /// Removes values, and gives how many there were.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn delete_values(&self, thread_id: String, keys: Vec<String>) -> Promised<u32> {
        self.ask(move |store| store.delete_values(&thread_id, &keys))
    }

    /// Removes every value of the thread.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn delete_all_values(&self, thread_id: String) -> Promised<()> {
        self.ask(move |store| store.delete_all_values(&thread_id))
    }

    /// The values of a range: JSON texts of arrays of `[key, value]`, in order.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_values(&self, thread_id: String, range: ValuesRange) -> Promised<Vec<String>> {
        self.ask(move |store| Ok(rows::texts(&store.list_values(&thread_id, &range.cross())?)))
    }
}
