//! The steps of a restoration at work.

#![expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use toolwright_fs::{GitBorder, GitRule};

use super::attributes::{set_attributes, set_attributes_if, set_link_attributes, times};
use super::{Step, split};
use crate::content;
use crate::descent::Descent;
use crate::diff::path_of;
use crate::error::{Result, Tx};
use crate::look::{Look, UNSETTLED};
use crate::plan::{Item, Plan, Restore};
use crate::state::{State, What};
use crate::swap::{self, Print, StepNames, place};
use crate::take::Writing;
use crate::{CheckpointError, Checkpoints, Progress};

/// The steps at work.
pub(super) struct Work<'a> {
    pub(super) store: &'a Checkpoints,
    pub(super) id: i64,
    pub(super) steps: Vec<Step<'a>>,
    pub(super) descent: Descent<'a>,
    /// The directories whose entries have changed.
    pub(super) touched: BTreeSet<Vec<u8>>,
    pub(super) done: Vec<usize>,
    /// The steps that git's own directories forbid.
    pub(super) refused: BTreeMap<i64, GitRule>,
}

impl Checkpoints {
    /// The names that a step uses.
    pub(crate) fn step_names(&self, restore: i64, step: i64) -> StepNames {
        let prefix = format!(".toolwright-{}-{restore:x}-{step:x}", self.id);
        StepNames { new: format!("{prefix}.new").into(), out: format!("{prefix}.out").into() }
    }
}

/// Why a step was not made.
pub(super) enum Unmade {
    /// git would take it for a part of its own directory.
    Git(GitRule),
    /// The system refused.
    System(Errno),
}

impl From<Errno> for Unmade {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

/// The innermost directory on the way to `path` that is there.
pub(super) fn nearest_directory(descent: &Descent<'_>, path: &[u8]) -> Result<Vec<u8>> {
    let nearest = descent.nearest(path).map_err(|errno| CheckpointError::File {
        path: path_of(path),
        operation: "opening a directory",
        source: errno.into(),
    })?;
    Ok(nearest.to_vec())
}

impl Work<'_> {
    /// Writes every new file and link beside its place.
    pub(super) fn stage(&mut self, cancel: &AtomicBool, progress: &Progress) -> Result<()> {
        let store = self.store;
        store.database.read("restoring files", |connection| -> Tx<()> {
            self.refused.clear();
            for step in &self.steps {
                if cancel.load(Ordering::Relaxed) {
                    return Err(CheckpointError::Cancelled.into());
                }
                let Some(new) = &step.item.new else { continue };
                if new.is_directory() || is_attributes_only(step) {
                    continue;
                }
                let failed = |operation| {
                    let path = path_of(&step.item.path);
                    move |source: std::io::Error| {
                        let path = path.clone();
                        CheckpointError::File { path, operation, source }
                    }
                };
                let directory = self
                    .descent
                    .open(&step.stage)
                    .map_err(|errno| failed("opening its directory")(errno.into()))?
                    .ok_or_else(|| failed("opening its directory")(Errno::NOENT.into()))?;
                if directory.is_in_git {
                    self.refused.insert(step.number, GitRule::Below);
                    continue;
                }
                let directory = &*directory.directory;
                let name = store.step_names(self.id, step.number).new;
                // Left by a transaction that had to begin again.
                let _ = place(directory, &name).unlink();
                self.prepare(connection, directory, &name, new, failed("writing"))?;
                if let What::File { size, .. } = new.what {
                    progress.add(0, size);
                }
            }
            Ok(())
        })
    }

    fn prepare(
        &self,
        connection: &Connection,
        directory: &OwnedFd,
        name: &OsString,
        state: &State,
        failed: impl Fn(std::io::Error) -> CheckpointError,
    ) -> Tx<()> {
        let at = |errno: Errno| failed(errno.into());
        match &state.what {
            What::File { content, hash, .. } => {
                let flags = OFlags::RDWR
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let mode = Mode::RUSR | Mode::WUSR;
                let file =
                    File::from(rustix::fs::openat(directory, name, flags, mode).map_err(at)?);
                let place = (*content, hash);
                content::write_to(connection, self.store.database.path(), place, &file, &failed)?;
                set_attributes(&file, state).map_err(at)?;
            }
            What::Link(text) => {
                rustix::fs::symlinkat(OsStr::from_bytes(text), directory, name).map_err(at)?;
                set_link_attributes(directory, name, state).map_err(at)?;
            }
            What::Directory | What::Ignored | What::Skipped(_) => {}
        }
        Ok(())
    }

    /// Removes what was prepared and not put in place.
    pub(super) fn unstage(&self) {
        for step in &self.steps {
            if let Ok(Some(directory)) = self.descent.open(&step.stage) {
                let name = self.store.step_names(self.id, step.number).new;
                let _ = place(&directory, &name).unlink();
            }
        }
    }

    /// Makes a step. False if the entry is not what it was.
    pub(super) fn publish(&mut self, index: usize) -> Result<bool, Unmade> {
        let Self { store, id, .. } = *self;
        let step = &self.steps[index];
        let (above, name) = split(&step.item.path);
        if let Some(rule) = self.refused.get(&step.number) {
            return Err(Unmade::Git(*rule));
        }
        let Some(parent) = self.descent.open(above)? else { return Ok(false) };
        if parent.is_in_git {
            return Err(Unmade::Git(GitRule::Below));
        }
        let _turn = GitBorder::Closed.turn([name]);
        if step.item.new.is_some()
            && let Some(rule) = GitBorder::Closed.rule_of_new(&parent, name)?
        {
            return Err(Unmade::Git(rule));
        }
        let target = place(&parent, name);
        let names = store.step_names(id, step.number);
        let out = place(&parent, &names.out);
        let done = match (&step.item.old, &step.item.new) {
            (Some(old), Some(new)) if old.is_directory() && new.is_directory() => {
                let Some(directory) = self.descent.open(&step.item.path)? else {
                    return Ok(false);
                };
                if directory.is_in_git {
                    return Err(Unmade::Git(GitRule::Below));
                }
                let time = Look::of(&rustix::fs::fstat(&directory)?).mtime;
                set_attributes(&directory, &State { mtime: time, ..new.clone() })?;
                return Ok(true);
            }
            (Some(old), Some(new)) if old.what == new.what => {
                return Ok(set_attributes_if(target, old, new)?);
            }
            (None, Some(new)) if new.is_directory() => {
                match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                // Another's mode comes last: it may forbid to make what is in it.
                self.descent.forget(&step.item.path);
                self.descent.open(&step.item.path)?.is_some()
            }
            (Some(old), None) if old.is_directory() => {
                self.descent.forget(&step.item.path);
                match rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
                    Ok(()) => true,
                    Err(Errno::NOENT) => false,
                    Err(errno) => return Err(errno.into()),
                }
            }
            (Some(old), None) => swap::remove(target, out, &Print::of(old))?,
            (old, Some(_)) => {
                let stage = self.descent.open(&step.stage)?.ok_or(Errno::NOENT)?;
                let new = place(&stage, &names.new);
                match old {
                    Some(old) => swap::update(new, out, target, &Print::of(old))?,
                    None => swap::create(new, target)?,
                }
            }
            (None, None) => false,
        };
        let touched = [above.to_vec(), step.stage.clone()];
        self.touched.extend(touched);
        Ok(done)
    }

    /// Gives directories whose entries have changed the times that they had, and those that were made
    /// their modes: innermost first, because a mode may forbid the rest.
    pub(super) fn set_directory_times(&self, plan: &Plan, restore: &Restore<'_>) {
        let head = toolwright_sqlite::sync::lock(&self.store.head);
        let made: BTreeMap<&[u8], &Item> =
            plan.made_directories.iter().map(|item| (&item.path[..], item)).collect();
        let touched = self.touched.iter().map(|path| &path[..]);
        let all: BTreeSet<&[u8]> = touched.chain(made.keys().copied()).collect();
        for path in all.into_iter().rev() {
            let current = head.rows.get(path).map(|row| &row.state);
            let Ok(Some(directory)) = self.descent.open(path) else { continue };
            if directory.is_in_git {
                continue;
            }
            let item = made.get(path).and_then(|item| item.new.as_ref());
            let at_target = plan.directory_times.get(path).filter(|_| restore.until.is_none());
            if let Some(state) = item {
                let _ = set_attributes(&directory, state);
            } else if let Some(time) = at_target.copied().or(current.map(|state| state.mtime)) {
                let _ = rustix::fs::futimens(&directory, &times(time));
            }
        }
    }

    /// Records a path as it is now, if it is as it was restored.
    pub(super) fn put(
        &self,
        writing: &mut Writing<'_>,
        path: &[u8],
        state: Option<&State>,
    ) -> Tx<()> {
        let (above, name) = split(path);
        let looked = match self.descent.open(above) {
            Ok(Some(parent)) if !name.is_empty() => {
                let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.ok().map(|stat| Look::of(&stat))
            }
            _ => None,
        };
        match (looked, state) {
            (None, None) => {
                if let Some(row) = writing.head().rows.get(path) {
                    writing.remove(path, row)?;
                }
                Ok(())
            }
            (Some(look), Some(state)) => {
                let found = look.state(state.what.clone());
                let is_same = match state.what {
                    What::Directory => look.kind == FileType::Directory,
                    What::File { size, .. } => {
                        look.kind == FileType::RegularFile && look.size == size && found == *state
                    }
                    _ => look.kind == FileType::Symlink && found == *state,
                };
                if is_same {
                    let (inode, path) = (look.inode, path.into());
                    let ctime = if state.is_directory() { look.ctime } else { UNSETTLED };
                    writing.put(path, found, (inode, ctime), Some(look))?;
                }
                Ok(())
            }
            // Somebody else was here since. The next walk sees what they made of it.
            _ => Ok(()),
        }
    }
}

/// Whether the content stays.
fn is_attributes_only(step: &Step<'_>) -> bool {
    matches!((&step.item.old, &step.item.new), (Some(old), Some(new)) if old.what == new.what)
}
