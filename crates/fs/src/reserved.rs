//! Files that this process reserves for itself: see [`toolwright_reserved`].

use std::os::fd::OwnedFd;

use rustix::fs::Stat;
use toolwright_reserved::FileId;

use crate::open::identity;
use crate::{FsError, FsErrorKind};

/// Fails for a reserved file.
pub(crate) fn check(display_path: &str, stat: &Stat) -> Result<(), FsError> {
    if is_reserved(stat) { Err(FsErrorKind::Reserved.at(display_path)) } else { Ok(()) }
}

pub(crate) fn is_reserved(stat: &Stat) -> bool {
    toolwright_reserved::is_any() && {
        let FileId { device, inode } = identity(stat);
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
