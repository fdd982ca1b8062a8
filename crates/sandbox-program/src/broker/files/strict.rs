//! What git on the host would obey while a command runs.
//!
//! Git takes a directory for a repository by a `.git` in it, or by the names of its own entries. Under a strict plan no
//! call of a command adds the entry that would be decisive: neither a file or link of the first name, nor the last of
//! the others. Who adds one of the others has the directory locked while it looks at those that are there, so two
//! brokers do not add one each.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, fstat, openat, readlinkat};
use rustix::io::Errno;
use toolwright_git::name::{Mark, is_git_directory_name, makes_git_directory};
use toolwright_sandbox::refused_git::RefusedGit;

use super::resolve::Place;
use super::supervisor_socket::SupervisorSocket;
use crate::mounts::names;

/// How often a directory is tried that another broker has locked, a millisecond each. It has it for less.
const TRIES: usize = 50;

/// Keeps the host from obeying what commands make.
#[derive(Debug, Default)]
pub(super) struct Strict {
    refused: RefCell<Vec<RefusedGit>>,
}

impl Strict {
    /// What was refused since this was last asked.
    pub(super) fn take_refused(&self) -> Vec<RefusedGit> {
        self.refused.take()
    }

    fn refuse(&self, refused: Option<RefusedGit>) -> Errno {
        self.refused.borrow_mut().extend(refused);
        Errno::PERM
    }

    /// Refuses a file or link at a place whose name git takes for `.git`, if the host sees it.
    pub(super) fn check_link(
        &self,
        place: &Place,
        supervisor: &SupervisorSocket,
    ) -> Result<(), Errno> {
        if place.is_git_directory() && !is_hidden(&place.above()?, supervisor) {
            return Err(self.refuse(path_of(place).map(RefusedGit::Link)));
        }
        Ok(())
    }

    /// Refuses to write to a file by that name, or to give it another name, if the host sees it. A descriptor says by
    /// which name the file was found, whatever links led there.
    pub(super) fn check_file(
        &self,
        file: impl AsFd,
        supervisor: &SupervisorSocket,
    ) -> Result<(), Errno> {
        let path = path_of_descriptor(&file)?;
        let is_git = path.file_name().is_some_and(|name| is_git_directory_name(name.as_bytes()));
        if is_git && !is_hidden(file, supervisor) {
            return Err(self.refuse(Some(RefusedGit::Link(path))));
        }
        Ok(())
    }

    /// Adds an entry to a directory, unless that would make it one of git which the host sees.
    pub(super) fn add<T>(
        &self,
        place: &Place,
        supervisor: &SupervisorSocket,
        add: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let Some(mark) = Mark::of(place.plain_name()) else { return add() };
        let above = place.above()?;
        if is_hidden(&above, supervisor) {
            return add();
        }
        let refuse = || self.refuse(path_of(place).map(RefusedGit::Form));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        // What cannot be looked at or locked is taken for the worst.
        let locked = openat(&above, c".", flags, Mode::empty()).map_err(|_| refuse())?;
        lock(&locked).map_err(|_| refuse())?;
        let entries = names(&locked).map_err(|_| refuse())?;
        let there: Vec<Mark> =
            entries.iter().filter_map(|name| Mark::of(name.as_bytes())).collect();
        let makes = |new: Option<Mark>| {
            let has = |one| Ok::<_, Errno>(there.contains(&one) || new == Some(one));
            makes_git_directory(has).unwrap_or(true)
        };
        if makes(Some(mark)) && !makes(None) { Err(refuse()) } else { add() }
    }
}

/// The lock ends with the descriptor.
fn lock(directory: impl AsFd) -> Result<(), Errno> {
    for _ in 0..TRIES {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(1)),
            result => return result,
        }
    }
    Err(Errno::BUSY)
}

/// Whether the host does not see what lies in the file system of a descriptor. Where that is not known, it does.
fn is_hidden(of: impl AsFd, supervisor: &SupervisorSocket) -> bool {
    fstat(of).and_then(|stat| supervisor.is_hidden(stat.st_dev)).unwrap_or(false)
}

/// The path of a place.
pub(super) fn path_of(place: &Place) -> Option<PathBuf> {
    let above = path_of_descriptor(place.above().ok()?).ok()?;
    Some(above.join(OsStr::from_bytes(place.plain_name())))
}

/// Where a descriptor was opened.
pub(super) fn path_of_descriptor(of: impl AsFd) -> Result<PathBuf, Errno> {
    let path = format!("/proc/self/fd/{}", of.as_fd().as_raw_fd());
    let path = readlinkat(CWD, path, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}
