//! Removes a directory that commands could write to.
//!
//! The commands may have tried to prevent its removal: by directories without permissions, a tree
//! deeper than the longest path or the number of descriptors, links to other directories, pipes,
//! and processes that exchange one for the other meanwhile. So no entry is reached by a path. Each
//! directory is opened in the one above it, no link is followed, and only what was opened is
//! changed. A directory that is too deep is first moved up to the top.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

pub(crate) mod abandoned;

/// Each level takes two descriptors.
const MAX_OPEN_DEPTH: usize = 24;
/// Entries between two looks at the clock.
const ENTRIES_PER_LOOK: u64 = 64;
/// How often to try again when an entry changes meanwhile.
const TRIES: u32 = 4;

/// Removes a directory with everything in it. A link or a file is removed as such.
///
/// # Errors
///
/// `TimedOut` at the deadline, or the error of the first entry that could not be removed and still
/// exists; everything else is removed. A missing directory is not an error.
pub fn remove_tree(path: &Path, deadline: Option<Instant>) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => remove_in(parent.as_fd(), name, deadline),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// As [`remove_tree`], for an entry of an open directory.
pub(crate) fn remove_in(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    deadline: Option<Instant>,
) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let name = CString::new(name.as_bytes())?;
    let mut removal = Removal { deadline, ..Removal::default() };
    removal.entry(parent, &name, FileType::Unknown, &Above::default());
    match removal.failed {
        _ if removal.is_over => Err(io::ErrorKind::TimedOut.into()),
        None => Ok(()),
        Some(errno) => Err(errno.into()),
    }
}

#[derive(Default)]
struct Removal {
    deadline: Option<Instant>,
    /// The deadline has passed.
    is_over: bool,
    /// The device of the tree. What is mounted in it is not a part of it.
    device: Option<i128>,
    /// The number of entries visited.
    looked_at: u64,
    /// The number of entries removed, or moved to the top.
    done: u64,
    /// The first failure.
    failed: Option<Errno>,
}

/// The path to a directory.
#[derive(Default)]
struct Above<'a> {
    /// The top of the tree.
    top: Option<BorrowedFd<'a>>,
    depth: usize,
}

impl Removal {
    /// Removes one entry. A failure is recorded, and the entry stays.
    fn entry(&mut self, parent: BorrowedFd<'_>, name: &CStr, kind: FileType, above: &Above<'_>) {
        let mut is_directory = matches!(kind, FileType::Directory | FileType::Unknown);
        let mut removed = Err(Errno::BUSY);
        for _ in 0..TRIES {
            removed = if is_directory {
                self.directory(parent, name, above)
            } else {
                rustix::fs::unlinkat(parent, name, AtFlags::empty())
            };
            is_directory = match removed {
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) if is_directory => false,
                // Linux returns one, other systems the other.
                Err(Errno::ISDIR | Errno::PERM) if !is_directory => true,
                _ => break,
            };
        }
        match removed {
            Ok(()) => self.done += 1,
            Err(Errno::NOENT) => {}
            Err(error) => self.failed = self.failed.or(Some(error)),
        }
    }

    fn directory(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        above: &Above<'_>,
    ) -> Result<(), Errno> {
        let removed = || rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        match removed() {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
            done => return done,
        }
        let directory = open(parent, name)?;
        let stat = rustix::fs::fstat(&directory)?;
        // Signed on some systems.
        let device = i128::from(stat.st_dev);
        if *self.device.get_or_insert(device) != device {
            return Err(Errno::XDEV);
        }
        // Without these permissions its entries can be neither listed nor removed.
        if !Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU) {
            let _ = rustix::fs::fchmod(&directory, Mode::RWXU);
        }
        if let Some(top) = above.top
            && above.depth >= MAX_OPEN_DEPTH
        {
            return self.move_up(parent, name, top);
        }
        loop {
            let done = self.done;
            self.entries(&directory, above)?;
            match removed() {
                // It contains what was moved into it, or what another process created meanwhile.
                Err(Errno::NOTEMPTY | Errno::EXIST) if self.done > done => {}
                done => return done,
            }
        }
    }

    fn entries(&mut self, directory: &OwnedFd, above: &Above<'_>) -> Result<(), Errno> {
        let within = Above { top: above.top.or(Some(directory.as_fd())), depth: above.depth + 1 };
        let mut listing = Dir::read_from(directory)?;
        while let Some(entry) = listing.read() {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.look_at_the_clock()?;
            self.entry(directory.as_fd(), entry.file_name(), entry.file_type(), &within);
        }
        Ok(())
    }

    /// Overwrites nothing but what is to be removed as well.
    fn move_up(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        top: BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        for attempt in 0.. {
            let to = format!(".toolwright-removed-{}-{attempt}", self.done);
            match rustix::fs::renameat(parent, name, top, to) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => self.look_at_the_clock()?,
                done => return done,
            }
        }
        Err(Errno::EXIST)
    }

    fn look_at_the_clock(&mut self) -> Result<(), Errno> {
        let is_due = self.looked_at.is_multiple_of(ENTRIES_PER_LOOK);
        self.looked_at += 1;
        if is_due && self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.is_over = true;
        }
        if self.is_over { Err(Errno::TIMEDOUT) } else { Ok(()) }
    }
}

/// Opens a directory to list it, even if its owner has no permission to. A pipe is not a directory,
/// and is not waited for.
fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(parent, name)?;
            rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty())
        }
        done => done,
    }
}

/// Gives the owner all permissions on a directory.
#[cfg(target_os = "linux")]
fn unlock(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    // Not every kernel has another name for what is opened like this.
    rustix::fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), Mode::RWXU)
}

/// As above, where a flag keeps links from being followed.
#[cfg(not(target_os = "linux"))]
fn unlock(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
