//! Makes the steps of a plan, undoes them, and removes what they leave.
//!
//! The call that made the plan works with the directories that it opened. A later call, which finishes
//! the plan of a killed process, opens them again below the directory of the plan, without links.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::plan::Plan;
use super::step::{Position, Step, StepKind, Work, look};
use crate::error::GitRule;
use crate::publish::OpenDirectory;
use crate::root::O_PATH;
use crate::temporary::{Residue, SetId};
use crate::{Durability, GitBorder, reserved};

/// The most directories that are open at once when a plan is finished later.
const MAX_OPEN: usize = 64;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A plan at work.
pub(super) struct Execution<'a> {
    /// The directory of the plan.
    pub(super) base: BorrowedFd<'a>,
    pub(super) set: SetId,
    pub(super) plan: &'a Plan,
    /// The directories that are open, by their index.
    pub(super) open: RefCell<HashMap<usize, Arc<OwnedFd>>>,
    /// The directories that this call has made, with the directory that each is in.
    pub(super) made: Vec<(Arc<OwnedFd>, OsString)>,
    /// Whether git's own directories are closed.
    pub(super) git: GitBorder,
    /// The index of the directory that this call has locked already.
    pub(super) locked: Option<usize>,
    /// Directories that can be locked, by their index.
    pub(super) lockable: RefCell<HashMap<usize, Rc<OpenDirectory>>>,
    /// The plan is another process's: only directories with a mark of it are touched.
    pub(super) is_later: bool,
    pub(super) durability: Durability,
}

impl Execution<'_> {
    /// Opens a directory of the plan; `None` if it is gone.
    pub(super) fn directory(&self, index: usize) -> Result<Option<Arc<OwnedFd>>, Errno> {
        if let Some(open) = self.open.borrow().get(&index) {
            return Ok(Some(Arc::clone(open)));
        }
        // What this call has not opened it has not changed.
        let Some(path) = self.plan.directories.get(index).filter(|_| self.is_later) else {
            return Ok(None);
        };
        let Some(directory) = open_below(self.base, path)? else { return Ok(None) };
        let directory = Arc::new(directory);
        let mut open = self.open.borrow_mut();
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(index, Arc::clone(&directory));
        Ok(Some(directory))
    }

    /// Whether a directory has the mark of the set. Whoever can put one there could do what the plan
    /// does; a plan alone proves nothing, because a command may have made it up.
    fn is_marked(&self, directory: BorrowedFd<'_>) -> Result<bool, Errno> {
        Ok(!self.is_later || look(directory, OsStr::new(&self.set.mark()))?.is_some())
    }

    /// Runs `act` on a step in its locked directory. `None` if the directory is gone.
    pub(super) fn at<T>(
        &self,
        step: &Step,
        act: impl FnOnce(Work<'_>) -> Result<T, Errno>,
    ) -> Result<Option<T>, Errno> {
        let Some(directory) = self.directory(step.directory)? else { return Ok(None) };
        let directory = directory.as_fd();
        let work = Work { step, directory, set: self.set };
        if self.locked == Some(step.directory) {
            return act(work).map(Some);
        }
        let open = self.lockable(step.directory, directory);
        let _alone = open.as_ref().map(|open| open.lock("", Duration::from_secs(1), &NEVER));
        act(work).map(Some)
    }

    /// A descriptor to lock a directory with. Without one there is no lock, and files are put back even
    /// then.
    fn lockable(&self, index: usize, directory: BorrowedFd<'_>) -> Option<Rc<OpenDirectory>> {
        let mut all = self.lockable.borrow_mut();
        if let Some(open) = all.get(&index) {
            return Some(Rc::clone(open));
        }
        let open = Rc::new(OpenDirectory::new(directory, "", Durability::Process).ok()?);
        if all.len() >= MAX_OPEN {
            all.clear();
        }
        all.insert(index, Rc::clone(&open));
        Some(open)
    }

    /// Makes the steps that are not made yet. False if one of them cannot be made.
    pub(super) fn go_on(&self) -> Result<bool, Errno> {
        let mut rest = Vec::new();
        for step in &self.plan.steps {
            match self.at(step, |work| {
                self.unless_foreign(&work)?;
                work.position()
            })? {
                Some(Position::Conflict) => return Ok(false),
                Some(Position::Before) => rest.push(step),
                // Without its directory the file is gone, whatever this step did.
                Some(Position::After) | None => {}
            }
        }
        for step in rest {
            let made = self.at(step, |work| {
                if step.kind == StepKind::Create && self.rule_of(&work)?.is_some() {
                    return Ok(false);
                }
                work.make(|name| {
                    look(work.directory, name).is_ok_and(|current| current == step.out)
                })
            })?;
            if made == Some(false) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why git's own directories forbid a step that gives a name.
    pub(super) fn rule_of(&self, work: &Work<'_>) -> Result<Option<GitRule>, Errno> {
        self.git.rule_of_new(work.directory, &work.step.name)
    }

    /// Undoes the steps, the last one first, and removes the directories that were made.
    pub(super) fn undo(&self) -> Result<(), Errno> {
        for step in self.plan.steps.iter().rev() {
            self.at(step, |work| {
                // Without a mark this directory is through.
                if self.is_marked(work.directory)? {
                    self.unless_foreign(&work)?;
                    work.undo()?;
                }
                Ok(())
            })?;
        }
        self.sync()?;
        self.unmark()?;
        self.remove_made();
        Ok(())
    }

    /// Removes what a set has left that is done.
    pub(super) fn clean(&self) -> Result<(), Errno> {
        for step in &self.plan.steps {
            let Some(directory) = self.directory(step.directory)? else { continue };
            if self.is_marked(directory.as_fd())? {
                Work { step, directory: directory.as_fd(), set: self.set }.clean()?;
            }
        }
        self.unmark()?;
        self.remove_directories(&self.plan.emptied);
        Ok(())
    }

    /// Removes what a set has left that was not committed. Its own process knows its steps; a later
    /// one looks for them.
    pub(super) fn abandon(&self) -> Result<(), Errno> {
        for step in &self.plan.steps {
            if let Some(directory) = self.directory(step.directory)? {
                unlink(directory.as_fd(), OsStr::new(&self.set.step(step.sequence)))?;
            }
        }
        if self.is_later {
            for index in 0..self.plan.directories.len() {
                let Some(directory) = self.directory(index)? else { continue };
                if self.is_marked(directory.as_fd())? {
                    remove_members(directory.as_fd(), self.set)?;
                }
            }
        }
        self.unmark()?;
        self.remove_made();
        Ok(())
    }

    /// Waits until every directory is on the disk, if that is asked for.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        if self.durability != Durability::Fsync {
            return Ok(());
        }
        for index in 0..self.plan.directories.len() {
            if let Some(directory) = self.directory(index)? {
                sync_directory(directory.as_fd())?;
            }
        }
        sync_directory(self.base)
    }

    fn unmark(&self) -> Result<(), Errno> {
        let mark = self.set.mark();
        for index in 0..self.plan.directories.len() {
            if let Some(directory) = self.directory(index)? {
                unlink(directory.as_fd(), OsStr::new(&mark))?;
            }
        }
        Ok(())
    }

    /// Removes the directories that were made, if they are empty. This call needs no descriptors for
    /// that.
    fn remove_made(&self) {
        if self.is_later {
            self.remove_directories(&self.plan.made);
        }
        for (parent, name) in self.made.iter().rev() {
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }

    /// Removes directories that are empty, inner ones first.
    fn remove_directories(&self, paths: &[PathBuf]) {
        for path in paths.iter().rev() {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            if let Ok(Some(parent)) = open_below(self.base, parent) {
                let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
            }
        }
    }

    /// Refuses what no plan of this library does: files without a mark, and files that the process
    /// reserves.
    fn unless_foreign(&self, work: &Work<'_>) -> Result<(), Errno> {
        if self.is_later {
            let name = &*work.step.name;
            let current = rustix::fs::statat(work.directory, name, AtFlags::SYMLINK_NOFOLLOW);
            if !self.is_marked(work.directory)?
                || current.is_ok_and(|stat| reserved::is_reserved(&stat))
            {
                return Err(Errno::PERM);
            }
        }
        Ok(())
    }
}

/// Opens a directory below another one without following a link; `None` if it is not there.
pub(crate) fn open_below(base: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut open = rustix::io::fcntl_dupfd_cloexec(base, 0)?;
    for name in path {
        open = match rustix::fs::openat(&open, name, flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => return Ok(None),
            Err(errno) => return Err(errno),
        };
    }
    Ok(Some(open))
}

fn remove_members(directory: BorrowedFd<'_>, set: SetId) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut listing = Dir::new(rustix::fs::openat(directory, ".", flags, Mode::empty())?)?;
    let mark = OsString::from(set.mark());
    while let Some(entry) = listing.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if Residue::parse(name.as_bytes()) == Some(Residue::Member(set)) && name != mark {
            unlink(directory, name)?;
        }
    }
    Ok(())
}

pub(super) fn sync_directory(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::fsync(rustix::fs::openat(directory, ".", flags, Mode::empty())?)
}

fn unlink(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}
