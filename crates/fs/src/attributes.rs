//! The attributes that a file keeps when its bytes are replaced: mode, owner, extended attributes.

use std::ffi::CStr;
use std::fs::File;

use rustix::fs::{Mode, RawMode, Stat, XattrFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::Refusal;

/// Attributes that the kernel or a security module assigns to a new file, and that an unprivileged
/// process may not set. Failing to copy them is not an error.
const ASSIGNED: [&[u8]; 2] = [b"security.", b"trusted."];

/// Copies mode, owner and extended attributes of `old`, whose status is `stat`, to `new`.
///
/// Without `old` there are no extended attributes to copy.
pub(crate) fn carry_over(
    old: Option<&File>,
    stat: &rustix::fs::Stat,
    new: &File,
) -> Result<(), (Refusal, Errno)> {
    // A directory with a default access list passes it on to every new file. The old file may not
    // have had one, and it must be gone before the mode opens the list's mask.
    remove_inherited(new).map_err(|errno| (Refusal::AttributesNotKeepable, errno))?;
    let fresh = rustix::fs::fstat(new).map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    if (fresh.st_uid, fresh.st_gid) != (stat.st_uid, stat.st_gid) {
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::fchown(new, Some(uid), Some(gid))
            .map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    }
    // After the owner: changing the owner clears the set-id bits.
    set_mode(stat, new).map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    match old {
        // After the mode: an access list contains the mode's bits too and overrides them.
        Some(old) => copy_xattrs(old, new).map_err(|errno| (Refusal::AttributesNotKeepable, errno)),
        None => Ok(()),
    }
}

/// Restores the set-id bits, which writing clears unless a privileged user writes.
pub(crate) fn restore_set_id(stat: &rustix::fs::Stat, new: &File) -> Result<(), Errno> {
    if stat.st_mode & 0o6000 == 0 { Ok(()) } else { set_mode(stat, new) }
}

fn set_mode(stat: &rustix::fs::Stat, new: &File) -> Result<(), Errno> {
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o7777))
}

/// Whether a file that may be written but not read has attributes that would be lost. Whoever can
/// reach the file may see their names, but the descriptor cannot be used to list them directly.
#[cfg(target_os = "linux")]
pub(crate) fn none_beyond_reading(handle: std::os::fd::BorrowedFd<'_>) -> Result<bool, Errno> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let names = listed(|buffer| rustix::fs::listxattr(&link, buffer))?;
    Ok(names_in(&names).all(is_assigned))
}

fn remove_inherited(new: &File) -> Result<(), Errno> {
    let names = listed(|buffer| rustix::fs::flistxattr(new, buffer))?;
    for name in names_in(&names).filter(|name| !is_assigned(name)) {
        match rustix::fs::fremovexattr(new, name) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn copy_xattrs(old: &File, new: &File) -> Result<(), Errno> {
    let names = listed(|buffer| rustix::fs::flistxattr(old, buffer))?;
    for name in names_in(&names) {
        match copy_xattr(old, new, name) {
            Ok(()) => {}
            Err(_) if is_assigned(name) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn is_assigned(name: &CStr) -> bool {
    ASSIGNED.iter().any(|prefix| name.to_bytes().starts_with(prefix))
}

fn names_in(list: &[u8]) -> impl Iterator<Item = &CStr> {
    list.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}

/// The names that `ask` fills in. A file system without attributes has none.
fn listed(ask: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    match filled(ask) {
        Err(Errno::NOTSUP) => Ok(Vec::new()),
        names => names,
    }
}

fn copy_xattr(old: &File, new: &File, name: &CStr) -> Result<(), Errno> {
    match filled(|buffer| rustix::fs::fgetxattr(old, name, buffer)) {
        Ok(value) => rustix::fs::fsetxattr(new, name, &value, XattrFlags::empty()),
        // Removed in between, so there is nothing to copy.
        Err(Errno::NODATA) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// What `ask` fills in, with a buffer that grows until it is large enough.
fn filled(mut ask: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; 256];
    loop {
        match ask(&mut bytes) {
            Ok(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            Err(Errno::RANGE) if bytes.len() < (1 << 20) => bytes = vec![0; bytes.len() * 4],
            Err(errno) => return Err(errno),
        }
    }
}

/// The permissions of a file. The system's own type has 16 bits on macOS and 32 on Linux.
pub(crate) fn permissions(stat: &Stat) -> u32 {
    u32::try_from(i128::from(stat.st_mode) & 0o7777).unwrap_or(0)
}

/// The permissions that [`permissions`] has returned.
pub(crate) fn mode_of(permissions: u32) -> Mode {
    Mode::from_raw_mode(RawMode::try_from(i128::from(permissions) & 0o7777).unwrap_or(0))
}
