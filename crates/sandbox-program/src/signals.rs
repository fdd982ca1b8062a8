//! The ends of children, as a descriptor.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A descriptor for the ends of children, whose signal is blocked from now on.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the calls write to a local set, and the descriptor is new and has no other owner.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Discards the pending signals, so that only new ones make the descriptor readable.
pub(crate) fn forget_signals(descriptor: &OwnedFd) {
    let mut taken = [0; 1024];
    // A read that leaves room has taken all.
    while rustix::io::read(descriptor, &mut taken).is_ok_and(|count| count == taken.len()) {}
}
