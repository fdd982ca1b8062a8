//! The turn of one process, or of one thread: whoever walks, restores or collects has the store alone.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use toolwright_sqlite::sync::lock;
use toolwright_sqlite::{NamedLock, SqliteError, SqliteErrorKind, TryLock};

use crate::error::Result;
use crate::head::Head;
use crate::{CheckpointError, Checkpoints};

const LOCK: &str = "store";
const PAUSE: Duration = Duration::from_millis(1);

/// The store, which nobody else changes meanwhile. The kernel ends this with the process.
pub(crate) struct Alone<'a> {
    pub(crate) store: &'a Checkpoints,
    _lock: NamedLock,
}

impl Checkpoints {
    /// Waits for the turn.
    pub(crate) fn alone(&self, cancel: &AtomicBool) -> Result<Alone<'_>> {
        let deadline = Instant::now() + self.options.busy_timeout;
        let note = format!("process {}", std::process::id());
        loop {
            match self.database.try_lock(LOCK, &note)? {
                TryLock::Acquired(held) => return Ok(Alone { store: self, _lock: held }),
                TryLock::HeldBy(_) if cancel.load(Ordering::Relaxed) => {
                    return Err(CheckpointError::Cancelled);
                }
                TryLock::HeldBy(_) if Instant::now() < deadline => thread::sleep(PAUSE),
                TryLock::HeldBy(holder) => {
                    let reason = format!("another process works on it{holder}");
                    let path = self.database.path();
                    let error: SqliteError = SqliteErrorKind::Busy.because(path, reason);
                    return Err(error.into());
                }
            }
        }
    }
}

impl Alone<'_> {
    pub(crate) fn head(&self) -> MutexGuard<'_, Head> {
        lock(&self.store.head)
    }
}
