//! The input of a process: bytes that wait until it takes them.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, write};
use rustix::termios::{SpecialCodeIndex, tcgetattr};

use super::{InputError, InputProgress};

#[derive(Debug)]
pub(super) struct Input {
    /// `None` once it is closed, and where there is none.
    fd: Option<OwnedFd>,
    is_terminal: bool,
    was_open: bool,
    waiting: VecDeque<u8>,
    /// No more is taken.
    is_closing: bool,
    accepted: u64,
    written: u64,
}

impl Input {
    pub(super) fn new(fd: Option<OwnedFd>, is_terminal: bool) -> Self {
        Self {
            was_open: fd.is_some(),
            fd,
            is_terminal,
            waiting: VecDeque::new(),
            is_closing: false,
            accepted: 0,
            written: 0,
        }
    }

    /// The descriptor, while something waits for it to take more.
    pub(super) fn blocked(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().filter(|_| !self.waiting.is_empty()).map(AsFd::as_fd)
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Returns what `written` will be when the bytes have been taken.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<u64, InputError> {
        match self.fd {
            None if !self.was_open => return Err(InputError::None),
            None => return Err(InputError::Closed),
            Some(_) if self.is_closing => return Err(InputError::Closed),
            Some(_) => {}
        }
        self.waiting.extend(bytes);
        self.accepted += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(self.accepted)
    }

    pub(super) fn progress(&self) -> InputProgress {
        InputProgress { written: self.written, is_open: self.fd.is_some() && !self.is_closing }
    }

    /// Closes it when everything has been taken. A terminal stays open, and gets the character that
    /// says so.
    pub(super) fn close_later(&mut self) {
        if self.is_closing {
            return;
        }
        if self.is_terminal {
            let end = self.fd.as_ref().and_then(|fd| tcgetattr(fd).ok());
            let end = end.map_or(4, |settings| settings.special_codes[SpecialCodeIndex::VEOF]);
            let _ = self.push(&[end]);
            return;
        }
        self.is_closing = true;
    }

    /// Writes what the system takes now. `false`: the input is closed from now on, and its descriptor
    /// may go.
    pub(super) fn flush(&mut self) -> bool {
        let Some(fd) = &self.fd else { return false };
        while !self.waiting.is_empty() {
            let (front, _) = self.waiting.as_slices();
            match write(fd, front) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.written += u64::try_from(count).unwrap_or(0);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                // The process has closed its end.
                Err(_) => return false,
            }
        }
        self.waiting.shrink_to(64 << 10);
        !self.is_closing
    }

    /// Gives up what waits.
    pub(super) fn close(&mut self) -> Option<OwnedFd> {
        self.waiting = VecDeque::new();
        self.fd.take()
    }
}
