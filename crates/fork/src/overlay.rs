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
) -> Result<OwnedFd, Errno> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // Paths of descriptors have none of the characters that separate directories here.
    for (name, directory) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fsconfig_set_string(&context, name, path)?;
    }
    fsconfig_set_flag(&context, "userxattr")?;
    fsconfig_create(&context)?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, NEVER)
}
