//! Files that this process keeps for itself: see [`toolwright_reserved`].

use std::os::fd::OwnedFd;

use rustix::fs::Stat;

use crate::FsError;
use crate::open::Identity;

/// Refuses what is reserved.
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

/// Gives an open file back unless it is reserved. One that is was put here since somebody looked, and
/// is not closed.
pub(crate) fn unless_reserved(file: OwnedFd, stat: &Stat) -> Option<OwnedFd> {
    if is_reserved(stat) {
        toolwright_reserved::keep(file);
        return None;
    }
    Some(file)
}
