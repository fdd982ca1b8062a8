//! Making a directory of files where another one is empty: all of it, or nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Deref;

use rustix::fs::{AtFlags, FlockOperation, Mode, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use crate::directory::{Directory, ReadError};
use crate::import::read::Failure;
use crate::transaction::failpoint;
use crate::transaction::files::remove_all;

/// Where everything is written.
pub(super) const NEW: &str = "toolwright.new";
/// Its name when it is whole.
const MADE: &str = "toolwright.made";
/// What makes a repository of all the rest.
const LAST: &str = "HEAD";

/// What a recovery has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing that was begun.
    Nothing,
    /// A repository that was whole. It is in its place now.
    Finished,
    /// A repository that was not whole. It is gone.
    TakenBack,
    /// A process that is about to make a repository.
    Alive,
}

/// Whether a process has begun to make a repository here.
pub(in crate::import) fn is_begun(git: &Directory) -> bool {
    [NEW, MADE].iter().any(|name| !is_absent(git, name).unwrap_or(true))
}

/// Finishes a repository that a killed process has made, or takes it back.
pub(in crate::import) fn recover(git: &Directory) -> io::Result<Found> {
    if is_absent(git, NEW)? && is_absent(git, MADE)? {
        return Ok(Found::Nothing);
    }
    match lock(git)? {
        Some(lock) => recover_locked(&lock),
        None => Ok(Found::Alive),
    }
}

fn recover_locked(git: &Directory) -> io::Result<Found> {
    let mut found = Found::Nothing;
    if !is_absent(git, NEW)? {
        remove_all(git, OsStr::new(NEW))?;
        found = Found::TakenBack;
    }
    if let Some(made) = git.below(MADE)? {
        for name in names(&made)? {
            match rename(&made, &name, git) {
                // Somebody has made a repository here meanwhile, and what is there is that one's.
                Ok(()) | Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        remove_all(git, OsStr::new(MADE))?;
        found = Found::Finished;
    }
    Ok(found)
}

/// A directory of the host that is locked.
#[derive(Debug)]
struct Locked(Directory);

impl Deref for Locked {
    type Target = Directory;

    fn deref(&self) -> &Directory {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // A process that another thread has just forked has the descriptor too, until it starts its program.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A directory that is being written.
#[derive(Debug)]
pub(super) struct Staging {
    /// The host's directory.
    git: Locked,
    directory: Directory,
    is_published: bool,
}

/// Begins in a directory that must be empty. `None`: another process has begun.
pub(super) fn begin(git: &Directory) -> Result<Option<Staging>, Failure> {
    let Some(git) = lock(git)? else { return Ok(None) };
    recover_locked(&git)?;
    if !names(&git)?.is_empty() {
        return Err(taken());
    }
    failpoint::pass();
    rustix::fs::mkdirat(&*git, NEW, Mode::from(0o700)).map_err(io::Error::from)?;
    let directory = git.below(NEW)?.ok_or_else(taken)?;
    Ok(Some(Staging { git, directory, is_published: false }))
}

impl Staging {
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Moves everything to its place.
    pub(super) fn publish(mut self) -> Result<(), Failure> {
        if names(&self.git)? != [NEW] {
            return Err(taken());
        }
        failpoint::pass();
        let flags = RenameFlags::empty();
        renameat_with(&*self.git, NEW, &*self.git, MADE, flags).map_err(io::Error::from)?;
        let mut moved: Vec<OsString> = Vec::new();
        for name in names(&self.directory)? {
            if let Err(errno) = rename(&self.directory, &name, &self.git) {
                // Somebody makes a repository here in this moment.
                for name in moved {
                    let _ = rename(&self.git, &name, &self.directory);
                }
                let _ = remove_all(&self.git, OsStr::new(MADE));
                self.is_published = true;
                return Err(if errno == Errno::EXIST {
                    taken()
                } else {
                    io::Error::from(errno).into()
                });
            }
            moved.push(name);
        }
        self.is_published = true;
        // An empty directory, which the next recovery removes if it is left.
        let _ = remove_all(&self.git, OsStr::new(MADE));
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_published {
            // What cannot be removed now is removed by the next recovery.
            let _ = remove_all(&self.git, OsStr::new(NEW));
        }
    }
}

fn taken() -> Failure {
    Failure::Unreadable("something else is in its place".to_owned())
}

/// Locks a directory until the result is dropped. `None`: another process has the lock.
fn lock(git: &Directory) -> io::Result<Option<Locked>> {
    // A lock is one of what was opened, so that it is opened anew.
    let own = git.below(".")?.ok_or(io::ErrorKind::NotFound)?;
    match flock(&own, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Locked(own))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn is_absent(git: &Directory, name: &str) -> io::Result<bool> {
    Ok(git.entry(name)?.is_none())
}

/// The names in a directory, `HEAD` last.
fn names(directory: &Directory) -> Result<Vec<OsString>, ReadError> {
    let entries = directory.entries(".", usize::MAX)?.unwrap_or_default();
    let mut names: Vec<OsString> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort_by_key(|name| name == LAST);
    Ok(names)
}

/// Moves an entry, and replaces none.
fn rename(from: &Directory, name: &OsStr, to: &Directory) -> Result<(), Errno> {
    failpoint::pass();
    match renameat_with(from, name, to, name, RenameFlags::NOREPLACE) {
        // A file system without this flag.
        Err(Errno::INVAL | Errno::NOSYS) => {
            if rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(Errno::EXIST);
            }
            rustix::fs::renameat(from, name, to, name)
        }
        renamed => renamed,
    }
}
