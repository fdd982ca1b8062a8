//! `/proc`, without the switches and windows of the kernel that lie in it.

use std::path::Path;

use rustix::{
    io::Errno,
    mount::{MountFlags, mount, mount_bind},
};

use crate::mounts::{
    error::{At, MountError},
    kernel::{self, Attributes},
};

/// What tells of the whole machine, its memory or its keys, and serves no command.
const MASKED: [&str; 12] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
];

const PROC: &str = "/proc";

/// Mounts the `/proc` of the worker's own process namespace over the supervisor's. The worker sets
/// limits there and then closes it with [`close_proc`].
pub fn worker_proc() -> Result<(), MountError> {
    let place = Path::new(PROC);
    // Where there is no tree of our own, what is mounted here would reach the host.
    super::private()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", PROC, "proc", flags, None).at("mount", place)?;
    mask()
}

/// Makes the worker's `/proc` read-only.
///
/// All of it, and not only what is known to be dangerous: there are switches for which the mode of the
/// file is all that is checked, and drivers add more. What a process cannot do so is to change its
/// own `oom_score_adj` or the name of another thread of its own.
pub fn close_proc() -> Result<(), MountError> {
    let place = Path::new(PROC);
    kernel::set_at(place, Attributes::READ_ONLY).at("make read-only", place)
}

/// Guards the `/proc` of the host, where workers see that one.
pub(crate) fn guard_host_proc() -> Result<(), MountError> {
    let place = Path::new(PROC);
    kernel::set_at(place, Attributes::READ_ONLY).at("make read-only", place)?;
    mask()
}

fn mask() -> Result<(), MountError> {
    for masked in MASKED {
        match mount_bind("/dev/null", masked) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(MountError::new("mask", Path::new(masked), errno)),
        }
    }
    Ok(())
}
