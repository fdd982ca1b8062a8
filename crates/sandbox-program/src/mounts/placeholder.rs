//! Placeholders for protected paths that do not exist, because only an existing file can be
//! covered.
//!
//! A placeholder takes the first missing name of the path. It is an empty directory, an empty file,
//! or a file that contains only `.`, and the host sees it too. Its mark is a modification time that
//! no other program sets, and which changes as soon as the placeholder is used. The mark
//! distinguishes it from an empty directory of the user, also after a supervisor was killed. Every
//! supervisor that uses a placeholder holds a shared lock on it, and the last one removes it.

mod creation;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

pub(super) use creation::make;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat, Timespec, Timestamps, UTIME_NOW,
    chmod, flock, fstat, futimens, open, openat, statat, unlinkat,
};
use rustix::io::{Errno, read};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::geteuid;

use toolwright_sandbox::plan::PLACEHOLDER_TIME;

use crate::mounts::kernel;

const MARK: i64 = PLACEHOLDER_TIME;

/// A supervisor holds the exclusive lock only while it removes a placeholder. A lock held for
/// longer than these pauses belongs to another program, or to a stopped process.
const LOCK_PAUSES: [Duration; 300] = {
    let mut pauses = [Duration::from_millis(10); 300];
    let mut short = 0;
    while short < 100 {
        pauses[short] = Duration::from_millis(1);
        short += 1;
    }
    pauses
};

/// The content of files that would do harm if they were empty: this directory.
const ITSELF: &[u8] = b".";
/// The content of files that nobody would miss or notice: an empty line.
const NO_LINE: &[u8] = b"\n";

const NO_FOLLOW: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    /// Opened through the read-only mount that covers it.
    fd: OwnedFd,
    /// Whether it is locked. Without a lock no supervisor can know which others need it, and it
    /// stays.
    locked: bool,
}

impl Placeholder {
    /// Covers the one at `path` and takes part in its use.
    pub(super) fn adopt(path: &Path) -> Result<Self, Errno> {
        // The lock keeps others from removing it, so what is covered after it stays covered.
        let bare = open(path, NO_FOLLOW, Mode::empty())?;
        let locked = lock(&bare)?;
        let place = kernel::open_plain(path)?;
        let stat = fstat(&bare)?;
        // The last one to use it may have removed it before the lock, and something else be here now.
        if !is_same(&stat, &fstat(&place)?) || !is_marked(&bare, &stat)? {
            return Err(Errno::NOENT);
        }
        let mut adopted = Self { path: path.to_owned(), fd: bare, locked };
        if let Err(errno) = adopted.cover(place) {
            // Supervisors that waited for this lock may have ended meanwhile.
            adopted.remove();
            return Err(errno);
        }
        Ok(adopted)
    }

    fn cover(&mut self, place: OwnedFd) -> Result<(), Errno> {
        kernel::cover_with_itself(place)?;
        let fd = open(&self.path, NO_FOLLOW, Mode::empty())?;
        self.locked = self.locked && lock(&fd)?;
        self.fd = fd;
        Ok(())
    }

    /// Whether users would notice it.
    pub(super) fn is_visible(&self) -> bool {
        fstat(&self.fd)
            .is_ok_and(|stat| stat.st_size == 0 || FileType::from_raw_mode(stat.st_mode).is_dir())
    }

    /// Whether it is still what covers its path.
    pub(super) fn is_in_place(&self) -> bool {
        let Ok(there) = kernel::open_plain(&self.path) else { return false };
        let is_same = |(one, other): (Stat, Stat)| is_same(&one, &other);
        kernel::is_read_only(&there)
            && fstat(&self.fd).and_then(|own| Ok((own, fstat(&there)?))).is_ok_and(is_same)
    }

    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Removes it, unless another supervisor uses it.
    pub(super) fn remove(self) {
        let _ = self.try_remove();
    }

    fn try_remove(&self) -> Result<(), Errno> {
        if !self.locked {
            return Ok(());
        }
        // Fails as long as another supervisor has it.
        flock(&self.fd, FlockOperation::NonBlockingLockExclusive)?;
        // A mount point cannot be removed. It is no mount point any more if the tree was given up.
        let _ = unmount(&self.path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        let (Some(above), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let parent = kernel::open_plain(above)?;
        let there = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_same(&fstat(&self.fd)?, &there) || !is_marked(&self.fd, &there)? {
            return Ok(());
        }
        let flags = removal(FileType::from_raw_mode(there.st_mode).is_file());
        with_write_access(&parent, || unlinkat(&parent, name, flags))
    }
}

impl AsFd for Placeholder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether `place` is an unused placeholder. Fails for a directory that was removed meanwhile.
pub(super) fn is_marked(place: impl AsFd, stat: &Stat) -> Result<bool, Errno> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !is_unused(stat) {
        return Ok(false);
    }
    if kind.is_dir() {
        return is_empty(place);
    }
    Ok(kind.is_file() && (stat.st_size == 0 || stat.st_size == 1 && says_nothing(&place)))
}

pub(super) fn is_unused(stat: &Stat) -> bool {
    stat.st_mtime == MARK && stat.st_mtime_nsec == 0 && stat.st_nlink > 0
}

fn says_nothing(file: impl AsFd) -> bool {
    // It may be open only as a place.
    let again = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut content = [0; 2];
    let read = open(again, flags, Mode::empty()).and_then(|file| read(file, &mut content));
    read.is_ok_and(|length| [ITSELF, NO_LINE].contains(&&content[..length]))
}

fn is_empty(directory: impl AsFd) -> Result<bool, Errno> {
    let directory = match openat(directory, c".", NO_FOLLOW | OFlags::DIRECTORY, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Err(Errno::NOENT),
        Err(_) => return Ok(false),
    };
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Err(Errno::NOENT) => return Err(Errno::NOENT),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn removal(file: bool) -> AtFlags {
    if file { AtFlags::empty() } else { AtFlags::REMOVEDIR }
}

/// Gives the owner write access to a directory for a moment. A command of the owner could do the
/// same, so the permission protects nothing.
fn with_write_access(
    directory: impl AsFd,
    act: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    let result = act();
    if result != Err(Errno::ACCESS) {
        return result;
    }
    let stat = fstat(&directory)?;
    if stat.st_uid != geteuid().as_raw() {
        return result;
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    // By its descriptor, since another file may have the name by now.
    let open = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    chmod(&open, mode | Mode::WUSR | Mode::XUSR)?;
    let result = act();
    chmod(&open, mode)?;
    result
}

/// Locks it together with others, if the file system can.
fn lock(fd: &OwnedFd) -> Result<bool, Errno> {
    for pause in LOCK_PAUSES {
        match flock(fd, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => sleep(pause),
            Err(Errno::INTR) => {}
            Err(_) => return Ok(false),
        }
    }
    // Without its mark it is an ordinary directory, which no supervisor removes.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    match futimens(fd, &Timestamps { last_access: now, last_modification: now }) {
        Ok(()) => Err(Errno::NOENT),
        Err(_) => Ok(false),
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
