//! The host's end of a supervisor.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use toolwright_sandbox::wire::{NETWORK, Order, PROGRAMS, WORKER, plain_frame, send, write_order};

use super::pool::SupervisorHandle;
use super::program;
use super::worker::Worker;

/// How long a supervisor may take to read a message. Only a stopped one takes any time, because
/// messages rarely exceed the buffer of a socket.
const SEND_TIMEOUT: Duration = Duration::from_millis(500);

/// A supervisor, which ends when this is dropped, as soon as its workers have ended.
#[derive(Debug)]
pub(crate) struct Supervisor {
    socket: OwnedFd,
    /// Kills it whatever it does. Missing on systems that have no such thing.
    process: Option<OwnedFd>,
}

impl Supervisor {
    /// `ended` is called when it has ended, on a thread of its own. `beside` is what the order says that it
    /// joins.
    pub(crate) fn start(
        order: &Order,
        beside: &[BorrowedFd<'_>],
        ended: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (ours, theirs) = pair()?;
        let mut child = program::start("toolwright-sandbox", theirs.into())?;
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let process = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // Collects it the moment it ends, whenever that is. Without a thread it stays a zombie until
        // the host ends.
        let _ = thread::Builder::new()
            .name("toolwright-reap".to_owned())
            .stack_size(64 << 10)
            .spawn(move || {
                let _ = child.wait();
                ended();
            });
        send(&ours, &plain_frame(&write_order(order)), beside)?;
        Ok(Self { socket: ours, process })
    }

    /// Asks for our own programs, and returns what closes when they are in their place.
    pub(crate) fn request_programs(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = pair()?;
        send(&self.socket, &plain_frame(PROGRAMS), &[theirs.as_fd()])?;
        Ok(ours)
    }

    /// Asks for its network, and returns where that comes.
    pub(super) fn request_network(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = pair()?;
        send(&self.socket, &plain_frame(NETWORK), &[theirs.as_fd()])?;
        Ok(ours)
    }

    /// Asks for something by a frame, and returns where the answer comes.
    pub(super) fn ask(&self, frame: &[u8]) -> io::Result<OwnedFd> {
        let (ours, theirs) = pair()?;
        send(&self.socket, frame, &[theirs.as_fd()])?;
        Ok(ours)
    }

    /// Ends a supervisor without commands, and waits until it has removed its placeholders.
    pub(crate) fn end(self, deadline: Instant) {
        let Self { socket, process } = self;
        drop(socket);
        let Some(process) = process else { return };
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        let _ = retry_on_intr(|| poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)));
    }
}

impl SupervisorHandle for Supervisor {
    type Worker = Worker;
    /// The socket to the worker.
    type Pending = OwnedFd;

    fn request_worker(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = pair()?;
        send(&self.socket, &plain_frame(WORKER), &[theirs.as_fd()])?;
        Ok(ours)
    }

    fn kill(&self) {
        if let Some(process) = &self.process {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// A socket of this process, and one for the other end.
fn pair() -> io::Result<(OwnedFd, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    set_socket_timeout(&ours, Timeout::Send, Some(SEND_TIMEOUT))?;
    Ok((ours.into(), theirs))
}
