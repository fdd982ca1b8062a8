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

    /// Schedules a thread that commands wait for at each of some calls. Its turns are short, so other processes are
    /// interrupted for it where the kernel has turns of different lengths (Linux 6.12).
    pub(crate) fn answer(self) {
        if self.0 && set_turns(TURN).is_err() {
            let _ = set(libc::SCHED_OTHER);
        }
    }

    /// Schedules the calling process, which becomes the command, as the host is.
    pub(crate) fn apply_in_child(self) -> io::Result<()> {
        if self.0 { set(libc::SCHED_OTHER) } else { Ok(()) }
    }
}

/// Nanoseconds. The kernel takes none shorter.
const TURN: u64 = 100_000;

fn set_turns(nanoseconds: u64) -> io::Result<()> {
    let attributes = Attributes {
        size: u32::try_from(size_of::<Attributes>()).unwrap_or(0),
        policy: libc::SCHED_OTHER.unsigned_abs(),
        nice: nice()?,
        runtime: nanoseconds,
        ..Attributes::default()
    };
    // SAFETY: a system call that reads a local.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(&attributes), 0) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How nice this thread is, which stays.
fn nice() -> io::Result<i32> {
    // SAFETY: a system call on no memory. It returns 20 less the number.
    let result = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(20 - i32::try_from(result).unwrap_or(20))
}

/// `struct sched_attr`, as it was first.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
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
