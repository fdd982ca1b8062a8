//! Whether a broker can work here, found by letting one work.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use libc::sock_filter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, socket};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open,
    set_dumpable_behavior, waitpid,
};

use super::{Broker, Channel, install_in_child};
use crate::errno;

/// Far longer than it takes.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Has a throw-away child bind a socket to 127.0.0.1, behind the filter of
/// [`program()`](super::program()) and a broker. The error is the one that the child got.
///
/// A worker calls this once it has installed its own filter and while it has one thread. A
/// `ptrace_scope` above 1, or a filter around a container, may forbid what a broker does.
pub fn probe(program: &[sock_filter]) -> io::Result<()> {
    let channel = Channel::new()?;
    // SAFETY: there is one thread, so that the child is whole; it leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let errno = bind_one(program, &channel).err().map_or(0, Errno::raw_os_error);
        // SAFETY: ends the child.
        unsafe { libc::_exit(errno) };
    }
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    let child = Pid::from_raw(child).ok_or(Errno::SRCH)?;
    let served = serve(&channel, child);
    // It has ended, unless something is wrong.
    let _ = kill_process(child, Signal::KILL);
    let status = waitpid(Some(child), WaitOptions::empty())?;
    served?;
    match status.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(errno)),
        None => Err(Errno::TIMEDOUT.into()),
    }
}

fn bind_one(program: &[sock_filter], channel: &Channel) -> Result<(), Errno> {
    // As a program that was executed, and unlike a worker.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    install_in_child(program, channel.child_end(), None).map_err(|error| errno::of(&error))?;
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// Answers until the child has ended.
fn serve(channel: &Channel, child: Pid) -> io::Result<()> {
    let ended = pidfd_open(child, PidfdFlags::empty())?;
    let until = Instant::now() + TIMEOUT;
    let mut broker: Option<Broker> = None;
    loop {
        let source = broker.as_ref().map_or(channel.as_fd(), |broker| broker.as_fd());
        let [calls, end] = wait(source, &ended, until)?;
        if end || Instant::now() >= until {
            return Ok(());
        }
        match &mut broker {
            Some(broker) if calls => broker.handle()?,
            None if calls => broker = channel.take()?,
            _ => {}
        }
    }
}

fn wait(source: BorrowedFd<'_>, ended: &OwnedFd, until: Instant) -> io::Result<[bool; 2]> {
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
    let both =
        &mut [PollFd::from_borrowed_fd(source, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
    match poll(both, Some(&left)) {
        Ok(_) => Ok([!both[0].revents().is_empty(), !both[1].revents().is_empty()]),
        Err(Errno::INTR) => Ok([false; 2]),
        Err(error) => Err(error.into()),
    }
}
