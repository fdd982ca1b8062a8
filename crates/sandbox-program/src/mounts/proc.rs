//! `/proc`, without the switches and windows of the kernel that lie in it.

use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};

use crate::mounts::error::{At, MountError};

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

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Mounts the `/proc` of the worker's own process namespace over the supervisor's. The worker may
/// still write there, until [`close_proc`].
pub fn worker_proc() -> Result<(), MountError> {
    // Where there is no tree of our own, what is mounted here would reach the host.
    super::renewal::stay_apart().at("keep apart the mounts at", Path::new("/"))?;
    mount("proc", PROC, "proc", PLAIN, None).at("mount", Path::new(PROC))?;
    mask()
}

/// Makes `/proc` read-only. All of it, and not only what is known to be dangerous: there are switches
/// for which the mode of the file is all that is checked, and drivers add more. What a process cannot
/// do so is to change its own `oom_score_adj` or the name of another thread of its own.
pub fn close_proc() -> Result<(), MountError> {
    // A mount of its own, since the worker keeps a file open for writing in the one below. Kernels that
    // cannot build a tree can do this.
    mount_bind_recursive(PROC, PROC).at("cover", Path::new(PROC))?;
    mount_remount(PROC, PLAIN | MountFlags::BIND | MountFlags::RDONLY, "")
        .at("make read-only", Path::new(PROC))
}

/// Masks what lies at `/proc` now. The supervisor does it to the host's, which workers see where the
/// system refuses them their own.
pub(super) fn mask() -> Result<(), MountError> {
    for masked in MASKED {
        match mount_bind("/dev/null", masked) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(MountError::new("mask", Path::new(masked), errno)),
        }
    }
    Ok(())
}
