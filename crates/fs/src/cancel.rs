//! Cancellation: a flag that long work checks between its steps.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::FsError;

/// Fails with [`FsError::Cancelled`] once the flag is set.
pub(crate) fn checkpoint(cancel: &AtomicBool) -> Result<(), FsError> {
    if cancel.load(Ordering::Relaxed) { Err(FsError::Cancelled) } else { Ok(()) }
}
