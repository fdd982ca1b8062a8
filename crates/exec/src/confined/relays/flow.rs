//! One direction of a connection that is relayed.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

/// How much is moved at once. No more is kept for an end that takes nothing.
pub(super) const BLOCK: usize = 64 << 10;

/// How many blocks are moved before others have their turn.
const MAX_BLOCKS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// All is read.
    Ended,
    /// All is written, and the end of it.
    Over,
    /// Where it goes to takes no more.
    Unwanted,
    /// Where it comes from is gone, and has not said that it was all.
    Lost,
}

/// What was read and not written yet, and how far it is.
#[derive(Debug)]
pub(super) struct Flow {
    pending: Vec<u8>,
    written: usize,
    state: State,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self { pending: Vec::new(), written: 0, state: State::Open }
    }

    /// What is written before anything else.
    pub(super) fn begin_with(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    pub(super) fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn reads(&self) -> bool {
        self.state == State::Open && !self.is_blocked()
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over | State::Unwanted | State::Lost)
    }

    pub(super) fn is_broken(&self) -> bool {
        matches!(self.state, State::Unwanted | State::Lost)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// Where it goes to takes no more.
    pub(super) fn be_unwanted(&mut self) {
        if !self.is_over() {
            (self.pending, self.written, self.state) = (Vec::new(), 0, State::Unwanted);
        }
    }

    /// Writes what is kept.
    pub(super) fn flush(&mut self, to: &OwnedFd) {
        while self.is_blocked() && !self.is_over() {
            let rest = self.pending.get(self.written..).unwrap_or_default();
            match send(to, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.state = State::Unwanted,
            }
            if self.written == self.pending.len() || self.is_over() {
                // Connections that rest keep nothing.
                (self.pending, self.written) = (Vec::new(), 0);
            }
        }
    }

    /// Moves what is there, all of it or so much that others have their turn soon. `seen` sees it.
    pub(super) fn pump(
        &mut self,
        (from, to): (&OwnedFd, &OwnedFd),
        all: bool,
        block: &mut [u8],
        mut seen: impl FnMut(&[u8]),
    ) {
        let mut blocks = 0;
        loop {
            self.flush(to);
            if self.is_blocked() || self.is_over() {
                return;
            }
            if self.state == State::Ended {
                let is_told = shutdown(to, Shutdown::Write).is_ok();
                self.state = if is_told { State::Over } else { State::Unwanted };
                return;
            }
            if !all && blocks == MAX_BLOCKS {
                return;
            }
            blocks += 1;
            match recv(from, &mut *block, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => self.state = State::Ended,
                Ok((_, count)) => {
                    let read = block.get(..count).unwrap_or_default();
                    seen(read);
                    let sent = send(to, read, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
                    match sent {
                        Ok(sent) => self.begin_with(read.get(sent..).unwrap_or_default()),
                        Err(Errno::INTR | Errno::AGAIN) => self.begin_with(read),
                        Err(_) => self.state = State::Unwanted,
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.state = State::Lost,
            }
        }
    }
}
