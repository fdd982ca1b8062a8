//! Native values that JavaScript knows by a number.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by their numbers, from 1.
#[derive(Debug)]
pub(crate) struct Handles<T>(Mutex<Table<T>>);

#[derive(Debug)]
struct Table<T> {
    last: u32,
    values: HashMap<u32, T>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self(Mutex::new(Table { last: 0, values: HashMap::new() }))
    }
}

impl<T> Handles<T> {
    pub(crate) fn add(&self, value: T) -> u32 {
        let mut table = self.table();
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        table.values.insert(number, value);
        number
    }

    /// The value goes when the caller drops it; nothing happens the second time.
    pub(crate) fn remove(&self, number: u32) -> Option<T> {
        self.table().values.remove(&number)
    }

    pub(crate) fn clear(&self) {
        let values = std::mem::take(&mut self.table().values);
        drop(values);
    }

    fn table(&self) -> MutexGuard<'_, Table<T>> {
        // Each change is a single call, so the table is whole after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Handles<T> {
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        self.table().values.get(&number).cloned()
    }
}
