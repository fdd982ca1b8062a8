//! Cancellation from JavaScript.
//!
//! napi's own `AbortSignal` support overwrites `onabort`, does not see a signal that is aborted
//! already, and stops working when several calls share one signal, which is what an agent does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use napi_derive::napi;
use toolwright_exec::Cancel;

use super::lock;

/// Stops the call that has it. An unused handle can serve another call afterwards.
#[napi]
#[derive(Default)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
    /// Of a command: it takes a descriptor, and the command notices it at once. The command alone owns
    /// it, since a handle may be collected much later.
    command: Mutex<Weak<Cancel>>,
}

#[napi]
impl CancelHandle {
    /// A handle that has not been used.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop. It settles as soon as it can: without a result, or with its result when
    /// that was already certain.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        if let Some(command) = lock(&self.command).upgrade() {
            command.cancel();
        }
    }

    /// For a command. Called on the JavaScript thread, as `cancel` is, so that neither misses the
    /// other.
    pub(crate) fn for_command(&self) -> Arc<Cancel> {
        let command = Arc::new(Cancel::new());
        *lock(&self.command) = Arc::downgrade(&command);
        if self.flag.load(Ordering::Relaxed) {
            command.cancel();
        }
        command
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}
