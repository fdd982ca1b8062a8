//! Numbers for the calls of an attempt that have the same arguments.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// Counts the calls of one attempt of a task, for [`keys`](crate::keys::call_idempotency_key): the
/// first payment of 5 euros is number 1 in every attempt, the second number 2.
#[derive(Debug, Default)]
pub struct Ordinals {
    calls: Mutex<HashMap<(String, String), Numbers>>,
}

/// The numbers of the calls with one tool and the same arguments.
#[derive(Debug)]
struct Numbers {
    taken: BTreeSet<i64>,
    /// No number below it is free.
    lowest: i64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { taken: BTreeSet::new(), lowest: 1 }
    }
}

impl Ordinals {
    /// For an attempt that has made no calls yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The lowest free number, from 1.
    pub fn take(&self, tool: &str, args_hash: &str) -> i64 {
        self.with(tool, args_hash, |numbers| {
            let mut free = numbers.lowest;
            while !numbers.taken.insert(free) {
                free += 1;
            }
            numbers.lowest = free + 1;
            free
        })
    }

    /// Frees the number of a call that was refused before it did anything. In the next attempt, the call
    /// that does something may well be the first.
    pub fn give_back(&self, tool: &str, args_hash: &str, ordinal: i64) {
        self.with(tool, args_hash, |numbers| {
            if numbers.taken.remove(&ordinal) {
                numbers.lowest = numbers.lowest.min(ordinal);
            }
        });
    }

    /// Marks the number of a call that an earlier process made in the same attempt as taken.
    pub fn occupy(&self, tool: &str, args_hash: &str, ordinal: i64) {
        self.with(tool, args_hash, |numbers| {
            numbers.taken.insert(ordinal);
        });
    }

    fn with<T>(&self, tool: &str, args_hash: &str, act: impl FnOnce(&mut Numbers) -> T) -> T {
        // Every change is a single call, so the table is whole after a panic.
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        act(calls.entry((tool.to_owned(), args_hash.to_owned())).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_calls_are_numbered_and_refused_ones_are_not() {
        let ordinals = Ordinals::new();
        assert_eq!((ordinals.take("pay", "5"), ordinals.take("pay", "5")), (1, 2));
        assert_eq!((ordinals.take("pay", "6"), ordinals.take("mail", "5")), (1, 1));
        ordinals.give_back("pay", "5", 1);
        assert_eq!((ordinals.take("pay", "5"), ordinals.take("pay", "5")), (1, 3));
        ordinals.occupy("pay", "5", 5);
        assert_eq!((ordinals.take("pay", "5"), ordinals.take("pay", "5")), (4, 6));
    }
}
