//! Locking a mutex whose value is whole after a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it, also after a panic of another holder. The values guarded in these crates change by single
/// calls, and an open transaction is rolled back when its guard is dropped.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
