//! Two streams kept apart at their beginning, and whole, in the order of arrival, elsewhere.
//!
//! One bound holds for the beginnings of both together: whatever arrives first is kept, of either
//! stream. Only beyond it the overflow is asked to take the whole, from the first byte on. The
//! beginnings are what a person would see, and the whole is what was written: a long progress bar is
//! one line of the one, and all of the other.

use std::sync::atomic::{AtomicBool, Ordering};

use toolwright_fs::whole_characters;

use crate::cancel::{CancelSource, Waker};
use crate::screen::{Screen, draws, held_from};
use crate::sink::{Chunk, Sink, Stream};

/// Takes the whole of an output whose beginning did not hold it.
pub trait Overflow {
    /// Takes the next bytes. False: no more are taken, and the command is to be stopped.
    fn take(&mut self, bytes: &[u8]) -> bool;
}

/// The beginning of both streams, as a person sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// What of it came through stdout.
    pub stdout: Vec<u8>,
    /// What of it came through stderr.
    pub stderr: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

impl Head {
    fn of(&mut self, is_stderr: bool) -> &mut Vec<u8> {
        if is_stderr { &mut self.stderr } else { &mut self.stdout }
    }
}

/// A sink for a command with [`Streams::Apart`](crate::Streams::Apart).
pub struct Split<'a> {
    head: Head,
    room: usize,
    /// What is drawn on each stream, once something is.
    screens: [Option<Screen>; 2],
    limit: usize,
    /// All bytes in the order of arrival, as long as they are within the limit.
    arrived: Vec<u8>,
    is_spilling: bool,
    overflow: Option<&'a mut dyn Overflow>,
    stop: &'a AtomicBool,
}

impl<'a> Split<'a> {
    /// Keeps `limit` bytes at the beginning. When more arrive, all go to `overflow`; once that
    /// takes no more, `stop` is set. Without an overflow, bytes beyond the limit are dropped.
    #[must_use]
    pub fn new(limit: usize, overflow: Option<&'a mut dyn Overflow>, stop: &'a AtomicBool) -> Self {
        let (head, screens, arrived) = Default::default();
        Self { head, room: limit, screens, limit, arrived, is_spilling: false, overflow, stop }
    }

    /// The kept bytes.
    #[must_use]
    pub fn into_head(mut self) -> Head {
        for is_stderr in [false, true] {
            if let Some(screen) = self.screens[usize::from(is_stderr)].take() {
                let mut text = Vec::new();
                screen.finish(&mut text);
                self.keep(is_stderr, &text);
            }
        }
        self.head
    }

    /// Keeps what fits.
    fn keep(&mut self, is_stderr: bool, bytes: &[u8]) {
        if self.head.truncated {
            return;
        }
        let fits = bytes.len() <= self.room;
        let fitting = if fits { bytes } else { &bytes[..whole_characters(&bytes[..self.room])] };
        self.head.of(is_stderr).extend_from_slice(fitting);
        self.room -= fitting.len();
        self.head.truncated = !fits;
    }

    fn show(&mut self, is_stderr: bool, bytes: &[u8]) {
        let screen = &mut self.screens[usize::from(is_stderr)];
        if self.head.truncated || (screen.is_none() && !draws(bytes)) {
            return self.keep(is_stderr, bytes);
        }
        let mut text = Vec::new();
        let screen = screen.get_or_insert_with(|| {
            let mut screen = Screen::default();
            let kept = self.head.of(is_stderr);
            let held = kept.split_off(held_from(kept));
            self.room += held.len();
            screen.push(&held, &mut text);
            screen
        });
        screen.push(bytes, &mut text);
        self.keep(is_stderr, &text);
    }

    fn note(&mut self, bytes: &[u8]) {
        if self.overflow.is_none() {
            return;
        }
        if !self.is_spilling && self.arrived.len() + bytes.len() <= self.limit {
            return self.arrived.extend_from_slice(bytes);
        }
        if !self.is_spilling {
            self.is_spilling = true;
            let arrived = std::mem::take(&mut self.arrived);
            self.spill(&arrived);
        }
        self.spill(bytes);
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
        self.note(chunk.bytes);
        self.show(chunk.stream == Stream::Stderr, chunk.bytes);
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
