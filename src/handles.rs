//! Native values that JavaScript knows by a number.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::job::lock;

/// Values by their numbers, from 1.
pub(crate) struct Handles<T>(Mutex<Table<T>>);

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
        let mut table = lock(&self.0);
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        table.values.insert(number, value);
        number
    }

    /// The value goes when the caller drops it; nothing happens the second time.
    pub(crate) fn remove(&self, number: u32) -> Option<T> {
        lock(&self.0).values.remove(&number)
    }

    pub(crate) fn clear(&self) {
        // Dropped when the table is unlocked again.
        let values = std::mem::take(&mut lock(&self.0).values);
        drop(values);
    }
}

impl<T: Clone> Handles<T> {
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        lock(&self.0).values.get(&number).cloned()
    }
}
