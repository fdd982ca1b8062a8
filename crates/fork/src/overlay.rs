//! The kernel's calls for overlays.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

/// What no mount of a fork permits.
const NEVER: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// Whether what is written to an overlay reaches the disk when programs ask for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// As its file system does.
    Asked,
    /// Not before the file system does so by itself. A first write to a file takes a fraction of the time.
    Never,
}

/// A file system in memory, attached nowhere.
pub(crate) fn memory() -> Result<OwnedFd, Errno> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", "0700")?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, NEVER)
}

/// An overlay, attached nowhere. The directories have to be on mounts of this namespace.
pub(crate) fn overlay(
    lower: BorrowedFd<'_>,
    upper: BorrowedFd<'_>,
    work: BorrowedFd<'_>,
    sync: Sync,
) -> Result<OwnedFd, Errno> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // Paths of descriptors have none of the characters that separate directories here.
    for (name, directory) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fsconfig_set_string(&context, name, path)?;
    }
    fsconfig_set_flag(&context, "userxattr")?;
    if sync == Sync::Never {
        fsconfig_set_flag(&context, "volatile")?;
    }
    fsconfig_create(&context)?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, NEVER)
}
