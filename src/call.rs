//! What every call across the border has: a handle that cancels it, work off the JavaScript thread, and a
//! promise of its outcome.

mod cancel;
mod deferred;
mod job;
mod outcome;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use cancel::CancelHandle;
pub(crate) use job::{
    Awaited, Job, Promised, awaited, command, detached, detached_command, long, short, unstoppable,
};
pub(crate) use outcome::{NativeError, Outcome};

/// Locks. Every change under a lock of the binding is a single call, so a panic leaves the value whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
