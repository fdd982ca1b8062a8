//! The file on the host.
//!
//! It is changed in its place, under the lock that git takes. Git renames a new file over the old one.
//! Here that would remove what covers the file in the trees of other commands, and for a moment they
//! could write it themselves. A single write that leaves only empty lines behind, then a cut, has no
//! state in between that git would refuse.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, ftruncate, openat, statat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use toolwright_git::directory::Directory;

use super::file::{MAX_BYTES, Stamp};
use crate::git_reports::GitProblem;

/// How often a lock that another program holds is tried again. Git holds it for a millisecond.
const LOCK_TRIES: usize = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::of(&stat))
}

/// What it says; `None` where there is no file.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    match Directory::open(above) {
        Ok(above) => Ok(above.read(name, MAX_BYTES)?),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether something lies in a directory.
pub(super) fn has_entries(path: &Path) -> bool {
    match Directory::open(path).and_then(|directory| directory.entries(".", 1)) {
        Ok(entries) => entries.is_some_and(|all| !all.is_empty()),
        Err(error) => !error.is_absent(),
    }
}

/// Changes the file, if it is there: `changed` makes the new text of the present one.
#[expect(
    clippy::disallowed_methods,
    reason = "the file is written too: it is opened as `Directory` opens one"
)]
pub(super) fn change(
    path: &Path,
    changed: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), GitProblem> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(GitProblem::NotWritten(Errno::INVAL.raw_os_error()));
    };
    let failed = |errno: Errno| GitProblem::NotWritten(errno.raw_os_error());
    let above = Directory::open(above).map_err(|error| {
        GitProblem::NotWritten(io::Error::from(error).raw_os_error().unwrap_or_default())
    })?;
    let _lock = Lock::take(&above, name)?;
    let file = openat(&above, name, READ | OFlags::RDWR, Mode::empty()).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if !FileType::from_raw_mode(stat.st_mode).is_file() || size > MAX_BYTES {
        return Err(GitProblem::Unreadable);
    }
    // The other name may lie where no command writes.
    if stat.st_nlink != 1 {
        return Err(GitProblem::HasTwin);
    }
    let text = read_whole(&file, size).map_err(failed)?;
    let new = changed(&text).ok_or(GitProblem::Unreadable)?;
    if new == text {
        return Ok(());
    }
    write_whole(&file, new, text.len()).map_err(failed)
}

fn read_whole(file: &OwnedFd, size: u64) -> Result<Vec<u8>, Errno> {
    let mut text = vec![0; usize::try_from(size).map_err(|_| Errno::FBIG)?];
    let mut filled = 0;
    while filled < text.len() {
        match pread(file, &mut text[filled..], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    text.truncate(filled);
    Ok(text)
}

/// Until it is cut, the rest of a longer text is empty lines.
fn write_whole(file: &OwnedFd, mut text: Vec<u8>, before: usize) -> Result<(), Errno> {
    let length = text.len();
    text.resize(length.max(before), b'\n');
    let mut written = 0;
    while written < text.len() {
        match pwrite(file, &text[written..], written as u64) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    ftruncate(file, length as u64)
}

/// The file beside a configuration by which git keeps others from changing it.
struct Lock<'l> {
    above: &'l Directory,
    name: OsString,
}

impl<'l> Lock<'l> {
    #[expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]
    fn take(above: &'l Directory, name: &OsStr) -> Result<Self, GitProblem> {
        let mut lock = name.to_owned();
        lock.push(".lock");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..LOCK_TRIES {
            let mode = Mode::from_raw_mode(0o644);
            match openat(above, &lock, flags | OFlags::CLOEXEC, mode) {
                Ok(_) => return Ok(Self { above, name: lock }),
                Err(Errno::EXIST) => sleep(LOCK_PAUSE),
                Err(errno) => return Err(GitProblem::NotWritten(errno.raw_os_error())),
            }
        }
        Err(GitProblem::Locked)
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(self.above, &self.name, AtFlags::empty());
    }
}
