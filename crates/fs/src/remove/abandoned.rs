//! Removes the directories of processes that have ended.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, TryLockError};
use std::time::Instant;

use rustix::fs::{CWD, Dir, Mode, OFlags};
use toolwright_process::ShortId;

/// One thread of a process removes them.
static BUSY: Mutex<()> = Mutex::new(());

/// Removes the directories in `base` whose names begin with the [`ShortId`] of an ended process and
/// a hyphen. Other names stay, and so do those of processes that cannot be judged from here.
///
/// # Errors
///
/// As [`super::remove_tree`]. What could be removed before the deadline is; the rest is left to a
/// later call.
pub fn remove_abandoned(base: &Path, deadline: Option<Instant>) -> io::Result<()> {
    let _busy = match BUSY.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(()),
        lock => lock,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let base = rustix::fs::openat(CWD, base, flags, Mode::empty())?;
    let mut listing = Dir::read_from(&base)?;
    let mut outcome = Ok(());
    while let Some(entry) = listing.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let owner = name.to_str().and_then(ShortId::parse_prefix).map(|(owner, _)| owner);
        if owner.and_then(|owner| owner.is_running()) != Some(false) {
            continue;
        }
        match super::remove_in(base.as_fd(), name, deadline) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
            removed => outcome = outcome.and(removed),
        }
    }
    outcome
}
