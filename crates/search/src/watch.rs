//! The cancel flag and the deadline, and a reader that obeys both.

use std::{
    cell::Cell,
    io::{self, Read},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// Why a search ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
}

/// What is asked between any two pieces of work.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a AtomicBool,
}

impl Watch<'_> {
    pub(crate) fn check(self) -> Result<(), Stopped> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stopped::TimedOut),
            _ => Ok(()),
        }
    }
}

/// How reading a file ended, where it did not end well. The searcher wraps the error it gets from
/// the reader, so the reader keeps what it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    #[default]
    Fine,
    Stopped(Stopped),
    Failed,
}

/// A reader that fails as soon as the watch says stop: the only way out of the searcher in the
/// middle of a file without a match.
pub(crate) struct Watched<'a, R> {
    pub(crate) inner: R,
    pub(crate) watch: Watch<'a>,
    pub(crate) end: &'a Cell<ReadEnd>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Err(stopped) = self.watch.check() {
                self.end.set(ReadEnd::Stopped(stopped));
                return Err(io::Error::other("stopped"));
            }
            match self.inner.read(buf) {
                // A signal for the host is no reason to give up a file.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.end.set(ReadEnd::Failed);
                    return Err(error);
                }
                Ok(count) => return Ok(count),
            }
        }
    }
}
