//! Files that this process reserves for itself: see [`toolwright_reserved`].

use std::os::fd::OwnedFd;

use rustix::fs::Stat;

use crate::FsError;
use crate::open::Identity;

/// Fails for a reserved file.
pub(crate) fn check(display_path: &str, stat: &Stat) -> Result<(), FsError> {
    if is_reserved(stat) {
        Err(FsError::Reserved { path: display_path.to_owned() })
    } else {
        Ok(())
    }
}

pub(crate) fn is_reserved(stat: &Stat) -> bool {
    toolwright_reserved::is_any() && {
        let Identity { device, inode } = Identity::of(stat);
        toolwright_reserved::holds(device, inode)
    }
}

/// Returns an open file unless it is reserved. A reserved one was put here since it was checked,
/// and is not closed.
pub(crate) fn unless_reserved(file: OwnedFd, stat: &Stat) -> Option<OwnedFd> {
    if is_reserved(stat) {
        toolwright_reserved::keep(file);
        return None;
    }
    Some(file)
}
