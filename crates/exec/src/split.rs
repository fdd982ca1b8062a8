//! Two streams kept apart at their beginning, and whole, in the order of arrival, elsewhere.
//!
//! One bound holds for the beginnings of both together: whatever arrives first is kept, of either
//! stream. Only beyond it the overflow is asked to take the whole, from the first byte on.

use std::sync::atomic::{AtomicBool, Ordering};

use toolwright_fs::whole_characters;

use crate::cancel::{CancelSource, Waker};
use crate::sink::{Chunk, Sink, Stream};

/// Takes the whole of an output whose beginning did not hold it.
pub trait Overflow {
    /// Takes the next bytes. False: no more are taken, and the command is to be stopped.
    fn take(&mut self, bytes: &[u8]) -> bool;
}

/// The beginning of both streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// What of it came through stdout.
    pub stdout: Vec<u8>,
    /// What of it came through stderr.
    pub stderr: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

/// A sink for a command with [`Streams::Apart`](crate::Streams::Apart).
pub struct Split<'a> {
    head: Head,
    room: usize,
    /// All of the head in the order of arrival, for as long as it is the whole output.
    arrived: Vec<u8>,
    overflow: Option<&'a mut dyn Overflow>,
    stop: &'a AtomicBool,
}

impl<'a> Split<'a> {
    /// Keeps `limit` bytes at the beginning. When more arrive, all go to `overflow`; once that
    /// takes no more, `stop` is set. Without an overflow, bytes beyond the limit are dropped.
    #[must_use]
    pub fn new(limit: usize, overflow: Option<&'a mut dyn Overflow>, stop: &'a AtomicBool) -> Self {
        Self { head: Head::default(), room: limit, arrived: Vec::new(), overflow, stop }
    }

    /// The kept bytes.
    #[must_use]
    pub fn into_head(self) -> Head {
        self.head
    }

    fn spill(&mut self, bytes: &[u8]) {
        if let Some(overflow) = &mut self.overflow
            && !overflow.take(bytes)
        {
            self.overflow = None;
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Sink for Split<'_> {
    fn limit(&self) -> Option<usize> {
        Some(usize::MAX)
    }

    fn ready(&mut self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        let bytes = chunk.bytes;
        if self.head.truncated {
            return self.spill(bytes);
        }
        let fits = bytes.len() <= self.room;
        let fitting = if fits { bytes } else { &bytes[..whole_characters(&bytes[..self.room])] };
        match chunk.stream {
            Stream::Stderr => self.head.stderr.extend_from_slice(fitting),
            Stream::Stdout | Stream::Joined => self.head.stdout.extend_from_slice(fitting),
        }
        self.room -= fitting.len();
        if fits {
            if self.overflow.is_some() {
                self.arrived.extend_from_slice(bytes);
            }
        } else {
            self.head.truncated = true;
            let arrived = std::mem::take(&mut self.arrived);
            self.spill(&arrived);
            self.spill(bytes);
        }
    }
}

/// Stops a command for either of two reasons.
#[derive(Debug)]
pub struct StoppedBy<'a> {
    /// The cancellation by the caller.
    pub cancel: &'a dyn CancelSource,
    /// Set by the sink, on the thread that reads.
    pub stop: &'a AtomicBool,
}

impl CancelSource for StoppedBy<'_> {
    fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    fn waker(&self) -> Option<&Waker> {
        self.cancel.waker()
    }
}
