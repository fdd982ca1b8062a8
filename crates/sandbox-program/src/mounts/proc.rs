//! `/proc`, without the switches and windows of the kernel that lie in it.

use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};

use crate::mounts::error::{At, MountError};

/// Files that describe the whole machine, its memory or its keys, and serve no command.
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
    // Without a tree of our own, this mount would reach the host.
    super::renewal::stay_apart().at("keep apart the mounts at", Path::new("/"))?;
    mount("proc", PROC, "proc", PLAIN, None).at("mount", Path::new(PROC))?;
    mask()
}

/// Makes all of `/proc` read-only. For some switches the mode of the file is the only check, and
/// drivers add more. A process then cannot change its own `oom_score_adj` or the name of another of
/// its threads.
pub fn close_proc() -> Result<(), MountError> {
    // A mount of its own, since the worker keeps a file open for writing in the one below. Kernels that
    // cannot build a tree can do this.
    mount_bind_recursive(PROC, PROC).at("cover", Path::new(PROC))?;
    mount_remount(PROC, PLAIN | MountFlags::BIND | MountFlags::RDONLY, "")
        .at("make read-only", Path::new(PROC))
}

/// Masks these files in the current `/proc`. The supervisor masks those of the host, which workers
/// see if the system refuses them a `/proc` of their own.
pub(super) fn mask() -> Result<(), MountError> {
    for masked in MASKED {
        match mount_bind("/dev/null", masked) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(MountError::new("mask", Path::new(masked), errno)),
        }
    }
    Ok(())
}
