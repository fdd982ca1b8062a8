//! Children that have ended.
//!
//! A process may have its parent trace it (`PTRACE_TRACEME`), and that of a command's first process is the worker. So is
//! that of a process whose parent has ended. The kernel then reports to the worker when such a process stops, in the
//! way in which it reports an end. A tracer that is none lets it go on.

use std::ffi::c_int;

use crate::errno;
use rustix::io::Errno;

/// What waiting for children has brought.
#[derive(Clone, Copy)]
pub(crate) enum Reaped {
    /// One has ended.
    Ended {
        pid: i32,
        status: c_int,
        used: libc::rusage,
    },
    /// One has stopped that another thread of this process is the tracer of.
    Held(Stopped),
    NoneYet,
    NoChild,
}

/// A process that has stopped, and the signal that it goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped {
    pid: i32,
    signal: c_int,
}

impl Stopped {
    /// Ends the tracing. Only the thread that has made the process can.
    pub(crate) fn release(self) -> Result<(), Errno> {
        // SAFETY: the request is about another process, and the null pointer is no address.
        let result = unsafe {
            let none = std::ptr::null_mut::<libc::c_void>();
            libc::ptrace(libc::PTRACE_DETACH, self.pid, none, libc::c_long::from(self.signal))
        };
        if result == 0 { Ok(()) } else { Err(errno::last()) }
    }
}

/// Collects a child that has ended, and lets those go on that have only stopped. `options` are those of `wait4`.
pub(crate) fn reap(options: c_int) -> Reaped {
    loop {
        let mut status = 0;
        // SAFETY: zeros are a valid value, and the call writes to locals.
        let (pid, used) = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            let pid = libc::wait4(-1, &raw mut status, options | libc::__WALL, &raw mut used);
            (pid, used)
        };
        match pid {
            0 => return Reaped::NoneYet,
            -1 => return Reaped::NoChild,
            pid if libc::WIFSTOPPED(status) => {
                let signal = match libc::WSTOPSIG(status) {
                    // By the execution of a program. Without a tracer there is none.
                    libc::SIGTRAP => 0,
                    signal => signal,
                };
                let stopped = Stopped { pid, signal };
                if stopped.release() == Err(Errno::SRCH) {
                    return Reaped::Held(stopped);
                }
            }
            pid => return Reaped::Ended { pid, status, used },
        }
    }
}
