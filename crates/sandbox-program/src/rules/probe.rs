//! Tries a ruleset on a throw-away child.
//!
//! That the kernel has the calls and knows a version does not mean that they work: a container's
//! filter may refuse the last of them only, and what imitates a kernel may accept everything and do
//! nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use rustix::process::{Pid, getpid, test_kill_process};
use rustix::thread::set_no_new_privs;

use super::system;
use super::trial::in_child;

/// The result. `None` means that it could not be tried here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// Whether a file of `/proc` that could be opened for writing before no longer can.
    pub(super) confines_writes: Option<bool>,
    /// Whether a signal to us is refused.
    pub(super) confines_signals: Option<bool>,
    /// Whether binding a TCP socket is refused.
    pub(super) refuses_tcp: Option<bool>,
}

#[derive(Clone, Copy)]
struct Trial<'a> {
    ruleset: BorrowedFd<'a>,
    flags: u32,
    parent: Pid,
    observed: Result<Observed, Errno>,
}

/// Restricts a child with the ruleset and checks what it can still do.
pub(super) fn restricted(ruleset: BorrowedFd<'_>, flags: u32) -> io::Result<Observed> {
    let trial = Trial { ruleset, flags, parent: getpid(), observed: Err(Errno::CANCELED) };
    Ok(in_child(trial, |trial| trial.observed = try_it(trial))?.observed?)
}

fn try_it(trial: &Trial<'_>) -> Result<Observed, Errno> {
    let could_write = writes_own_name();
    let could_signal = signals(trial.parent);
    set_no_new_privs(true)?;
    system::restrict_self(trial.ruleset, trial.flags)?;
    Ok(Observed {
        confines_writes: could_write.then(|| !writes_own_name()),
        confines_signals: could_signal.then(|| !signals(trial.parent)),
        refuses_tcp: binds().map(|binds| !binds),
    })
}

fn writes_own_name() -> bool {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(c"/proc/self/comm", flags, Mode::empty()).is_ok()
}

fn signals(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

/// Whether a port can be taken; `None` where there are no TCP sockets.
fn binds() -> Option<bool> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).ok()?;
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    Some(bind(&socket, &any_port) != Err(Errno::ACCESS))
}
