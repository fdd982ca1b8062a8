//! A child that holds new namespaces until they are joined.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::ptr::from_ref;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal,
    waitpid,
};
use rustix::thread::{ThreadNameSpaceType, UnshareFlags, move_into_thread_name_spaces};

use crate::errno;

/// Enough for a function that makes a handful of system calls.
const STACK: usize = 32 << 10;

/// The child. It shares the supervisor's memory, which makes it cheap, and only waits. It ends when
/// this is dropped, or with the supervisor.
#[derive(Debug)]
pub(super) struct Holder {
    pid: Pid,
    pidfd: OwnedFd,
    /// The memory that the child reads while it lives: the number of its parent, and its stack.
    _supervisor: Box<Pid>,
    _stack: Vec<u128>,
}

impl Holder {
    /// Starts it in new namespaces.
    pub(super) fn new(flags: UnshareFlags) -> Result<Self, Errno> {
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        let supervisor = Box::new(getpid());
        let mut pidfd: c_int = -1;
        let flags = flags.bits().cast_signed() | libc::CLONE_VM | libc::CLONE_PIDFD | libc::SIGCHLD;
        let argument = from_ref::<Pid>(&supervisor).cast_mut().cast::<c_void>();
        // SAFETY: the stack and the number live until the child has been reaped (see `drop`), the
        // stack is aligned and grows down from its end, and `hold` only makes system calls.
        let pid = unsafe {
            libc::clone(hold, stack.as_mut_ptr_range().end.cast(), flags, argument, &raw mut pidfd)
        };
        let Some(pid) = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
            return Err(errno::last());
        };
        // SAFETY: the kernel has just made the descriptor, which has no other owner.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Ok(Self { pid, pidfd, _supervisor: supervisor, _stack: stack })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Moves the supervisor to the child's namespaces of these kinds.
    pub(super) fn join(&self, kinds: ThreadNameSpaceType) -> Result<(), Errno> {
        move_into_thread_name_spaces(self.pidfd.as_fd(), kinds)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
        // The stack is freed with this value, so the child must have ended.
        let _ = retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}

extern "C" fn hold(supervisor: *mut c_void) -> c_int {
    // SAFETY: the supervisor keeps it until this process has ended.
    let supervisor = unsafe { *supervisor.cast::<Pid>() };
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    // The supervisor may have died before that.
    if dies.is_err() || getppid() != Some(supervisor) {
        return 1;
    }
    loop {
        // SAFETY: it takes nothing, and waits for a signal.
        unsafe { libc::pause() };
    }
}
