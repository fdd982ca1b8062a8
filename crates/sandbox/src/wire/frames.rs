//! Frames on a stream socket, with descriptors beside them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::codec::Malformed;
use super::message::{FRAME_HEADER, frame_length};

/// No message carries more: the pipes of a command, and its gate.
const MAX_DESCRIPTORS: usize = 5;
/// One read; a request with a usual environment fits.
const BLOCK: usize = 16 << 10;

/// Sends a whole frame, and with its first byte the descriptors.
pub fn send(socket: impl AsFd, frame: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut sent = 0;
    while sent < frame.len() {
        match sendmsg(&socket, &[IoSlice::new(&frame[sent..])], &mut beside, SendFlags::NOSIGNAL) {
            Ok(count) => {
                sent += count;
                beside.clear();
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The receiving side of a socket.
#[derive(Debug)]
pub struct Inbox {
    socket: OwnedFd,
    bytes: Vec<u8>,
    /// Received descriptors that were not taken yet. One read may bring those of two frames.
    descriptors: VecDeque<OwnedFd>,
    /// Whether the other end was closed before it had read everything.
    unread: bool,
}

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Some bytes.
    More,
    /// Nothing yet.
    Nothing,
    /// The other end is closed.
    Closed,
}

impl Inbox {
    /// Reads from `socket`.
    #[must_use]
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, bytes: Vec::new(), descriptors: VecDeque::new(), unread: false }
    }

    /// Reads once, and waits for something if asked to.
    pub fn fill(&mut self, wait: bool) -> io::Result<Progress> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let flags =
            RecvFlags::CMSG_CLOEXEC | if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let old = self.bytes.len();
        self.bytes.resize(old + BLOCK, 0);
        let received = loop {
            let into = &mut [IoSliceMut::new(&mut self.bytes[old..])];
            match recvmsg(&self.socket, into, &mut beside, flags) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        self.bytes.truncate(old + received.as_ref().map_or(0, |message| message.bytes));
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        match received {
            Ok(message) if message.bytes == 0 => Ok(Progress::Closed),
            Ok(_) => Ok(Progress::More),
            Err(Errno::AGAIN) => Ok(Progress::Nothing),
            Err(Errno::CONNRESET) => {
                self.unread = true;
                Ok(Progress::Closed)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the other end was closed before it had read everything that was sent to it.
    #[must_use]
    pub fn was_left_unread(&self) -> bool {
        self.unread
    }

    /// The next of the descriptors that came beside frames.
    pub fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    /// The content of the next frame, if it is here in whole. The descriptors that were sent with it
    /// are here too then.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        let Some((header, rest)) = self.bytes.split_first_chunk::<FRAME_HEADER>() else {
            return Ok(None);
        };
        let length = frame_length(*header)?;
        if rest.len() < length {
            return Ok(None);
        }
        let content = rest[..length].to_vec();
        self.bytes.drain(..FRAME_HEADER + length);
        Ok(Some(content))
    }

    /// Waits for a whole frame. `None`: the other end is closed.
    pub fn wait(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(frame) = self.take().map_err(io::Error::other)? {
                return Ok(Some(frame));
            }
            if self.fill(true)? == Progress::Closed {
                return Ok(None);
            }
        }
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
