//! What a restoration would do.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::AtFlags;
use toolwright_fs::{GitBorder, GitRule};

use crate::descent::Descent;
use crate::diff::{Change, Span, change_between, check_exists, path_of, spans};
use crate::error::{Conflict, ConflictReason, Result, Tx};
use crate::head::Head;
use crate::look::Look;
use crate::restore::split;
use crate::state::{State, What};
use crate::swap::Print;
use crate::unkept::reason_of;
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
    /// What is not restored because it would be git's.
    pub(crate) refused: Vec<(PathBuf, GitRule)>,
    /// What is left because it is not kept, or is made from what is not.
    pub(crate) unkept: Vec<(PathBuf, &'static str)>,
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

pub(crate) fn is_at_or_below(path: &[u8], top: &[u8]) -> bool {
    top.is_empty()
        || path.strip_prefix(top).is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

/// What the target does not know, because it was ignored or skipped there.
struct Unknown<'a> {
    paths: HashSet<&'a [u8]>,
    /// How long they are. Most paths have none of them around, which a few lengths tell.
    lengths: BTreeSet<usize>,
}

impl<'a> Unknown<'a> {
    fn of(spans: &'a BTreeMap<Box<[u8]>, Span>) -> Self {
        let is_unknown = |span: &Span| span.old.as_ref().is_some_and(|old| !old.is_kept());
        let paths = spans.iter().filter(|(_, span)| is_unknown(span));
        let paths: HashSet<&[u8]> = paths.map(|(path, _)| &path[..]).collect();
        let lengths = paths.iter().map(|path| path.len()).collect();
        Self { paths, lengths }
    }

    /// Whether a path is unknown, or lies in a directory that is.
    fn holds(&self, path: &[u8]) -> bool {
        let is_end = |length: usize| path.get(length).is_none_or(|next| *next == b'/');
        let lengths = self.lengths.range(..=path.len()).copied().filter(|length| is_end(*length));
        lengths.into_iter().any(|length| self.paths.contains(&path[..length]))
    }
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
        let unknown = Unknown::of(&spans);
        let descent = Descent::new(self.directory.as_fd());
        let mut plan = Plan::default();
        for (path, span) in &spans {
            if let (None, Some(State { what: What::Directory, mtime, .. })) = (until, &span.old) {
                plan.directory_times.insert(path.clone(), *mtime);
            }
            if !tops.is_empty() && !tops.iter().any(|top| is_at_or_below(path, top)) {
                continue;
            }
            // What the target does not know must not be touched.
            if unknown.holds(path) {
                plan.leave_unknown(path, span);
                continue;
            }
            let current = head.rows.get(path).map(|row| &row.state);
            let kept = current.filter(|state| state.is_kept());
            let (old, new) = (kept, span.old.as_ref());
            match (old, new) {
                (None, None) => {
                    plan.leave_created(path, span, current);
                    continue;
                }
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
                match untracked_at(&descent, path, new) {
                    Untracked::Nothing => {}
                    Untracked::Same => continue,
                    Untracked::Other => {
                        let reason = ConflictReason::Occupied;
                        plan.conflicts.push(Conflict { path: path_of(path), reason });
                        continue;
                    }
                }
            }
            if let Some(reason) = span.new_making.reason()
                && old.is_some()
                && (new.is_none() || span.old_making.reason().is_none())
            {
                plan.unkept.push((path_of(path), reason));
                continue;
            }
            if let Some(rule) = GitBorder::Closed.rule_of_path(&path_of(path)) {
                plan.refused.push((path_of(path), rule));
                continue;
            }
            plan.changes.extend(change_between(path, old, new));
            plan.add(path, old, new);
        }
        plan.removed_directories.reverse();
        Ok(plan)
    }
}

/// What is at a path that the newest checkpoint does not keep.
fn untracked_at(descent: &Descent<'_>, path: &[u8], wanted: &State) -> Untracked {
    let (above, name) = split(path);
    let Ok(Some(directory)) = descent.open(above) else {
        // The directory will be made, or something is in its place, which is noticed then.
        return Untracked::Nothing;
    };
    let Ok(stat) = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return Untracked::Nothing;
    };
    let is_same = match wanted.what {
        What::Directory => Look::of(&stat).kind == rustix::fs::FileType::Directory,
        _ => Print::at(directory.as_fd(), name)
            .is_ok_and(|print| print.as_ref() == Some(&Print::of(wanted))),
    };
    if is_same { Untracked::Same } else { Untracked::Other }
}

enum Untracked {
    Nothing,
    Same,
    Other,
}

impl Plan {
    /// The target does not know a path: if a call has changed it, or removed it, that is not undone.
    fn leave_unknown(&mut self, path: &[u8], span: &Span) {
        if let Some(old) = span.old.as_ref().filter(|old| !old.is_kept() && !span.by_others) {
            self.unkept.push((path_of(path), reason_of(old)));
        }
    }

    /// A call has made something that is not kept.
    fn leave_created(&mut self, path: &[u8], span: &Span, current: Option<&State>) {
        if let (None, Some(new), Some(_), false) = (&span.old, &span.new, current, span.by_others)
            && !new.is_kept()
        {
            self.unkept.push((path_of(path), reason_of(new)));
        }
    }

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
