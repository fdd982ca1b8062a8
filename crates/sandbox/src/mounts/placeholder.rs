//! What stands for a protected path that does not exist: only what exists can be covered.
//!
//! It is the first missing name on the way, an empty directory or an empty file, and the host sees
//! it too. It carries a mark, a modification time that nobody else gives, which is gone as soon as
//! somebody puts something into it. So one that a killed supervisor has left can be told from an
//! empty directory of the user's. Every supervisor that uses it holds a shared lock on it, and the
//! last one removes it.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RawDir, RenameFlags, Stat, Timespec,
        Timestamps, UTIME_NOW, chmodat, flock, fstat, futimens, mkdirat, mknodat, open, openat,
        renameat_with, statat, unlinkat, utimensat,
    },
    io::Errno,
    mount::{UnmountFlags, unmount},
    process::{geteuid, getpid},
};

use crate::mounts::kernel;

/// Whole and even seconds, which every file system can store: in the year 2001, when nothing of this
/// existed.
const MARK: i64 = 981_173_106;

/// A lock is held alone only while a placeholder is removed. One that is held for longer than these
/// pauses is somebody else's, or of a process that does not run.
const LOCK_PAUSES: [Duration; 300] = {
    let mut pauses = [Duration::from_millis(10); 300];
    let mut short = 0;
    while short < 100 {
        pauses[short] = Duration::from_millis(1);
        short += 1;
    }
    pauses
};

/// Names of files without a dot after the first letter.
const FILES: [&[u8]; 7] = [
    b"config",
    b".env",
    b".gitmodules",
    b".gitconfig",
    b".gitattributes",
    b".profile",
    b"Makefile",
];

const NO_FOLLOW: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// One that this supervisor uses.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    /// Opened through the read-only mount that covers it.
    fd: OwnedFd,
    /// Without a lock nobody can know who else needs it, and it stays.
    locked: bool,
}

impl Placeholder {
    /// Covers the one at `path` and takes part in its use.
    pub(super) fn adopt(path: &Path) -> Result<Self, Errno> {
        // From the lock on nobody removes it, so what is covered after it stays covered.
        let bare = open(path, NO_FOLLOW, Mode::empty())?;
        let locked = lock(&bare)?;
        let place = kernel::open_plain(path)?;
        // The last one to use it may have removed it before the lock.
        if !is_same(&fstat(&bare)?, &fstat(&place)?) {
            return Err(Errno::NOENT);
        }
        kernel::cover_with_itself(place)?;
        let fd = open(path, NO_FOLLOW, Mode::empty())?;
        let locked = locked && lock(&fd)?;
        Ok(Self { path: path.to_owned(), fd, locked })
    }

    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Removes it if it is nobody else's.
    pub(super) fn remove(self) {
        let _ = self.try_remove();
    }

    fn try_remove(&self) -> Result<(), Errno> {
        if !self.locked {
            return Ok(());
        }
        // Fails as long as another supervisor has it.
        flock(&self.fd, FlockOperation::NonBlockingLockExclusive)?;
        // What is a mount point here cannot be removed. It is none if the tree was given up.
        let _ = unmount(&self.path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let parent = open(parent, NO_FOLLOW | OFlags::DIRECTORY, Mode::empty())?;
        let there = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_same(&fstat(&self.fd)?, &there) || !is_marked(&parent, name, &there) {
            return Ok(());
        }
        let flags = if FileType::from_raw_mode(there.st_mode).is_dir() {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        with_write_access(&parent, self.path.parent(), || unlinkat(&parent, name, flags))
    }
}

impl AsFd for Placeholder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether this is a placeholder that nobody has put to use.
pub(super) fn is_marked(parent: &OwnedFd, name: &OsStr, stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !is_unused(stat) {
        return false;
    }
    if kind.is_dir() { is_empty(parent, name) } else { kind.is_file() && stat.st_size == 0 }
}

/// Whether a placeholder is as it was made.
pub(super) fn is_unused(stat: &Stat) -> bool {
    stat.st_mtime == MARK && stat.st_mtime_nsec == 0 && stat.st_nlink > 0
}

fn is_empty(parent: &OwnedFd, name: &OsStr) -> bool {
    let Ok(directory) = openat(parent, name, NO_FOLLOW | OFlags::DIRECTORY, Mode::empty()) else {
        return false;
    };
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            _ => return false,
        }
    }
    true
}

/// Makes one in the directory `parent`, which lies at `at`. It appears marked and complete. False:
/// nothing can be made there, and so nobody else can.
pub(super) fn make(parent: &OwnedFd, at: &Path, name: &OsStr, last: bool) -> Result<bool, Errno> {
    let file = last && is_file_name(name);
    let made = with_write_access(parent, Some(at), || publish(parent, name, file));
    match made {
        Ok(()) | Err(Errno::EXIST) => Ok(true),
        Err(Errno::ROFS | Errno::PERM | Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn publish(parent: &OwnedFd, name: &OsStr, file: bool) -> Result<(), Errno> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let hidden = format!(".toolwright-{}-{}", getpid().as_raw_nonzero(), now.as_nanos());
    create(parent, OsStr::new(&hidden), file)?;
    let renamed = renameat_with(parent, hidden.as_str(), parent, name, RenameFlags::NOREPLACE);
    if renamed.is_ok() {
        return Ok(());
    }
    let flags = if file { AtFlags::empty() } else { AtFlags::REMOVEDIR };
    unlinkat(parent, hidden.as_str(), flags)?;
    match renamed {
        // The file system cannot. Then another supervisor may see it before it is marked, take it
        // for the user's, and so leave it for ever; that is all.
        Err(Errno::INVAL | Errno::NOSYS) => create(parent, name, file),
        renamed => renamed,
    }
}

fn create(parent: &OwnedFd, name: &OsStr, file: bool) -> Result<(), Errno> {
    if file {
        let mode = Mode::from_raw_mode(0o644);
        mknodat(parent, name, FileType::RegularFile, mode, 0)?;
    } else {
        mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
    }
    let mark = Timespec { tv_sec: MARK, tv_nsec: 0 };
    let times = Timestamps { last_access: mark, last_modification: mark };
    // Where the maker is not the owner, as root on a network file system, it stays without a mark.
    // Then it protects as well, but nobody removes it.
    let _ = utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW);
    Ok(())
}

/// A directory without the permission to write is no obstacle to a command of its owner, which can
/// give it to itself. So it is none here either, for a moment.
fn with_write_access(
    directory: impl AsFd,
    path: Option<&Path>,
    act: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    let result = act();
    let (Err(Errno::ACCESS), Some(path)) = (result, path) else { return result };
    let stat = fstat(directory)?;
    if stat.st_uid != geteuid().as_raw() {
        return result;
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    chmodat(CWD, path, mode | Mode::WUSR | Mode::XUSR, AtFlags::empty())?;
    let result = act();
    chmodat(CWD, path, mode, AtFlags::empty())?;
    result
}

/// Whether a missing name is more likely that of a file. Programs on the host meet the placeholder:
/// an empty configuration file does them no harm, a directory in its place does.
fn is_file_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let rest = name.get(1..).unwrap_or_default();
    rest.contains(&b'.') || name.ends_with(b"rc") || FILES.contains(&name)
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
    // Without its mark it is a directory like any other, and nobody removes it after all.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    match futimens(fd, &Timestamps { last_access: now, last_modification: now }) {
        Ok(()) => Err(Errno::NOENT),
        Err(_) => Ok(false),
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
