//! Writing what was read into the repository, under git's own locks.

mod conflict_refs;
mod logs;
mod work_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::area::{After, place};
use super::read::{Failure, Received};
use super::settings::Settings;
use super::{Note, Snapshot, Terms, indexes, linked, modules, states};
use crate::config::Value;
use crate::database::Database;
use crate::directory::Directory;
use crate::index::{self, Index, SkipWorktree};
use crate::log::Line;
use crate::object::Id;
use crate::refs::{self, Head, Outcome, RefName};
use crate::transaction::{Transaction, TransactionError};
use crate::upper::Upper;

/// The mode of a new file, before the mask of the process.
pub(super) const MODE: u32 = 0o666;

/// Why nothing was written.
pub(super) enum NotWritten {
    /// Another program has a lock.
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

/// Why a reference could not be compared or written.
fn not_updated(outcome: Outcome, name: &str) -> NotWritten {
    match outcome {
        Outcome::Refused(error) => error.into(),
        Outcome::Unreadable(error) => Failure::Unreadable(error.to_string()).into(),
        _ => Failure::Unreadable(format!("{name} was not written")).into(),
    }
}

/// Writes everything, or nothing.
pub(super) fn apply(
    git: &Directory,
    snapshot: &Snapshot,
    upper: &Upper,
    (received, base): (&Received<'_>, &Database),
    terms: &Terms<'_>,
    work_tree: Option<&[Value]>,
) -> Result<Vec<Note>, NotWritten> {
    let objects = git.below("objects").map_err(Failure::from)?;
    let objects = objects.ok_or_else(|| Failure::Unreadable("it has no objects".to_owned()))?;
    // Objects that nothing refers to do no harm, should the rest fail.
    received.objects.store(&objects)?;
    received.large_files.store(git).map_err(Failure::from)?;
    let mut apply = Apply {
        git,
        transaction: Transaction::begin(git)?,
        notes: Vec::new(),
        applied: BTreeSet::new(),
        kept: BTreeMap::new(),
        is_empty: true,
        terms,
    };
    apply.references(received)?;
    for area in &received.areas {
        if area.linked.is_removed {
            apply.remove(area, snapshot, terms)?;
            continue;
        }
        if let Some((lead, lines)) = &area.new {
            if !apply.new_area(area, lead, lines)? {
                continue;
            }
        } else if !apply.head(area, received)? {
            apply.log_of_head(area, upper, received)?;
        }
        apply.index(area, upper, received)?;
        apply.linked(area, (upper, snapshot, terms), (received, base))?;
    }
    apply.logs(upper, received)?;
    let notes = &mut apply.notes;
    let mut settings = Settings { git, transaction: &mut apply.transaction, notes, work_tree };
    apply.is_empty &= !settings.merge(snapshot, upper, terms)?;
    let objects = (received, base);
    let (place, transaction) = ((git, upper, Path::new("")), &mut apply.transaction);
    let marks = &snapshot.marks;
    apply.is_empty &= !states::write(place, marks, objects, transaction, &mut apply.notes)?;
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
    /// The directories below `refs/toolwright` where values are kept, and of which commit.
    kept: BTreeMap<String, Id>,
    /// Whether nothing is to be written.
    is_empty: bool,
    terms: &'g Terms<'g>,
}

impl Apply<'_> {
    fn references(&mut self, received: &Received<'_>) -> Result<(), NotWritten> {
        let outcomes = refs::update(&mut self.transaction, self.git, &received.refs);
        let outcomes = outcomes.map_err(|outcome| not_updated(outcome, "packed-refs"))?;
        for (change, outcome) in received.refs.iter().zip(outcomes) {
            match outcome {
                Outcome::Written => {
                    self.is_empty = false;
                    self.applied.insert(change.name.clone());
                }
                Outcome::Done => drop(self.applied.insert(change.name.clone())),
                Outcome::Moved { .. } | Outcome::InTheWay => self.keep(Path::new(""), change)?,
                outcome => return Err(not_updated(outcome, change.name.as_str())),
            }
        }
        Ok(())
    }

    /// Returns whether the log of `HEAD` is to stay as it is: its branch has another value than the command's.
    fn head(&mut self, area: &After, received: &Received<'_>) -> Result<bool, NotWritten> {
        let Some(before) = &area.head_before else { return Ok(true) };
        let path = area.prefix.join("HEAD");
        self.transaction.lock(&path, MODE)?;
        let unreadable = |error: refs::Unreadable| Failure::Unreadable(error.to_string());
        let directory = self.git.below(place(&area.prefix)).map_err(Failure::from)?;
        let Some(directory) = directory else { return Ok(true) };
        let now = refs::read_head(&directory).map_err(unreadable)?;
        let Some(wanted) = &area.head else { return Ok(!self.holds(&now, received)) };
        if now == *wanted {
            return Ok(!self.holds(&now, received));
        }
        if now != *before {
            let name = path.to_string_lossy().into_owned();
            let kept = match wanted {
                Head::Detached(id) => self.keep_value(*id, RefName::kept_head)?,
                Head::Branch(_) => None,
            };
            self.notes.push(Note::ReferenceKept { name, kept });
            return Ok(true);
        }
        self.transaction.write(&path, &wanted.content())?;
        self.is_empty = false;
        Ok(false)
    }

    /// The files of a linked work tree that the command has made. Returns whether its place was free.
    fn new_area(&mut self, area: &After, lead: &[u8], lines: &[Line]) -> Result<bool, NotWritten> {
        let Some(head) = &area.head else { return Ok(false) };
        let path = |name: &str| area.prefix.join(name);
        self.transaction.lock(&path("HEAD"), MODE)?;
        if self.git.file(path("HEAD")).map_err(Failure::from)?.is_some() {
            // Somebody has made one of this name meanwhile, or an import that was killed.
            let now = self.git.read(path(linked::LEAD), lead.len() as u64);
            if matches!(now, Ok(Some(now)) if now == lead) {
                return Ok(false);
            }
            let name = format!("{} (another one has its name)", area.prefix.display());
            self.notes.push(Note::LeftOut(vec![name]));
            return Ok(false);
        }
        self.transaction.put(&path("commondir"), b"../..\n", MODE)?;
        self.transaction.put(&path(linked::LEAD), lead, MODE)?;
        self.transaction.write(&path("HEAD"), &head.content())?;
        if !lines.is_empty() {
            self.transaction.put(&path("logs/HEAD"), &logs::text(lines), MODE)?;
        }
        self.is_empty = false;
        Ok(true)
    }

    /// Whether a branch has the command's value, or the command has not changed it.
    fn holds(&self, head: &Head, received: &Received<'_>) -> bool {
        let Head::Branch(name) = head else { return true };
        let is_changed = received.refs.iter().any(|change| change.name == *name);
        !is_changed || self.applied.contains(name)
    }

    fn index(
        &mut self,
        area: &After,
        upper: &Upper,
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        let Some((before, view)) = &area.indexes else { return Ok(()) };
        let path = area.prefix.join("index");
        self.transaction.lock(&path, MODE)?;
        let directory = self.git.below(place(&area.prefix)).map_err(Failure::from)?;
        let bytes = match &directory {
            Some(directory) => indexes::read(directory).map_err(Failure::from)?,
            None => None,
        };
        let written_at = match self.git.file(&path).map_err(Failure::from)? {
            Some((file, _)) => file.metadata()?.mtime(),
            None => 0,
        };
        let tree = |_: &_| None;
        let host = match bytes {
            Some(bytes) => {
                indexes::of_person(&bytes, &|id| indexes::shared(self.git, &area.prefix, id), &tree)
                    .map_err(Failure::from)?
            }
            None => Index::default(),
        };
        let is_main = area.prefix.as_os_str().is_empty();
        let may_be_staged = |path: &[u8]| {
            self.terms.holds_git_directories
                && (!is_main || modules::may_be_staged(self.git, self.terms, path))
        };
        let accept = |entry: &index::Entry<'_>| received.accepts(entry, &may_be_staged);
        // A path may be left out of the work tree where it is, and where somebody has asked for that.
        let is_absent = |path: &[u8]| {
            use std::os::unix::ffi::OsStrExt;
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            area.top.as_ref().is_some_and(|top| top.join(path).symlink_metadata().is_err())
        };
        let asked = area.prefix.join("info/sparse-checkout");
        let is_sparse = [self.git, upper.directory()]
            .iter()
            .any(|place| matches!(place.file(&asked), Ok(Some(_))));
        let skip_worktree =
            if is_sparse { SkipWorktree::Allowed(&is_absent) } else { SkipWorktree::Refused };
        let terms = index::Terms { accept: &accept, skip_worktree, written_at };
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
            self.transaction.write(&path, &merged.index.to_bytes())?;
            self.is_empty = false;
        }
        Ok(())
    }
}
