//! The cancel flag and the deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why a search ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
    /// Another thread has ended the search: the output is full, or that thread was stopped.
    Halted,
}

/// Checked between any two pieces of work.
#[derive(Clone, Copy)]
pub(crate) struct StopSignal<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a AtomicBool,
    /// Set by the thread that ends a search of several threads.
    pub(crate) halt: &'a AtomicBool,
}

impl StopSignal<'_> {
    pub(crate) fn check(self) -> Result<(), Stopped> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        if self.halt.load(Ordering::Relaxed) {
            return Err(Stopped::Halted);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stopped::TimedOut),
            _ => Ok(()),
        }
    }

    /// Stops the other threads of this search.
    pub(crate) fn halt(self) {
        self.halt.store(true, Ordering::Relaxed);
    }
}
