//! The kernel's calls for mounts, as this tree uses them.

use std::ffi::{CStr, CString, OsStr};
use std::ops::BitOr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes,
    StatxFlags, fstat, fstatvfs, open, openat, openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount,
};
use rustix::path::Arg;

use super::older_kernel;
use crate::errno;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attributes(u64);

impl Attributes {
    pub(super) const READ_ONLY: Self = Self(libc::MOUNT_ATTR_RDONLY);
    pub(super) const NO_SUID: Self = Self(libc::MOUNT_ATTR_NOSUID);
    pub(super) const NO_DEVICES: Self = Self(libc::MOUNT_ATTR_NODEV);
    pub(super) const NO_EXEC: Self = Self(libc::MOUNT_ATTR_NOEXEC);
}

impl Attributes {
    /// The same for `mount(2)`.
    pub(super) fn flags(self) -> MountFlags {
        let pairs = [
            (Self::READ_ONLY, MountFlags::RDONLY),
            (Self::NO_SUID, MountFlags::NOSUID),
            (Self::NO_DEVICES, MountFlags::NODEV),
            (Self::NO_EXEC, MountFlags::NOEXEC),
        ];
        let held = pairs.into_iter().filter(|(attribute, _)| self.0 & attribute.0 != 0);
        held.fold(MountFlags::empty(), |flags, (_, flag)| flags | flag)
    }
}

impl BitOr for Attributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// `MOVE_MOUNT_BENEATH`.
const BENEATH: MoveMountFlags = MoveMountFlags::from_bits_retain(0x200);

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens a path of a plan. A link in it, which was none when the plan was made, is not followed.
pub(crate) fn open_plain(path: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, path, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Opens one entry of a directory, a link itself.
pub(super) fn open_entry(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(directory, name, PLACE | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens the target of a path, through links.
pub(super) fn open_followed(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, PLACE, Mode::empty())
}

pub(super) fn is_directory(fd: impl AsFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode).is_dir())
}

/// A copy of the mounts from `fd` on, attached nowhere yet.
pub(super) fn copy(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE;
    open_tree(fd, c"", flags | OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)
}

/// As [`copy`], of one entry of a directory or of the directory itself, a link not followed, without the
/// mounts below.
pub(super) fn copy_entry(directory: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::AT_SYMLINK_NOFOLLOW | OpenTreeFlags::AT_NO_AUTOMOUNT;
    let flags = flags | OpenTreeFlags::AT_EMPTY_PATH;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(directory, name, flags | clone)
}

/// Attaches a copy on top of `target`.
pub(crate) fn attach(copy: impl AsFd, target: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(copy, c"", target, c"", flags)
}

/// Attaches a copy beneath the mount that begins at `target`, which hides it. Since Linux 6.5.
pub(super) fn attach_beneath(copy: impl AsFd, target: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(copy, c"", target, c"", flags | BENEATH)
}

/// Detaches the mount that begins at `place`, with all that lies on it.
pub(super) fn detach(place: impl AsFd) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", place.as_fd().as_raw_fd());
    unmount(path, UnmountFlags::DETACH)
}

/// As [`attach`], on top of one entry of a directory, a link not followed.
pub(super) fn attach_entry(
    copy: impl AsFd,
    directory: impl AsFd,
    name: impl Arg,
) -> Result<(), Errno> {
    move_mount(copy, c"", directory, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Binds a place onto itself, read-only.
pub(super) fn cover_with_itself(place: impl AsFd) -> Result<(), Errno> {
    let tree = restricted(copy(&place)?, Attributes::READ_ONLY)?;
    attach(tree, place)
}

/// Whether nothing can be written at a place.
pub(super) fn is_read_only(place: impl AsFd) -> bool {
    fstatvfs(place).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Whether a mount begins here. Kernels that do not report this have none.
pub(super) fn is_mount_point(place: impl AsFd) -> bool {
    let stat = statx(place, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
    stat.is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// A copy that is attached nowhere, with more forbidden to all of its mounts.
pub(super) fn restricted(tree: OwnedFd, attributes: Attributes) -> Result<OwnedFd, Errno> {
    match set(tree.as_fd(), c"", libc::AT_EMPTY_PATH, attributes) {
        Err(Errno::NOSYS) => older_kernel::restricted(&tree, attributes),
        result => result.map(|()| tree),
    }
}

/// Mounts on it appear nowhere else, and those elsewhere not on it.
pub(super) fn make_private(fd: impl AsFd) -> Result<(), Errno> {
    let attributes = libc::mount_attr { propagation: libc::MS_PRIVATE, ..NO_CHANGE };
    match change(fd.as_fd(), c"", libc::AT_EMPTY_PATH, &attributes) {
        Err(Errno::NOSYS) => older_kernel::make_private(fd),
        result => result,
    }
}

/// Forbids more to an attached mount and all below it.
pub(super) fn restrict(mount: impl AsFd, attributes: Attributes) -> Result<(), Errno> {
    match set(mount.as_fd(), c"", libc::AT_EMPTY_PATH, attributes) {
        Err(Errno::NOSYS) => older_kernel::restrict(mount.as_fd(), attributes),
        result => result,
    }
}

/// As [`restrict`], for the mount at `path`.
pub(super) fn set_at(path: &Path, attributes: Attributes) -> Result<(), Errno> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    match set(CWD, &name, 0, attributes) {
        Err(Errno::NOSYS) => older_kernel::restrict_at(path, attributes),
        result => result,
    }
}

fn set(
    fd: BorrowedFd<'_>,
    path: &CStr,
    flags: libc::c_int,
    attributes: Attributes,
) -> Result<(), Errno> {
    change(fd, path, flags, &libc::mount_attr { attr_set: attributes.0, ..NO_CHANGE })
}

const NO_CHANGE: libc::mount_attr =
    libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };

fn change(
    fd: BorrowedFd<'_>,
    path: &CStr,
    flags: libc::c_int,
    attributes: &libc::mount_attr,
) -> Result<(), Errno> {
    // SAFETY: the path ends with a NUL, and `size_of_val` is the size of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            path.as_ptr(),
            flags | libc::AT_RECURSIVE,
            std::ptr::from_ref(attributes),
            size_of_val(attributes),
        )
    };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}
