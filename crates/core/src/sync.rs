//! The locks and threads of the schedulers. Unit tests of this crate run them under shuttle, which
//! chooses the interleavings.

use std::sync::PoisonError;
use std::time::Duration;

#[cfg(test)]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(not(test))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};

/// Locks. No invariant of this crate spans a panic, so a poisoned lock is used as it is.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for `condvar`, and returns true after `limit`.
#[cfg(not(test))]
pub(crate) fn wait_timeout<'m, T>(
    condvar: &Condvar,
    _: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    limit: Duration,
) -> (MutexGuard<'m, T>, bool) {
    let (guard, waited) =
        condvar.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner);
    (guard, waited.timed_out())
}

/// Shuttle has no clock: the limit passes at once or never. A notification that is lost is a deadlock
/// where it never does.
#[cfg(test)]
pub(crate) fn wait_timeout<'m, T>(
    condvar: &Condvar,
    mutex: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    _: Duration,
) -> (MutexGuard<'m, T>, bool) {
    if shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()) {
        return (condvar.wait(guard).unwrap_or_else(PoisonError::into_inner), false);
    }
    drop(guard);
    thread::yield_now();
    (lock(mutex), true)
}
