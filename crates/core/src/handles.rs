//! Values that a host knows by a number.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by their numbers, from 1.
#[derive(Debug)]
pub struct Handles<T>(Mutex<Table<T>>);

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
    fn table(&self) -> MutexGuard<'_, Table<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a value, and gives its number.
    pub fn add(&self, value: T) -> u32 {
        let mut table = self.table();
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        table.values.insert(number, value);
        number
    }

    /// Takes a value out; nothing the second time.
    pub fn remove(&self, number: u32) -> Option<T> {
        self.table().values.remove(&number)
    }

    /// Drops every value, when the table is unlocked again.
    pub fn clear(&self) {
        let values = std::mem::take(&mut self.table().values);
        drop(values);
    }
}

impl<T: Clone> Handles<T> {
    /// A value by its number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<T> {
        self.table().values.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_number_leads_to_its_value_until_that_is_removed() {
        let handles = Handles::default();
        let (a, b) = (handles.add("a"), handles.add("b"));
        assert_eq!((a, b, handles.get(b)), (1, 2, Some("b")));
        assert_eq!((handles.remove(a), handles.remove(a), handles.get(a)), (Some("a"), None, None));
        handles.clear();
        assert_eq!((handles.get(b), handles.add("c")), (None, 3));
    }

    #[test]
    fn a_value_that_is_dropped_may_use_its_table() {
        struct Looks(Arc<Handles<Option<Looks>>>);
        impl Drop for Looks {
            fn drop(&mut self) {
                assert!(self.0.remove(1).is_none());
            }
        }
        let handles = Arc::new(Handles::default());
        handles.add(Some(Looks(Arc::clone(&handles))));
        handles.clear();
    }
}
