//! Applying the changes of a fork to its base.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use toolwright_changes::{ChangeKind, EntryKind};
use toolwright_fs::{
    ChangeSet, ChangedFile, FileChange, GitBorder, Place, Replacement, Root, UpdateError, Watch,
    WriteOptions,
};

use crate::base_changes::{LIMITS, lost_race};
use crate::changes::{Change, Changes, Conflict, LeftOut, LeftOutReason, PERMISSIONS};
use crate::commits::Commits;
use crate::error::{ForkError, Result};
use crate::fork::Fork;
use crate::merge::Merge;
use crate::tree;

/// What is applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Apply<'a> {
    /// Only these paths and what is below them; all if there are none.
    pub paths: &'a [String],
    /// Find out what would be done, and change nothing.
    pub dry_run: bool,
    /// Take a text that both sides have changed for a conflict, also where the lines are different ones.
    pub refuse_merges: bool,
}

/// What was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// The changes; those that would be applied in a dry run. None if there are conflicts.
    pub applied: Vec<Change>,
    /// Why nothing was applied.
    pub conflicts: Vec<Change>,
    /// What differs and is never applied.
    pub left_out: Vec<LeftOut>,
    /// The commits that were made in the fork, once everything has been applied.
    pub commits: Option<Commits>,
}

impl Fork {
    /// Applies changes, all of them or none.
    pub fn apply(&self, apply: Apply<'_>, cancel: &AtomicBool) -> Result<Applied> {
        if !self.is_locked() {
            return Err(ForkError::Busy { id: self.id().to_owned() });
        }
        let Changes { mut changes, mut left_out, .. } = self.changes()?;
        select(&mut changes, &left_out, apply.paths)?;
        self.leave_protected(&mut changes, apply.paths, &mut left_out);
        let merges = if apply.refuse_merges { Vec::new() } else { self.merge(&mut changes)? };
        let conflicts: Vec<_> =
            changes.iter().filter(|change| change.conflict.is_some()).cloned().collect();
        let outcome =
            |applied, conflicts, commits| Applied { applied, conflicts, left_out, commits };
        if !conflicts.is_empty() {
            return Ok(outcome(Vec::new(), conflicts, None));
        }
        if apply.dry_run {
            return Ok(outcome(changes, conflicts, None));
        }
        let commits = || if apply.paths.is_empty() { self.bring_commits() } else { None };
        if changes.is_empty() {
            return Ok(outcome(changes, conflicts, commits()));
        }
        if !merges.is_empty() {
            self.take_merged(&merges, cancel)?;
        }
        let mut note = None;
        let written = self.write((&changes, &merges), &mut note, cancel);
        if let (Err(_), Some(note)) = (&written, note) {
            // What was noted has not come to be.
            let _ = fs::remove_file(note);
        }
        let moved = match written {
            Ok(()) => {
                self.note_applied(changes.iter().map(|change| change.path.clone()))?;
                return Ok(outcome(changes, conflicts, commits()));
            }
            Err(UpdateError::Refused(NotWritten::Moved(paths))) => paths,
            Err(UpdateError::Refused(NotWritten::Unread(error))) => return Err(error),
            Err(UpdateError::Fs(error)) => vec![lost_race(&error).ok_or(error)?],
        };
        let conflicts = changes.into_iter().filter(|change| moved.contains(&change.path));
        let conflicts = conflicts
            .map(|change| Change { conflict: Some(Conflict::Changed), ..change })
            .collect();
        Ok(outcome(Vec::new(), conflicts, None))
    }

    /// Leaves out what is protected and was not named: a path around it is not enough.
    fn leave_protected(
        &self,
        changes: &mut Vec<Change>,
        paths: &[String],
        left_out: &mut Vec<LeftOut>,
    ) {
        let is_named = |change: &Change| {
            let at = |path: &&PathBuf| change.path.starts_with(path);
            self.protected.iter().filter(at).all(|protected| {
                let names = |path: &String| Path::new(clean(path)).starts_with(protected);
                paths.iter().any(|path| names(path) && change.path.starts_with(clean(path)))
            })
        };
        changes.retain(|change| {
            let stays = !change.is_protected || is_named(change);
            if !stays {
                let reason = LeftOutReason::Protected;
                left_out.push(LeftOut { path: change.path.clone(), reason });
            }
            stays
        });
    }

    /// Makes the changes in the base.
    fn write(
        &self,
        (changes, merges): (&[Change], &[Merge]),
        note: &mut Option<PathBuf>,
        cancel: &AtomicBool,
    ) -> std::result::Result<(), UpdateError<NotWritten>> {
        // What was compared is written, whatever the path of the base leads to by now.
        let root = Root::of_open(
            self.base_copy().map_err(|error| UpdateError::Refused(NotWritten::Unread(error)))?,
            self.base.clone(),
        );
        let files: Vec<&Change> =
            changes.iter().filter(|change| change.entry != EntryKind::Directory).collect();
        let steps: Vec<FileChange<'_>> = files.iter().map(|change| step(change)).collect();
        let emptied: Vec<PathBuf> = changes
            .iter()
            .filter(|it| it.entry == EntryKind::Directory && it.kind == ChangeKind::Deleted)
            .map(|it| it.path.clone())
            .collect();
        let set = ChangeSet { root: &root, changes: &steps, emptied: &emptied, limits: LIMITS };
        let options = WriteOptions { git: GitBorder::Closed, ..WriteOptions::default() };
        let mut watch = Unmoved { fork: self, changes, files: &files, merges, note };
        if steps.is_empty() {
            watch.before(&[]).map_err(UpdateError::Refused)?;
        } else {
            let content = |index: usize, _: toolwright_fs::Before<'_>| match merges
                .iter()
                .find(|merge| merge.path == files[index].path)
            {
                Some(merge) => Ok(merge.merged.bytes.clone()),
                None => self.content(files[index]),
            };
            set.run_watched(&options, cancel, content, &mut watch)?;
        }
        // Inner ones first. One that is not empty holds files of another program.
        for change in changes.iter().rev() {
            match (change.entry, change.kind) {
                (EntryKind::Directory, ChangeKind::Created) => make_directories(self, change),
                (EntryKind::Directory, _) => remove_directory(self, change),
                _ => {}
            }
        }
        Ok(())
    }

    /// What the fork has at a path.
    fn content(&self, change: &Change) -> std::result::Result<Vec<u8>, NotWritten> {
        if change.kind == ChangeKind::Deleted {
            return Ok(Vec::new());
        }
        let failed = |source: io::Error| {
            let path = self.base.join(&change.path);
            NotWritten::Unread(ForkError::Io { path, operation: "reading in the fork", source })
        };
        let found = tree::parent(self.upper.as_fd(), &change.path);
        let (parent, name) = found.map_err(|errno| failed(errno.into()))?;
        if change.entry == EntryKind::Link {
            return tree::link(parent, name).map_err(|errno| failed(errno.into()));
        }
        tree::read(parent, name, LIMITS.file_bytes).map_err(failed)
    }
}

/// Why nothing was written.
enum NotWritten {
    /// Paths of the base are not what they were.
    Moved(Vec<PathBuf>),
    /// What the fork has cannot be read.
    Unread(ForkError),
}

/// Checks the base again after the engine has read the files to replace.
struct Unmoved<'a> {
    fork: &'a Fork,
    changes: &'a [Change],
    /// Those that are no directories.
    files: &'a [&'a Change],
    merges: &'a [Merge],
    /// The undo note.
    note: &'a mut Option<PathBuf>,
}

impl Watch<NotWritten> for Unmoved<'_> {
    fn before(&mut self, found: &[ChangedFile]) -> std::result::Result<(), NotWritten> {
        let Self { fork, changes, files, merges, note } = self;
        let moved: Vec<PathBuf> = fork
            .with_manifest(|manifest| {
                let is_as_it_was = |path: &Path| {
                    let now = tree::look_below(fork.base_fd.as_fd(), path);
                    now.is_ok_and(|now| manifest.is_as_it_was(path, now.as_ref()))
                };
                // What was merged with is no longer what it was.
                let is_as_it_was = |path: &Path| {
                    let Some(merge) = merges.iter().find(|merge| merge.path == path) else {
                        return is_as_it_was(path);
                    };
                    let file = found.iter().find(|file| file.path == path);
                    let is_same = |file: &ChangedFile| {
                        file.old.as_deref() == Some(&merge.base.bytes)
                            && file.mode.map(|mode| mode & PERMISSIONS) == Some(merge.base.mode)
                            && !file.was_link
                    };
                    file.is_some_and(is_same)
                };
                let paths = files.iter().map(|change| change.path.clone());
                paths.filter(|path| !is_as_it_was(path)).collect()
            })
            .map_err(NotWritten::Unread)?;
        if !moved.is_empty() {
            return Err(NotWritten::Moved(moved));
        }
        **note = Some(fork.note_apply(found, changes).map_err(NotWritten::Unread)?);
        Ok(())
    }

    fn after(&mut self) {}
}

fn step(change: &Change) -> FileChange<'_> {
    // Names that are no UTF-8 are conflicts.
    let place = Place::Path(change.path.to_str().unwrap_or_default());
    let mode = change.fork.map(|side| side.mode);
    let by = match change.entry {
        EntryKind::Link => Replacement::Link,
        _ => Replacement::File { mode },
    };
    let change = match (change.kind, change.entry) {
        (ChangeKind::Deleted, _) => toolwright_fs::Change::Delete,
        (ChangeKind::Created, EntryKind::Link) => toolwright_fs::Change::CreateLink,
        (ChangeKind::Created, _) => toolwright_fs::Change::Create { mode },
        (ChangeKind::Modified, _) => toolwright_fs::Change::Replace { by },
    };
    FileChange { place, change }
}

/// Makes an empty directory, with those above it.
fn make_directories(fork: &Fork, change: &Change) {
    let Ok(mut open) = rustix::io::fcntl_dupfd_cloexec(&fork.base_fd, 0) else { return };
    for name in &change.path {
        let made = mkdirat(&open, name, Mode::from_raw_mode(0o777));
        if !matches!(made, Ok(()) | Err(Errno::EXIST)) {
            return;
        }
        match tree::directory(&open, name) {
            Ok(next) => open = next,
            Err(_) => return,
        }
    }
}

fn remove_directory(fork: &Fork, change: &Change) {
    if let Ok((parent, name)) = tree::parent(fork.base_fd.as_fd(), &change.path) {
        let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
    }
}

/// A path as changes have it; the base itself is the empty one, which every path begins with.
fn clean(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    if path == "." { "" } else { path }
}

/// Leaves the changes at some paths and below them.
fn select(changes: &mut Vec<Change>, left_out: &[LeftOut], paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut used: HashMap<&String, bool> = paths.iter().map(|path| (path, false)).collect();
    changes.retain(|change| {
        let mut is_selected = false;
        for path in paths {
            if change.path.starts_with(clean(path)) {
                used.insert(path, true);
                is_selected = true;
            }
        }
        is_selected
    });
    let Some(path) = paths.iter().find(|path| used.get(path) == Some(&false)) else {
        return Ok(());
    };
    let at = Path::new(clean(path));
    // What lies in a directory that is left out is left out with it.
    let left = left_out.iter().find(|left| left.path.starts_with(at) || at.starts_with(&left.path));
    Err(match left {
        Some(left) => ForkError::NeverApplied { path: path.clone(), reason: left.reason },
        None => ForkError::NoChange { path: path.clone() },
    })
}
