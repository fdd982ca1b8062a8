//! How a worker is scheduled beside its commands.

use std::io;

/// What commands are scheduled by, if the worker is scheduled otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheduling(bool);

impl Scheduling {
    /// Schedules the worker so that waking it does not displace a command on its way to its
    /// program, or the host that waits for it. A policy that the host has chosen stays.
    pub(crate) fn yielding() -> Self {
        // SAFETY: a system call on no memory.
        let usual = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
        Self(usual && set(libc::SCHED_BATCH).is_ok())
    }

    /// Schedules the worker as commands are while it looks at one: what it finds has to be known at once.
    pub(crate) fn attend(self, is_watching: bool) {
        if self.0 {
            let _ = set(if is_watching { libc::SCHED_OTHER } else { libc::SCHED_BATCH });
        }
    }

    /// Schedules the calling process, which becomes the command, as the host is.
    pub(crate) fn apply_in_child(self) -> io::Result<()> {
        if self.0 { set(libc::SCHED_OTHER) } else { Ok(()) }
    }
}

fn set(policy: libc::c_int) -> io::Result<()> {
    // The kernel's structure is this number. musl's has more fields, and its function does nothing.
    let priority: libc::c_int = 0;
    // SAFETY: a system call that reads a local.
    let set = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, policy, std::ptr::from_ref(&priority))
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
