//! Cancellation from JavaScript.
//!
//! napi's own `AbortSignal` support overwrites `onabort`, does not see a signal that is aborted
//! already, and stops working when several calls share one signal, which is what an agent does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi_derive::napi;
use toolwright_exec::Cancel;

/// Stops the call it is given to. One that was not used can be given to another call afterwards.
#[napi]
#[derive(Debug, Default)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
    /// Made for a command: it takes a descriptor, and is noticed at once. Held by the command alone,
    /// since a handle lives until it is collected, which is whenever.
    command: Mutex<Weak<Cancel>>,
}

#[napi]
impl CancelHandle {
    /// A handle that has not been used.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop. It settles as soon as it can, with `cancelled: true` when it did
    /// nothing, or with its result when that was already certain.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        if let Some(command) = self.command().upgrade() {
            command.cancel();
        }
    }

    /// For a command. Called on the JavaScript thread, as `cancel` is, so that neither misses the
    /// other.
    pub(crate) fn for_command(&self) -> Arc<Cancel> {
        let command = Arc::new(Cancel::new());
        *self.command() = Arc::downgrade(&command);
        if self.flag.load(Ordering::Relaxed) {
            command.cancel();
        }
        command
    }

    fn command(&self) -> MutexGuard<'_, Weak<Cancel>> {
        self.command.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}
