//! Where mounts lie that commands move with the directories above them.

use std::fs::read_link;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Stat, fstat};

use crate::mounts::kernel;

/// How often a path is asked for again, which a command changes between the question and the use.
const TRIES: usize = 100;

/// The path of a mount, and what is there, which has to be as `is_this` says. `None`: the host has removed the
/// directory on which it lies, or has moved that out of sight.
pub(super) fn place_of(
    mount: &OwnedFd,
    directory: &OwnedFd,
    is_this: impl Fn(&Stat) -> bool,
) -> Option<(PathBuf, OwnedFd)> {
    let link = format!("/proc/self/fd/{}", mount.as_raw_fd());
    for _ in 0..TRIES {
        let path = read_link(&link).ok()?;
        if let Ok(place) = kernel::open_plain(&path)
            && is_this(&fstat(&place).ok()?)
        {
            return Some((path, place));
        }
        // A mount that is attached nowhere is its own root.
        if path == Path::new("/") || fstat(directory).ok()?.st_nlink == 0 {
            return None;
        }
    }
    None
}
