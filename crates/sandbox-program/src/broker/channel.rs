//! How the listener of a command's filter gets from the child that installs it to the worker.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::sock_filter;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::Broker;
use crate::filter::set_filter;

/// A pair of sockets in the worker. Its children inherit both ends, and no command does.
#[derive(Debug)]
pub struct Channel {
    worker: OwnedFd,
    child: OwnedFd,
}

impl Channel {
    /// Opens it.
    pub fn new() -> io::Result<Self> {
        let (worker, child) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok(Self { worker, child })
    }

    /// What [`install_in_child`] sends the listener to.
    #[must_use]
    pub fn child_end(&self) -> BorrowedFd<'_> {
        self.child.as_fd()
    }

    /// The broker of the child made last; `None` if it did not come to its filter. Does not wait.
    pub fn take(&self) -> io::Result<Option<Broker>> {
        self.take_ends()?.map(|ends| Broker::new(ends.listener)).transpose()
    }

    /// What the child made last has sent.
    pub(crate) fn take_ends(&self) -> io::Result<Option<Ends>> {
        let mut newest = None;
        while let Some(ends) = self.receive()? {
            newest = Some(ends);
        }
        Ok(newest)
    }

    fn receive(&self) -> io::Result<Option<Ends>> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received =
            recvmsg(&self.worker, &mut [IoSliceMut::new(&mut byte)], &mut control, flags);
        match received {
            Err(Errno::AGAIN) => return Ok(None),
            other => other?,
        };
        let ends = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => {
                let listener = descriptors.next()?;
                Some(Ends { listener, gate: descriptors.next() })
            }
            _ => None,
        });
        ends.map(Some).ok_or_else(|| Errno::BADMSG.into())
    }
}

/// What comes from the child of a command.
pub(crate) struct Ends {
    /// The kernel's end of its filter.
    pub(crate) listener: OwnedFd,
    /// The command's gate to the host, where it has one.
    pub(crate) gate: Option<OwnedFd>,
}

/// Readable when there is something to take.
impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.worker.as_fd()
    }
}

/// Installs the filter of [`program()`](super::program()) in the calling process and sends its
/// listener to the worker, with the command's gate to the host behind it. Needs `no_new_privs`; comes after every filter that is to hold as well.
///
/// Allocates nothing and takes no lock, so that it may run in a child that shares the worker's
/// memory. If it fails, the command must not be started.
pub fn install_in_child(
    program: &[sock_filter],
    channel: BorrowedFd<'_>,
    gate: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    // A call that the broker has begun is then not interrupted by a signal that is caught: it would
    // be made again, and binding a socket twice fails.
    let uninterrupted =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let listener = set_filter(program, uninterrupted).or_else(|error| {
        // Unknown before Linux 5.19.
        if error.raw_os_error() == Some(libc::EINVAL) {
            set_filter(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)
        } else {
            Err(error)
        }
    })?;
    let listener = i32::try_from(listener).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just opened it for this process.
    let listener = unsafe { OwnedFd::from_raw_fd(listener) };
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let both = [listener.as_fd(), gate.unwrap_or(listener.as_fd())];
    let descriptors = if gate.is_some() { &both[..] } else { &both[..1] };
    control.push(SendAncillaryMessage::ScmRights(descriptors));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(channel, &[IoSlice::new(&[0])], &mut control, flags)?;
    Ok(())
}
