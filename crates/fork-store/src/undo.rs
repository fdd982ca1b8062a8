//! Taking an apply back.
//!
//! Before an apply changes the base, it is noted what the base has at each path and what it will have. The note stays
//! when the fork is discarded. An undo is one change set as well, and is refused where the base has something else by
//! then: that is somebody's work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io::BufWriter;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Mode, fchmod, mkdirat, unlinkat};
use toolwright_changes::{ChangeKind, EntryKind};
use toolwright_fs::{
    ChangeSet, ChangedFile, FileChange, FileIdentity, FsErrorKind, GitBorder, Place, Replacement,
    Root, UpdateError, Watch, WriteOptions,
};

use crate::base_changes::{LIMITS, lost_race};
use crate::changes::{Change, Conflict, PERMISSIONS, Side};
use crate::error::{ForkError, Result};
use crate::fork::Fork;
use crate::store::{APPLIED, NEW, Store, new_file};
use crate::tree;
use crate::undo_note::{Entry, Note, Step};

/// What was taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The changes of the base: `fork` is what it has again. None if there are conflicts.
    pub undone: Vec<Change>,
    /// Why nothing was taken back: what somebody has changed since.
    pub conflicts: Vec<Change>,
}

impl Fork {
    /// Notes an apply that is about to be made. The note counts from its name on.
    pub(crate) fn note_apply(&self, files: &[ChangedFile], changes: &[Change]) -> Result<PathBuf> {
        let directory = self.store.join(APPLIED);
        let failed = |path: &Path| ForkError::io(path, "noting what is applied");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(failed(&directory))?;
        let last = numbers(&self.store, self.id()).last().copied().unwrap_or_default();
        let path = directory.join(format!("{}.{}", self.id(), last + 1));
        let mut new = path.clone().into_os_string();
        new.push(NEW);
        let new = PathBuf::from(new);
        let note = Note {
            fork: self.id().to_owned(),
            base: self.base.clone(),
            identity: FileIdentity::of(&self.base_fd).map_err(failed(&self.base))?,
            steps: files.iter().filter_map(|file| step(file, changes)).collect(),
            made: self.made(changes),
            removed: changes
                .iter()
                .filter(|it| it.entry == EntryKind::Directory && it.kind == ChangeKind::Deleted)
                .filter_map(|it| Some((it.path.clone(), it.base?.mode)))
                .collect(),
            contents: Vec::new(),
        };
        let contents = files.iter().filter(|file| find(file, changes).is_some());
        let contents = contents.filter_map(|file| file.old.as_deref());
        let _ = fs::remove_file(&new);
        new_file(&new)
            .and_then(|file| note.write(&mut BufWriter::new(file), contents))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(failed(&path))?;
        Ok(path)
    }

    /// The directories that are made by an apply, outer ones first.
    fn made(&self, changes: &[Change]) -> Vec<PathBuf> {
        let mut made = BTreeSet::new();
        let mut known = BTreeSet::new();
        for change in changes.iter().filter(|change| change.kind == ChangeKind::Created) {
            let own = usize::from(change.entry != EntryKind::Directory);
            for above in change.path.ancestors().skip(own) {
                if above.as_os_str().is_empty() || !known.insert(above.to_owned()) {
                    break;
                }
                if let Ok(None) = tree::look_below(self.base_fd.as_fd(), above) {
                    made.insert(above.to_owned());
                }
            }
        }
        made.into_iter().collect()
    }

    /// Takes back the last apply of this fork. Its changes are changes again.
    pub fn undo(&self, cancel: &AtomicBool) -> Result<Undone> {
        if !self.is_locked() {
            return Err(ForkError::Busy { id: self.id().to_owned() });
        }
        let (path, note) = last_note(&self.store, self.id())?;
        let undone = take_back(&path, &note, cancel)?;
        self.note_applied(undone.undone.iter().map(|change| change.path.clone()))?;
        Ok(undone)
    }
}

impl Store {
    /// Takes back the last apply of a fork, which may have been discarded since.
    pub fn undo(&self, id: &str, cancel: &AtomicBool) -> Result<Undone> {
        match self.take(id) {
            Ok(fork) => fork.undo(cancel),
            // A fork that is open elsewhere takes the undone paths for changes of somebody else.
            Err(
                ForkError::NotFound { .. } | ForkError::Damaged { .. } | ForkError::Busy { .. },
            ) => {
                let (path, note) = last_note(&self.path, id)?;
                take_back(&path, &note, cancel)
            }
            Err(error) => Err(error),
        }
    }
}

/// The numbers of the applies of a fork that can be undone, in their order.
fn numbers(store: &Path, id: &str) -> Vec<u64> {
    let Ok(directory) = tree::open(&store.join(APPLIED)) else { return Vec::new() };
    let names = tree::names(directory).unwrap_or_default();
    let number = |name: &std::ffi::OsString| {
        name.to_str()?.strip_prefix(id)?.strip_prefix('.')?.parse::<u64>().ok()
    };
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn last_note(store: &Path, id: &str) -> Result<(PathBuf, Note)> {
    let nothing = || ForkError::NothingApplied { id: id.to_owned() };
    let number = numbers(store, id).pop().ok_or_else(nothing)?;
    let (directory, name) = (store.join(APPLIED), format!("{id}.{number}"));
    let failed = ForkError::io(&directory, "reading what was applied");
    let open = tree::open(&directory).map_err(|errno| failed(errno.into()))?;
    let bytes = tree::read(open, name.as_ref(), u64::MAX - 1).map_err(failed)?;
    let note = Note::read(&bytes).filter(|note| note.fork == id);
    Ok((directory.join(name), note.ok_or_else(nothing)?))
}

fn find<'c>(file: &ChangedFile, changes: &'c [Change]) -> Option<&'c Change> {
    let at = changes.binary_search_by(|change| change.path.cmp(&file.path)).ok()?;
    changes.get(at)
}

/// What an apply does at a path.
fn step(file: &ChangedFile, changes: &[Change]) -> Option<Step> {
    let change = find(file, changes)?;
    let mode = file.mode.map_or(0, |mode| mode & PERMISSIONS);
    let old = file.old.as_ref().map(|old| Entry::of(file.was_link, mode, old));
    let new =
        file.new.as_ref().zip(change.fork).map(|(new, side)| {
            Entry::of(change.entry == EntryKind::Link, side.mode, new).digest(new)
        });
    Some(Step { path: file.path.clone(), old, new })
}

/// Makes an undo, all of it or nothing.
fn take_back(path: &Path, note: &Note, cancel: &AtomicBool) -> Result<Undone> {
    let base = tree::open(&note.base)
        .map_err(|errno| ForkError::Base { path: note.base.clone(), source: errno.into() })?;
    let found = FileIdentity::of(&base)
        .map_err(|source| ForkError::Base { path: note.base.clone(), source })?;
    if !found.is(&note.identity) {
        return Err(ForkError::Replaced { path: note.base.clone() });
    }
    let changes: Vec<Change> = note.steps.iter().map(|step| change(&base, step)).collect();
    // The process was killed before it applied anything, or somebody has put back everything by hand.
    let is_back = |(step, content): (&Step, &[u8])| {
        let now = entry(&base, &step.path).map(|now| now.map(|(now, digest)| (now.length, digest)));
        let was = step.old.map(|old| (old.length, old.digest(content)));
        now.is_ok_and(|now| now == was)
    };
    if !note.steps.is_empty() && note.with_contents().all(is_back) {
        fs::remove_file(path).map_err(ForkError::io(path, "noting what was undone"))?;
        return Ok(Undone::default());
    }
    let conflicts: Vec<Change> =
        changes.iter().filter(|change| change.conflict.is_some()).cloned().collect();
    if !conflicts.is_empty() {
        return Ok(Undone { undone: Vec::new(), conflicts });
    }
    let mut undone = match write(&base, note, cancel) {
        Ok(()) => changes,
        Err(UpdateError::Refused(moved)) => return Ok(moved_since(changes, &moved)),
        Err(UpdateError::Fs(error)) => {
            let moved = lost_race(&error).ok_or(error)?;
            return Ok(moved_since(changes, &BTreeSet::from([moved])));
        }
    };
    let directory = |path: &PathBuf, kind, side| Change {
        path: path.clone(),
        kind,
        entry: EntryKind::Directory,
        base: None,
        fork: side,
        conflict: None,
        is_protected: false,
        is_merged: false,
    };
    undone.extend(note.removed.iter().map(|(path, mode)| {
        directory(path, ChangeKind::Created, Some(Side { mode: *mode, bytes: 0 }))
    }));
    // A directory that holds files of another program stays.
    let is_gone = |path: &&PathBuf| matches!(tree::look_below(base.as_fd(), path), Ok(None));
    let gone = note.made.iter().filter(is_gone);
    undone.extend(gone.map(|path| directory(path, ChangeKind::Deleted, None)));
    undone.sort_by(|one, other| one.path.cmp(&other.path));
    fs::remove_file(path).map_err(ForkError::io(path, "noting what was undone"))?;
    Ok(Undone { undone, conflicts })
}

fn moved_since(changes: Vec<Change>, moved: &BTreeSet<PathBuf>) -> Undone {
    let conflicts = changes.into_iter().filter(|change| moved.contains(&change.path));
    let conflicts =
        conflicts.map(|change| Change { conflict: Some(Conflict::Changed), ..change }).collect();
    Undone { undone: Vec::new(), conflicts }
}

/// The change of one undo step, and whether a later edit conflicts with it.
fn change(base: &OwnedFd, step: &Step) -> Change {
    let now = entry(base, &step.path);
    let conflict = match (&step.new, &now) {
        (Some(new), Ok(Some((_, now)))) if new == now => None,
        (None, Ok(None)) => None,
        (None, _) => Some(Conflict::Created),
        (Some(_), Ok(None)) => Some(Conflict::Deleted),
        (Some(_), _) => Some(Conflict::Changed),
    };
    let side = |entry: &Entry| Side { mode: entry.mode, bytes: entry.length as u64 };
    let is_link = step.old.as_ref().map_or_else(
        || now.as_ref().is_ok_and(|now| now.as_ref().is_some_and(|(now, _)| now.is_link)),
        |old| old.is_link,
    );
    Change {
        path: step.path.clone(),
        kind: match (&step.old, &step.new) {
            (Some(_), None) => ChangeKind::Created,
            (None, _) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        },
        entry: if is_link { EntryKind::Link } else { EntryKind::File },
        base: now.ok().flatten().map(|(now, _)| side(&now)),
        fork: step.old.as_ref().map(side),
        conflict,
        is_protected: false,
        is_merged: false,
    }
}

/// What is at a path of the base, and its digest. An error: something that no apply has made.
fn entry(base: &OwnedFd, path: &Path) -> std::io::Result<Option<(Entry, String)>> {
    let Some(stat) = tree::look_below(base.as_fd(), path)? else { return Ok(None) };
    let (parent, name) = tree::parent(base.as_fd(), path)?;
    let is_link = tree::kind(&stat) == rustix::fs::FileType::Symlink;
    let content = if is_link {
        tree::link(parent, name)?
    } else {
        tree::read(parent, name, LIMITS.file_bytes)?
    };
    let entry = Entry::of(is_link, stat.st_mode & PERMISSIONS, &content);
    Ok(Some((entry, entry.digest(&content))))
}

/// Compares once more when the engine has read what it is about to replace.
struct AsApplied<'a>(BTreeMap<&'a Path, &'a Step>);

impl Watch<BTreeSet<PathBuf>> for AsApplied<'_> {
    fn before(&mut self, files: &[ChangedFile]) -> std::result::Result<(), BTreeSet<PathBuf>> {
        let is_as_applied = |file: &ChangedFile| {
            let mode = file.mode.map_or(0, |mode| mode & PERMISSIONS);
            let now = file.old.as_ref();
            let now = now.map(|now| Entry::of(file.was_link, mode, now).digest(now));
            self.0.get(&*file.path).is_some_and(|step| step.new == now)
        };
        let moved: BTreeSet<PathBuf> =
            files.iter().filter(|file| !is_as_applied(file)).map(|it| it.path.clone()).collect();
        if moved.is_empty() { Ok(()) } else { Err(moved) }
    }

    fn after(&mut self) {}
}

fn write(
    base: &OwnedFd,
    note: &Note,
    cancel: &AtomicBool,
) -> std::result::Result<(), UpdateError<BTreeSet<PathBuf>>> {
    let copy = rustix::io::fcntl_dupfd_cloexec(base, 0).map_err(|errno| {
        FsErrorKind::Root { source: errno.into() }.at(note.base.to_string_lossy())
    })?;
    let root = Root::of_open(copy, note.base.clone());
    let changes: Vec<FileChange<'_>> = note.steps.iter().map(inverse).collect();
    let set = ChangeSet { root: &root, changes: &changes, emptied: &note.made, limits: LIMITS };
    let options = WriteOptions { git: GitBorder::Closed, ..WriteOptions::default() };
    let mut watch = AsApplied(note.steps.iter().map(|step| (&*step.path, step)).collect());
    let mut made = BTreeSet::new();
    if !changes.is_empty() {
        let contents: Vec<&[u8]> = note.with_contents().map(|(_, content)| content).collect();
        let content = |index: usize, _: toolwright_fs::Before<'_>| Ok(contents[index].to_vec());
        made.extend(set.run_watched(&options, cancel, content, &mut watch)?.made);
    }
    // Of directories nothing is lost: one that cannot be made again was empty, and one that is not removed is in use.
    for path in note.made.iter().rev() {
        if let Ok((parent, name)) = tree::parent(base.as_fd(), path) {
            let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
    for (path, mode) in &note.removed {
        let Ok((parent, name)) = tree::parent(base.as_fd(), path) else { continue };
        let is_new = mkdirat(&parent, name, Mode::RWXU).is_ok() || made.contains(path);
        if is_new && let Ok(directory) = tree::directory(&parent, name) {
            let _ = fchmod(directory, Mode::from_raw_mode(*mode));
        }
    }
    Ok(())
}

fn inverse(step: &Step) -> FileChange<'_> {
    use toolwright_fs::Change;
    let place = Place::Path(step.path.to_str().unwrap_or_default());
    let change = match (&step.old, &step.new) {
        (None, _) => Change::Delete,
        (Some(old), None) if old.is_link => Change::CreateLink,
        (Some(old), None) => Change::Create { mode: Some(old.mode) },
        (Some(old), Some(_)) if old.is_link => Change::Replace { by: Replacement::Link },
        (Some(old), Some(_)) => Change::Replace { by: Replacement::File { mode: Some(old.mode) } },
    };
    FileChange { place, change }
}
