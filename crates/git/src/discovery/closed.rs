//! Directories that may be entered and not read.
//!
//! Git needs no more than that: it opens what it looks for by its name. A look that could not read such a
//! directory would miss what is in it.

use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, chmodat, fstat};

use crate::directory::Directory;

/// Lets the owner of a directory read it, if he may enter it and not read it. Returns whether something was changed.
pub(super) fn open_to_owner(top: &Directory, path: &Path) -> bool {
    let Ok(Some(directory)) = top.place(path) else { return false };
    let Ok(found) = fstat(&directory) else { return false };
    let mode = Mode::from_raw_mode(found.st_mode);
    let is_closed = mode.contains(Mode::XUSR) && !mode.contains(Mode::RUSR);
    if !FileType::from_raw_mode(found.st_mode).is_dir() || !is_closed {
        return false;
    }
    // A descriptor that is for the path alone has no other way to this.
    let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
    chmodat(CWD, name, mode | Mode::RUSR, AtFlags::empty()).is_ok()
}
