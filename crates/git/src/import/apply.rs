//! Writing what was read into the repository, under git's own locks.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::indexes;
use super::read::{Failure, Received};
use super::{Note, Snapshot};
use crate::directory::Directory;
use crate::index::{self, Index, SkipWorktree};
use crate::log::{self, Change, Line, LogName};
use crate::refs::{self, Head, RefChange, RefMap, RefName, RefValue, packed};
use crate::transaction::{Transaction, TransactionError};
use crate::upper::{Bounds, Upper};

/// The mode of a new file, before the mask of the process.
const MODE: u32 = 0o666;
/// How many digits of a commit name what is kept of it.
const KEPT_DIGITS: usize = 10;

/// Why nothing was written.
pub(super) enum NotWritten {
    /// Somebody else has a lock.
    Locked(PathBuf),
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for NotWritten {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<TransactionError> for NotWritten {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Held(path) => Self::Locked(path),
            error => Self::Failed(Failure::Unreadable(error.to_string())),
        }
    }
}

/// Writes everything, or nothing.
pub(super) fn apply(
    git: &Directory,
    snapshot: &Snapshot,
    upper: &Upper,
    received: &Received<'_>,
) -> Result<Vec<Note>, NotWritten> {
    let objects = git.below("objects").map_err(Failure::from)?;
    let objects = objects.ok_or_else(|| Failure::Unreadable("it has no objects".to_owned()))?;
    // Objects that nothing refers to do no harm, should the rest fail.
    received.objects.store(&objects)?;
    let mut apply = Apply {
        git,
        transaction: Transaction::begin(git)?,
        notes: Vec::new(),
        applied: BTreeSet::new(),
        head_stays: false,
        is_empty: true,
    };
    apply.references(snapshot, received)?;
    apply.head(snapshot, received)?;
    apply.index(received)?;
    apply.logs(upper)?;
    if apply.is_empty {
        return Ok(apply.notes);
    }
    let unfinished = apply.transaction.commit()?;
    let mut notes = apply.notes;
    notes.extend(unfinished.into_iter().map(|one| {
        Note::Failed(format!("{} could not be written: {}", one.path.display(), one.error))
    }));
    Ok(notes)
}

struct Apply<'g> {
    git: &'g Directory,
    transaction: Transaction<'g>,
    notes: Vec<Note>,
    /// The references that get the command's value.
    applied: BTreeSet<RefName>,
    /// Whether the branch that is checked out does not.
    head_stays: bool,
    is_empty: bool,
}

impl Apply<'_> {
    fn references(
        &mut self,
        snapshot: &Snapshot,
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        let has_deletions = received.refs.iter().any(|change| change.after.is_none());
        if has_deletions {
            self.transaction.lock(Path::new("packed-refs"), MODE)?;
        }
        // What goes makes room for what comes.
        let (gone, new): (Vec<_>, Vec<_>) =
            received.refs.iter().partition(|change| change.after.is_none());
        let now = RefMap::read(self.git, Bounds::default())
            .map_err(|error| Failure::Unreadable(error.to_string()))?;
        let mut removed = BTreeMap::new();
        for change in gone.into_iter().chain(new) {
            self.transaction.lock(change.name.path(), MODE)?;
            let current = RefMap::read_one(self.git, &change.name, now.packed())
                .map_err(|error| Failure::Unreadable(error.to_string()))?;
            if current == change.after {
                self.applied.insert(change.name.clone());
                continue;
            }
            if current != change.before {
                self.keep(change)?;
                continue;
            }
            self.is_empty = false;
            match &change.after {
                Some(value) => self.transaction.write(change.name.path(), &value.content())?,
                None => {
                    self.transaction.remove(change.name.path())?;
                    removed.insert(Box::from(change.name.as_str().as_bytes()), None);
                }
            }
            self.applied.insert(change.name.clone());
        }
        let is_packed = |name: &Box<[u8]>| now.packed().get(name).is_some();
        if removed.keys().any(is_packed) {
            let mut rest = now.packed().clone();
            rest.update(removed);
            self.transaction.write(Path::new("packed-refs"), &packed::write(&rest))?;
        }
        let _ = snapshot;
        Ok(())
    }

    /// Keeps the value of a command under another name.
    fn keep(&mut self, change: &RefChange) -> Result<(), NotWritten> {
        let mut kept = None;
        if let Some(RefValue::Id(id)) = &change.after {
            let digits: String = id.to_string().chars().take(KEPT_DIGITS).collect();
            if let Ok(name) = RefName::kept(&digits, &change.name) {
                self.transaction.lock(name.path(), MODE)?;
                self.transaction.write(name.path(), &RefValue::Id(*id).content())?;
                self.is_empty = false;
                kept = Some(name.to_string());
            }
        }
        self.notes.push(Note::ReferenceKept { name: change.name.to_string(), kept });
        Ok(())
    }

    fn head(&mut self, snapshot: &Snapshot, received: &Received<'_>) -> Result<(), NotWritten> {
        let Ok((_, before)) = &snapshot.refs else { return Ok(()) };
        self.transaction.lock(Path::new("HEAD"), MODE)?;
        let unreadable = |error: refs::Unreadable| Failure::Unreadable(error.to_string());
        let now = refs::read_head(self.git).map_err(unreadable)?;
        let Some(wanted) = &received.head else {
            self.head_stays = !self.holds(&now, received);
            return Ok(());
        };
        if now == *wanted {
            self.head_stays = !self.holds(&now, received);
        } else if now == *before {
            self.transaction.write(Path::new("HEAD"), &wanted.content())?;
            self.is_empty = false;
        } else {
            self.head_stays = true;
            self.notes.push(Note::ReferenceKept { name: "HEAD".to_owned(), kept: None });
        }
        Ok(())
    }

    /// Whether a branch has the command's value, or the command has not changed it.
    fn holds(&self, head: &Head, received: &Received<'_>) -> bool {
        let Head::Branch(name) = head else { return true };
        let is_changed = received.refs.iter().any(|change| change.name == *name);
        !is_changed || self.applied.contains(name)
    }

    fn index(&mut self, received: &Received<'_>) -> Result<(), NotWritten> {
        let Some((before, view)) = &received.indexes else { return Ok(()) };
        self.transaction.lock(Path::new("index"), MODE)?;
        let bytes = indexes::read(self.git).map_err(Failure::from)?;
        let written_at = match self.git.file("index").map_err(Failure::from)? {
            Some((file, _)) => file.metadata()?.mtime(),
            None => 0,
        };
        let tree = |_: &_| None;
        let host = match bytes {
            Some(bytes) => indexes::of_person(&bytes, &|id| indexes::shared(self.git, id), &tree)
                .map_err(Failure::from)?,
            None => Index::default(),
        };
        let accept = |entry: &index::Entry<'_>| received.accepts(entry);
        let terms =
            index::Terms { accept: &accept, skip_worktree: SkipWorktree::Refused, written_at };
        let merged = index::merge(before, view, &host, &terms);
        let paths = |paths: Vec<Vec<u8>>| -> Vec<PathBuf> {
            use std::os::unix::ffi::OsStringExt;
            paths.into_iter().map(|path| std::ffi::OsString::from_vec(path).into()).collect()
        };
        if !merged.conflicts.is_empty() {
            self.notes.push(Note::StagedMeanwhile(paths(merged.conflicts)));
        }
        if !merged.refused.is_empty() {
            let names = paths(merged.refused);
            let names = names.iter().map(|path| format!("index: {}", path.display())).collect();
            self.notes.push(Note::LeftOut(names));
        }
        if merged.is_changed {
            self.transaction.write(Path::new("index"), &merged.index.to_bytes())?;
            self.is_empty = false;
        }
        Ok(())
    }

    fn logs(&mut self, upper: &Upper) -> Result<(), NotWritten> {
        let changes = log::changes(self.git, upper, Bounds::default()).map_err(Failure::from)?;
        for log in changes.logs {
            let is_wanted = match &log.name {
                LogName::Head => !self.head_stays,
                LogName::Ref(name) => self.applied.contains(name),
            };
            if !is_wanted {
                continue;
            }
            let path = log.name.path();
            let is_stash = matches!(&log.name, LogName::Ref(name) if name.as_str() == "refs/stash");
            match log.change {
                Change::Rewritten { whole, .. } if is_stash => {
                    self.transaction.put(&path, &text(&whole), MODE)?;
                }
                Change::Appended(lines) | Change::Rewritten { lines, .. } => {
                    if !lines.is_empty() {
                        self.transaction.append(&path, &text(&lines))?;
                    }
                }
                Change::Deleted => self.transaction.discard(&path)?,
            }
            self.is_empty = false;
        }
        Ok(())
    }
}

fn text(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}
