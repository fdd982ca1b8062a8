//! Files behind links.

#![expect(clippy::disallowed_methods, reason = "this is the way to open")]

use std::fs::File;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, openat};
use rustix::io::Errno;

use super::{FILE, ReadError, absent, content, regular};

/// Opens the regular file to which a path leads. `None`: there is none.
///
/// A link may lead to a device, and opening that can have an effect. So the file is looked at before it is
/// opened for reading, and what is opened is what was looked at.
pub fn open_followed(path: &Path) -> Result<Option<(File, Stat)>, ReadError> {
    match absent(open(path))? {
        Some(opened) => regular(opened).map(Some),
        None => Ok(None),
    }
}

/// Reads the regular file to which a path leads, of at most `limit` bytes. `None`: there is none.
pub fn read_followed(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let Some((file, stat)) = open_followed(path)? else { return Ok(None) };
    content(file, &stat, limit).map(Some)
}

#[cfg(target_os = "linux")]
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{FileType, fstat};
    let found = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&found)?.st_mode).is_file() {
        return Err(Errno::XDEV);
    }
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    match openat(CWD, again, FILE.difference(OFlags::NOFOLLOW), Mode::empty()) {
        // There is no `/proc`.
        Err(Errno::NOENT) => openat(CWD, path, FILE.difference(OFlags::NOFOLLOW), Mode::empty()),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, FILE.difference(OFlags::NOFOLLOW), Mode::empty())
}
