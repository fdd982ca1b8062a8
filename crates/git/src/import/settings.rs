//! Settings that a command has changed.

use std::path::{Path, PathBuf};

use super::apply::{MODE, NotWritten};
use super::read::Failure;
use super::{Note, Snapshot, Terms};
use crate::config::{self, Change, Config, Merged, RemoteChange, Scope, Value};
use crate::directory::Directory;
use crate::transaction::Transaction;
use crate::upper::{Node, Upper};

/// The settings of a repository, and those of its main work tree.
pub(super) const FILES: [(&str, Scope); 2] =
    [("config", Scope::Repository), ("config.worktree", Scope::Worktree)];
/// The settings of one work tree.
pub(super) const OF_WORK_TREE: &str = FILES[1].0;
/// Where the work tree of a submodule lies.
pub(super) const WORK_TREE: &[u8] = b"core.worktree";
/// A longer file is not read.
pub(super) const MAX_CONFIG: u64 = config::MAX_BYTES as u64 + 1;

/// What is written, and where.
pub(super) struct Settings<'s, 'g> {
    pub(super) git: &'g Directory,
    pub(super) transaction: &'s mut Transaction<'g>,
    pub(super) notes: &'s mut Vec<Note>,
    /// The values of `core.worktree` that a submodule gets, if these were decided.
    pub(super) work_tree: Option<&'s [Value]>,
}

impl Settings<'_, '_> {
    /// Writes the changes that do no harm. Returns whether there are any.
    pub(super) fn merge(
        &mut self,
        snapshot: &Snapshot,
        upper: &Upper,
        terms: &Terms<'_>,
    ) -> Result<bool, NotWritten> {
        let mut is_changed = false;
        for (number, (name, scope)) in FILES.into_iter().enumerate() {
            let (before, other) = (&snapshot.configs[number], &snapshot.configs[1 - number]);
            let (path, top) = (Path::new(name), terms.top.as_deref());
            is_changed |= self.merge_file((path, scope, top), (before, other), upper, terms)?;
        }
        Ok(is_changed)
    }

    /// The same for one file, beside another one that git reads too.
    pub(super) fn merge_file(
        &mut self,
        (path, scope, top): (&Path, Scope, Option<&Path>),
        (before, other): (&Vec<u8>, &[u8]),
        upper: &Upper,
        terms: &Terms<'_>,
    ) -> Result<bool, NotWritten> {
        if !matches!(upper.entry(path), Ok(Node::File(_))) {
            return Ok(false);
        }
        let Ok(Some(view)) = upper.read(path, MAX_CONFIG) else {
            self.notes.push(Note::LeftOut(vec![path.display().to_string()]));
            return Ok(false);
        };
        if view == *before {
            return Ok(false);
        }
        self.transaction.lock(path, MODE)?;
        let real = self.git.read(path, MAX_CONFIG).map_err(Failure::from)?.unwrap_or_default();
        let others = [other];
        let policy = config::Policy {
            scope,
            top,
            is_writable: &terms.is_writable,
            is_readable: &terms.is_readable,
            holds_worktree_config: true,
            is_strict: terms.is_strict,
            others: &others,
        };
        let decided = match scope {
            Scope::Repository => self.with_work_tree(before, &view, &real),
            Scope::Worktree => None,
        };
        let (before, now) = decided.as_ref().map_or((before, &real), |(one, two)| (one, two));
        match config::merge(before, &view, now, &policy) {
            Ok(mut merged) => {
                if merged.text.is_none() && *now != real {
                    merged.text = Some(now.clone());
                }
                self.write(path, merged)
            }
            Err(error) => {
                let name = format!("{} ({error})", path.display());
                self.notes.push(Note::LeftOut(vec![name]));
                Ok(false)
            }
        }
    }

    /// The settings before, without a change of `core.worktree`, and those of now, with what was decided.
    fn with_work_tree(
        &self,
        before: &[u8],
        view: &[u8],
        real: &[u8],
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let after = self.work_tree?.to_vec();
        let (before, view) = (Config::parse(before)?, Config::parse(view)?);
        let real = Config::parse(real)?;
        let mut all = config::changes(&before, &view);
        all.retain(|change| change.name == WORK_TREE);
        let [change] = &all[..] else { return None };
        let is_as_before = real.values(WORK_TREE).eq(before.values(WORK_TREE));
        let decided = Change { after, ..change.clone() };
        let is_done = real.values(WORK_TREE).eq(&decided.after);
        if !is_as_before && !is_done {
            return None;
        }
        Some((config::with_changes(&before, &all)?, config::with_changes(&real, &[decided])?))
    }

    fn write(&mut self, path: &Path, merged: Merged) -> Result<bool, NotWritten> {
        let Merged { text, refused, changed_meanwhile, remotes } = merged;
        if !refused.is_empty() {
            self.notes.push(Note::SettingsRefused(refused));
        }
        if !changed_meanwhile.is_empty() {
            self.notes.push(Note::SettingsMeanwhile(changed_meanwhile));
        }
        let (held, changed): (Vec<_>, Vec<_>) =
            remotes.into_iter().partition(|change| change.is_held);
        for (changes, note) in
            [(held, Note::AddressesHeld as fn(_) -> _), (changed, Note::SettingsChanged)]
        {
            let shown =
                |change: RemoteChange| format!("{}={}", change.setting, change.after.join(","));
            if !changes.is_empty() {
                self.notes.push(note(changes.into_iter().map(shown).collect()));
            }
        }
        let Some(text) = text else { return Ok(false) };
        self.transaction.write(path, &text)?;
        Ok(true)
    }
}

/// The settings of a repository as commands saw them.
pub(super) fn read(git: &Directory) -> [Vec<u8>; 2] {
    FILES.map(|(name, _)| {
        git.read(PathBuf::from(name), MAX_CONFIG).ok().flatten().unwrap_or_default()
    })
}
