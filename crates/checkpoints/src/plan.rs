//! What a restoration would do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::AtFlags;

use crate::diff::{Change, Span, change_between, check_exists, path_of, spans};
use crate::error::{Conflict, ConflictReason, Result, Tx};
use crate::head::Head;
use crate::look::Look;
use crate::state::{State, What};
use crate::swap::Print;
use crate::walk::open_below;
use crate::{CheckpointError, Checkpoints};

/// What to restore.
#[derive(Debug, Clone, Copy)]
pub struct Restore<'a> {
    /// The checkpoint with the state to come back to.
    pub target: i64,
    /// Undo only what changed from the target up to this checkpoint.
    pub until: Option<i64>,
    /// Only these paths and what is below them; all if there are none.
    pub paths: &'a [String],
    /// Find out what would be done, and change nothing.
    pub dry_run: bool,
    /// Restore what somebody else has changed too.
    pub force: bool,
}

/// A path with its state now and its state afterwards.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) path: Box<[u8]>,
    pub(crate) old: Option<State>,
    pub(crate) new: Option<State>,
}

/// The steps of a restoration, in their order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Files and links that go.
    pub(crate) removes: Vec<Item>,
    /// Directories that go, innermost first.
    pub(crate) removed_directories: Vec<Item>,
    /// Directories that come, outermost first.
    pub(crate) made_directories: Vec<Item>,
    /// Files and links that come, or get another content.
    pub(crate) writes: Vec<Item>,
    /// Files and links that get another mode, owner or time.
    pub(crate) attributes: Vec<Item>,
    /// Directories that get another mode or owner.
    pub(crate) directories: Vec<Item>,
    pub(crate) changes: Vec<Change>,
    pub(crate) conflicts: Vec<Conflict>,
    /// The times of directories at the target.
    pub(crate) directory_times: BTreeMap<Box<[u8]>, i64>,
}

/// Paths below the root, from what a caller wrote.
pub(crate) fn relative_paths(root: &Path, paths: &[String]) -> Result<Vec<Vec<u8>>> {
    let outside = |path: &str| CheckpointError::Outside { path: path.to_owned() };
    let relative = |text: &String| {
        let path = Path::new(text);
        let path = if path.is_absolute() {
            path.strip_prefix(root).map_err(|_| outside(text))?
        } else {
            path
        };
        let mut names = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                _ => return Err(outside(text)),
            }
        }
        Ok(names.into_os_string().into_encoded_bytes())
    };
    paths.iter().map(relative).collect()
}

fn is_at_or_below(path: &[u8], top: &[u8]) -> bool {
    top.is_empty()
        || path.strip_prefix(top).is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

impl Checkpoints {
    /// Plans a restoration from the state in `head`, which checkpoint `now` has.
    pub(crate) fn plan(
        &self,
        connection: &Connection,
        head: &Head,
        restore: &Restore<'_>,
        now: i64,
    ) -> Tx<Plan> {
        let &Restore { target, until, paths, force, .. } = restore;
        check_exists(connection, target)?;
        let end = until.unwrap_or(now);
        check_exists(connection, end)?;
        let tops = relative_paths(&self.root, paths)?;
        let spans = spans(connection, target.min(end), end)?;
        let mut plan = Plan::default();
        for (path, span) in &spans {
            if let (None, Some(State { what: What::Directory, mtime, .. })) = (until, &span.old) {
                plan.directory_times.insert(path.clone(), *mtime);
            }
            if !tops.is_empty() && !tops.iter().any(|top| is_at_or_below(path, top)) {
                continue;
            }
            // What the target does not know must not be touched.
            let unknown = |span: &Span| span.old.as_ref().is_some_and(|old| !old.is_kept());
            if unknown(span) || ancestors(path).any(|above| spans.get(above).is_some_and(unknown)) {
                continue;
            }
            let current = head.rows.get(path).map(|row| &row.state);
            let kept = current.filter(|state| state.is_kept());
            let (old, new) = (kept, span.old.as_ref());
            match (old, new) {
                (None, None) => continue,
                (Some(old), Some(new)) if !new.is_change_of(old) => continue,
                _ => {}
            }
            let same_content = |a: Option<&State>, b: Option<&State>| match (a, b) {
                (Some(a), Some(b)) => a.has_content_of(b),
                (None, None) => true,
                _ => false,
            };
            let mut conflict = None;
            if !same_content(old, new) {
                if until.is_some() && !same_content(current, span.new.as_ref()) {
                    conflict = Some(ConflictReason::ChangedLater);
                } else if span.by_others {
                    conflict = Some(ConflictReason::ChangedByOthers);
                }
            }
            // Somebody else's directory: an empty one, or there are conflicts in it.
            let is_directory = old.or(new).is_some_and(State::is_directory);
            if conflict.is_some() && is_directory && new.is_none_or(State::is_directory) && !force {
                continue;
            }
            if let Some(reason) = conflict.filter(|_| !force) {
                plan.conflicts.push(Conflict { path: path_of(path), reason });
                continue;
            }
            if let (None, Some(new)) = (old, new) {
                match self.untracked_at(path, new) {
                    Untracked::Nothing => {}
                    Untracked::Same => continue,
                    Untracked::Other => {
                        let reason = ConflictReason::Occupied;
                        plan.conflicts.push(Conflict { path: path_of(path), reason });
                        continue;
                    }
                }
            }
            plan.changes.extend(change_between(path, old, new));
            plan.add(path, old, new);
        }
        plan.removed_directories.reverse();
        Ok(plan)
    }

    /// What is at a path that the newest checkpoint does not keep.
    fn untracked_at(&self, path: &[u8], wanted: &State) -> Untracked {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = slash.map_or((&path[..0], path), |at| (&path[..at], &path[at + 1..]));
        let name = OsStr::from_bytes(name);
        let Ok(Some(directory)) = open_below(&self.directory, above) else {
            // The directory will be made, or something is in its place, which is noticed then.
            return Untracked::Nothing;
        };
        let Ok(stat) = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Untracked::Nothing;
        };
        let is_same = match wanted.what {
            What::Directory => Look::of(&stat).kind == rustix::fs::FileType::Directory,
            _ => Print::at(std::os::fd::AsFd::as_fd(&directory), name)
                .is_ok_and(|print| print.as_ref() == Some(&Print::of(wanted))),
        };
        if is_same { Untracked::Same } else { Untracked::Other }
    }
}

enum Untracked {
    Nothing,
    Same,
    Other,
}

impl Plan {
    fn add(&mut self, path: &[u8], old: Option<&State>, new: Option<&State>) {
        let item = |old: Option<&State>, new: Option<&State>| Item {
            path: path.into(),
            old: old.cloned(),
            new: new.cloned(),
        };
        let is_directory = |state: Option<&State>| state.is_some_and(State::is_directory);
        match (is_directory(old), is_directory(new)) {
            (true, true) => self.directories.push(item(old, new)),
            (true, false) => {
                self.removed_directories.push(item(old, None));
                if new.is_some() {
                    self.writes.push(item(None, new));
                }
            }
            (false, true) => {
                if old.is_some() {
                    self.removes.push(item(old, None));
                }
                self.made_directories.push(item(None, new));
            }
            (false, false) => match (old, new) {
                (Some(a), Some(b)) if a.what == b.what => self.attributes.push(item(old, new)),
                (_, Some(_)) => self.writes.push(item(old, new)),
                (_, None) => self.removes.push(item(old, None)),
            },
        }
    }

    /// All steps, in their order.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        let Self { removes, removed_directories, made_directories, writes, .. } = self;
        let parts = [removes, removed_directories, made_directories, writes];
        let rest = [&self.attributes, &self.directories];
        parts.into_iter().chain(rest).flatten()
    }
}
