//! Cancellation from JavaScript.
//!
//! napi's own `AbortSignal` support overwrites `onabort`, does not see a signal that is aborted
//! already, and stops working when several calls share one signal, which is what an agent does.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use napi_derive::napi;

/// Stops the calls it is given to. One handle belongs to one call.
#[napi]
#[derive(Debug, Default)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
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
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}
