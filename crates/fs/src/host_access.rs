//! What the host itself may do at a path.

use std::path::Path;

use rustix::fs::{Access, StatVfsMountFlags, access, stat, statvfs};
use rustix::process::{Gid, getegid, geteuid, getgroups};

/// Whether this process may read the file at a path.
#[must_use]
pub fn host_may_read(path: &Path) -> bool {
    access(path, Access::READ_OK).is_ok()
}

/// Whether this process may write the file at a path, or make one there.
#[must_use]
pub fn host_may_write(path: &Path) -> bool {
    let at = if path.exists() { Some(path) } else { path.parent() };
    at.is_some_and(|at| access(at, Access::WRITE_OK).is_ok())
}

/// Whether this process may change the mode of a file.
#[must_use]
pub fn host_may_change_mode(path: &Path) -> bool {
    let user = geteuid();
    user.is_root() || stat(path).is_ok_and(|file| file.st_uid == user.as_raw())
}

/// A right over the system that a host may have, and no command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRight {
    /// To schedule processes before others.
    Priority,
    /// To raise limits of processes.
    Limits,
}

/// Whether this process has a right over the system.
#[must_use]
pub fn host_has(right: HostRight) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CapabilitySet, capabilities};
        let needed = match right {
            HostRight::Priority => CapabilitySet::SYS_NICE,
            HostRight::Limits => CapabilitySet::SYS_RESOURCE,
        };
        capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = right;
        geteuid().is_root()
    }
}

/// Whether the file system of a path is read-only for this process.
#[must_use]
pub fn is_read_only(path: &Path) -> bool {
    let system = path.ancestors().find_map(|path| statvfs(path).ok());
    system.is_some_and(|system| system.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// The numbers of the groups that this process has beside its own.
#[must_use]
pub fn other_groups() -> Vec<u32> {
    let own = getegid();
    let all = getgroups().unwrap_or_default();
    all.into_iter().filter(|group| *group != own).map(Gid::as_raw).collect()
}
