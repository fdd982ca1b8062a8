//! Cancellation: a flag that long work checks between its steps.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{FsError, FsErrorKind};

/// Fails with [`FsErrorKind::Cancelled`] once the flag is set.
pub(crate) fn checkpoint(cancel: &AtomicBool) -> Result<(), FsError> {
    if cancel.load(Ordering::Relaxed) { Err(FsErrorKind::Cancelled.at("")) } else { Ok(()) }
}
