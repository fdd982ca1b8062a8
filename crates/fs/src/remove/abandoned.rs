//! Directories of processes that are gone.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, TryLockError};
use std::time::Instant;

use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

/// One process removes them with one thread.
static BUSY: Mutex<()> = Mutex::new(());

/// Removes the directories in `base` that processes have left which are gone: those whose names begin
/// with `realm`, a hyphen, the number of the process and another hyphen. `realm` says where such a
/// number means what it means here; what is called otherwise cannot be judged from here, and stays.
///
/// # Errors
///
/// As [`super::remove_tree`]. What could be removed before the deadline is; the rest is for a later call.
pub fn remove_abandoned(base: &Path, realm: &str, deadline: Option<Instant>) -> io::Result<()> {
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
        if !process(name, realm).is_some_and(is_gone) {
            continue;
        }
        match super::remove_in(base.as_fd(), name, deadline) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
            removed => outcome = outcome.and(removed),
        }
    }
    outcome
}

fn process(name: &OsStr, realm: &str) -> Option<Pid> {
    let (number, _) = name.to_str()?.strip_prefix(realm)?.strip_prefix('-')?.split_once('-')?;
    Pid::from_raw(number.parse().ok().filter(|number| *number > 0)?)
}

fn is_gone(process: Pid) -> bool {
    rustix::process::test_kill_process(process) == Err(Errno::SRCH)
}
