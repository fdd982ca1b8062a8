//! Removing a directory that commands could write to.
//!
//! What lies there was made by somebody who may have wished it to stay: directories without
//! permissions, a tree that is deeper than a path can be long or than there are descriptors, links to
//! places elsewhere, pipes, and processes that exchange one for the other meanwhile. So nothing is
//! reached by a path: each directory is opened in the one above it, and no link is followed; what was
//! opened is what is changed. A directory that lies too deep is moved up to the top first.

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
/// Between two looks at the clock.
const ENTRIES_PER_LOOK: u64 = 64;
/// How often an entry is looked at that becomes another one meanwhile.
const TRIES: u32 = 4;

/// Removes a directory with all that is in it; what is a link or a file is removed as such.
///
/// # Errors
///
/// `TimedOut` at the deadline, else what kept the first thing from being removed that is still there;
/// everything else is removed all the same. That there is nothing is no error.
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

/// The same for an entry of an open directory.
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
    /// The time is up.
    is_over: bool,
    /// Of the tree. What is mounted in it is not a part of it.
    device: Option<i128>,
    /// How many entries have been looked at.
    looked_at: u64,
    /// How many have been removed, or moved to the top.
    done: u64,
    /// What kept something from being removed.
    failed: Option<Errno>,
}

/// The way to a directory.
#[derive(Default)]
struct Above<'a> {
    /// The top of the tree.
    top: Option<BorrowedFd<'a>>,
    depth: usize,
}

impl Removal {
    /// Removes one entry. What cannot be removed stays, and is remembered as a failure.
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
                // Linux says the one, and others the other.
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
        // Without these its entries can neither be seen nor be removed.
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
                // There is what was moved here, or what somebody made meanwhile.
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

    /// Nothing is overwritten but what is to be removed as well.
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

/// Opens a directory to look into it, also one whose owner has taken that right away from himself. A
/// pipe is no directory, and not waited for.
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

/// Gives a directory back to its owner.
#[cfg(target_os = "linux")]
fn unlock(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let found = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    // What is open like this has no other name for it that every kernel knows.
    rustix::fs::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)
}

/// The same where a link can be left unfollowed by a flag.
#[cfg(not(target_os = "linux"))]
fn unlock(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
