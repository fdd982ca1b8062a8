//! Cancellation: a flag that long work looks at between its steps.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::FsError;

/// Returns early with [`FsError::Cancelled`] once the flag is set.
pub(crate) fn checkpoint(cancel: &AtomicBool) -> Result<(), FsError> {
    if cancel.load(Ordering::Relaxed) { Err(FsError::Cancelled) } else { Ok(()) }
}
