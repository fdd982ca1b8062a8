//! What a file keeps when its bytes are replaced: mode, owner, extended attributes.

use std::ffi::CStr;
use std::fs::File;

use rustix::fs::Mode;
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use rustix::process::Gid;
use rustix::process::Uid;

use crate::Refusal;

/// Attributes that the kernel or a security module assigns to a new file by itself, and that a
/// process without privilege may not set: keeping them is tried, failing to is no error.
const ASSIGNED: [&[u8]; 2] = [b"security.", b"trusted."];

/// Copies mode, owner and extended attributes of `old` (of which `stat` was taken) onto `new`.
pub(crate) fn carry_over(
    old: Option<&File>,
    stat: &rustix::fs::Stat,
    new: &File,
) -> Result<(), (Refusal, Errno)> {
    let fresh = rustix::fs::fstat(new).map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    if (fresh.st_uid, fresh.st_gid) != (stat.st_uid, stat.st_gid) {
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::fchown(new, Some(uid), Some(gid))
            .map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    }
    // After the owner: changing the owner clears the set-id bits.
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o7777))
        .map_err(|errno| (Refusal::OwnerNotKeepable, errno))?;
    match old {
        // After the mode: an access list holds the mode's bits too and has the last word.
        Some(old) => {
            copy_xattrs(old, new).map_err(|errno| (Refusal::AttributesNotKeepable, errno))
        }
        None => Ok(()),
    }
}

fn copy_xattrs(old: &File, new: &File) -> Result<(), Errno> {
    let mut names = Vec::new();
    // The list may grow between asking for its size and reading it.
    loop {
        let size = match rustix::fs::flistxattr(old, &mut names) {
            Ok(size) if size <= names.len() && !names.is_empty() => {
                names.truncate(size);
                break;
            }
            Ok(0) => return Ok(()),
            Ok(size) => size,
            Err(Errno::RANGE) => names.len() * 2,
            // A file system without attributes has none to keep.
            Err(Errno::NOTSUP) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        names = vec![0; size.max(64)];
    }
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        match copy_xattr(old, new, name) {
            Ok(()) => {}
            Err(_) if ASSIGNED.iter().any(|prefix| name.to_bytes().starts_with(prefix)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn copy_xattr(old: &File, new: &File, name: &CStr) -> Result<(), Errno> {
    let mut value = vec![0; 4096];
    loop {
        match rustix::fs::fgetxattr(old, name, &mut value) {
            Ok(size) => {
                let value = value.get(..size).unwrap_or(&value);
                return rustix::fs::fsetxattr(new, name, value, XattrFlags::empty());
            }
            Err(Errno::RANGE) if value.len() < (1 << 20) => value = vec![0; value.len() * 4],
            // Removed in between: nothing to keep.
            Err(Errno::NODATA) => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
}
