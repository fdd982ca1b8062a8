//! The border around git's own directories: nothing in them is changed, and nothing becomes one.
//!
//! git runs and obeys what lies in its directory, so a file there is a program that a person starts later. Two
//! kinds of directories are git's own. One has a name that some file system takes for `.git`. The other has any
//! name and the entries by which git knows it: a bare repository can be made of ordinary files.
//!
//! The first kind is judged by the real path of what was opened. The second is judged in the open directory, and
//! the file system itself answers what is there. Only a new name can make such a directory, so each new name is
//! judged directly before it is given. Calls that give one of the few names that count wait for each other:
//! otherwise each of them could give a part while none sees the whole.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use toolwright_git::name::{Mark, holds_git_name, is_git_directory_name, makes_git_directory};
use toolwright_reserved::FileId;

use crate::error::GitRule;
use crate::open::identity;
use crate::publish::OpenDirectory;
use crate::root::O_PATH;
use crate::{Durability, FsError, FsErrorKind};

/// Whether git's own directories are closed to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitBorder {
    /// Nothing in them is changed, and nothing becomes one.
    Closed,
    /// They are like others.
    #[default]
    Open,
}

/// Held by a call that gives a name by which git knows its directory.
static GIVING: Mutex<()> = Mutex::new(());

/// A name that may be given while this exists.
#[derive(Debug)]
pub struct NewName {
    _directory: Option<OwnedFd>,
    _giving: Option<MutexGuard<'static, ()>>,
}

impl GitBorder {
    fn is_open(self) -> bool {
        self == Self::Open
    }

    /// Judges a path without links, by its names.
    #[must_use]
    pub fn rule_of_path(self, path: &Path) -> Option<GitRule> {
        (self == Self::Closed && holds_git_name(path)).then_some(GitRule::Name)
    }

    /// Judges a directory in which something is to be changed, and those around it up to the one that is `top`.
    pub fn rule_around(
        self,
        directory: impl AsFd,
        top: impl AsFd,
    ) -> Result<Option<GitRule>, Errno> {
        if self.is_open() {
            return Ok(None);
        }
        self.rule_up_to(directory.as_fd(), identity(&rustix::fs::fstat(top)?))
    }

    pub(crate) fn rule_up_to(
        self,
        directory: BorrowedFd<'_>,
        top: FileId,
    ) -> Result<Option<GitRule>, Errno> {
        if self.is_open() {
            return Ok(None);
        }
        let mut held;
        let mut here = directory;
        let mut last = None;
        loop {
            if is_git_directory(here)? {
                return Ok(Some(GitRule::Below));
            }
            let current = identity(&rustix::fs::fstat(here)?);
            // The root of the system is its own parent.
            if current == top || last == Some(current) {
                return Ok(None);
            }
            last = Some(current);
            let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            held = rustix::fs::openat(here, "..", flags, Mode::empty())?;
            here = held.as_fd();
        }
    }

    /// Judges a name in a directory that may be new there.
    pub fn rule_of_new(self, directory: impl AsFd, name: &OsStr) -> Result<Option<GitRule>, Errno> {
        if self.is_open() {
            return Ok(None);
        }
        if is_git_directory_name(name.as_bytes()) {
            return Ok(Some(GitRule::Name));
        }
        let Some(mark) = Mark::of(name.as_bytes()) else { return Ok(None) };
        let completes = is_git_directory_with(directory.as_fd(), |one| *one == mark)?;
        Ok(completes.then_some(GitRule::Completes))
    }

    /// Judges a directory that is to get several names at once. `directory` is the one that is there.
    pub(crate) fn check_all_new(
        self,
        display_path: &str,
        directory: Option<BorrowedFd<'_>>,
        marks: &[Mark],
    ) -> Result<(), FsError> {
        let has = |mark: &Mark| marks.contains(mark);
        let completes = match directory {
            _ if self.is_open() => Ok(false),
            Some(directory) => is_git_directory_with(directory, has),
            None => makes_git_directory(|mark| Ok(has(&mark))),
        };
        settle(display_path, completes.map(|completes| completes.then_some(GitRule::Completes)))
    }

    /// Waits for other calls of this process that give a name by which git knows a directory, if this one gives
    /// or takes one.
    #[must_use]
    pub fn turn<'n>(
        self,
        names: impl IntoIterator<Item = &'n OsStr>,
    ) -> Option<MutexGuard<'static, ()>> {
        let mut names = names.into_iter();
        let counts = !self.is_open() && names.any(|name| Mark::of(name.as_bytes()).is_some());
        counts.then(|| GIVING.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has other processes of this library wait with such a name in a directory. One that cannot be locked is not
    /// waited for.
    pub(crate) fn lock(self, directory: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
        if self.is_open() || Mark::of(name.as_bytes()).is_none() {
            return None;
        }
        let directory = OpenDirectory::new(directory, "", Durability::Process).ok()?;
        directory.hold(&AtomicBool::new(false), Duration::from_secs(1))
    }

    /// Judges a name that is about to be given in a directory. It has to be given while the result exists.
    pub(crate) fn new_name(
        self,
        display_path: &str,
        directory: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<NewName, FsError> {
        let giving = self.turn([name]);
        let locked = self.lock(directory, name);
        self.check_new(display_path, directory, name)?;
        Ok(NewName { _directory: locked, _giving: giving })
    }

    /// As [`Self::new_name`], for a caller that has locked the directory, or only looks ahead.
    pub(crate) fn check_new(
        self,
        display_path: &str,
        directory: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<(), FsError> {
        settle(display_path, self.rule_of_new(directory, name))
    }

    pub(crate) fn check_path(self, display_path: &str, path: &Path) -> Result<(), FsError> {
        settle(display_path, Ok(self.rule_of_path(path)))
    }

    pub(crate) fn check_up_to(
        self,
        display_path: &str,
        directory: BorrowedFd<'_>,
        top: FileId,
    ) -> Result<(), FsError> {
        settle(display_path, self.rule_up_to(directory, top))
    }

    /// Fails if a directory of git lies anywhere in a directory that is to be moved or deleted as a whole.
    pub(crate) fn check_tree(self, display_path: &str, directory: &OwnedFd) -> Result<(), FsError> {
        if self.is_open() || !holds_git(directory, 0) {
            return Ok(());
        }
        Err(FsErrorKind::Git { rule: GitRule::Around }.at(display_path))
    }
}

fn settle(display_path: &str, rule: Result<Option<GitRule>, Errno>) -> Result<(), FsError> {
    match rule {
        Ok(None) => Ok(()),
        Ok(Some(rule)) => Err(FsErrorKind::Git { rule }.at(display_path)),
        Err(errno) => Err(FsError::at(display_path, "looking for a repository", errno)),
    }
}

/// Whether git takes a directory for its own by its entries.
pub fn is_git_directory(directory: impl AsFd) -> Result<bool, Errno> {
    is_git_directory_with(directory.as_fd(), |_| false)
}

/// Whether git would take a directory for its own with some entries more.
fn is_git_directory_with(
    directory: BorrowedFd<'_>,
    with: impl Fn(&Mark) -> bool,
) -> Result<bool, Errno> {
    makes_git_directory(|mark| {
        if with(&mark) {
            return Ok(true);
        }
        match rustix::fs::statat(directory, mark.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    })
}

/// How deep a tree is searched. A deeper one counts as holding a directory of git.
const MAX_DEPTH: usize = 128;

/// Whether a directory of git lies in a directory. What cannot be listed counts as holding one.
fn holds_git(directory: &OwnedFd, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let Ok(mut listing) = Dir::read_from(directory) else { return true };
    let mut marks = Vec::new();
    while let Some(entry) = listing.read() {
        let Ok(entry) = entry else { return true };
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if is_git_directory_name(name) {
            return true;
        }
        marks.extend(Mark::of(name));
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat =
                    rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            kind => kind,
        };
        if kind == FileType::Directory {
            match crate::entry::open_directory(directory.as_fd(), entry.file_name()) {
                Ok(inner) if !holds_git(&inner, depth + 1) => {}
                Err(Errno::NOENT) => {}
                _ => return true,
            }
        }
    }
    makes_git_directory(|mark| Ok::<_, Errno>(marks.contains(&mark))).unwrap_or(true)
}
