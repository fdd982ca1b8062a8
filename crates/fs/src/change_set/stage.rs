//! Writes the plan of a change set and its new files, before anything is changed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::execute::{Execution, sync_directory};
use super::files::{Item, Set};
use super::plan::Plan;
use super::settle::{Active, finish, hold};
use super::step::{Print, Step, StepKind, look};
use super::{Change, ChangeSet, Replacement, failed, publish};
use crate::attributes;
use crate::cancel::checkpoint;
use crate::deferred_close::with_space;
use crate::root::O_PATH;
use crate::target::{self, Old, Target};
use crate::temporary::{self, NEW_FILE, PlanState, SetId, Temporary};
use crate::{Content, Durability, FsError, FsErrorKind, Refusal, WriteOptions};

/// Makes the changes. Returns the directories that were made.
pub(super) fn run(
    change_set: &ChangeSet<'_>,
    set: &Set,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Vec<PathBuf>, FsError> {
    if set.items.is_empty() {
        return Ok(Vec::new());
    }
    let base = change_set.root.as_fd();
    let names = set.items.iter().flat_map(|item| item.located.names());
    let _turn = options.git.turn(names);
    let (id, _active, draft) = draft(base, &change_set.root.path().to_string_lossy())?;
    let mut staging = Staging {
        change_set,
        set,
        options,
        cancel,
        id,
        draft,
        plan: outline(change_set, set),
        open: HashMap::new(),
        made: Vec::new(),
        open_files: Vec::new(),
    };
    let staged = staging.write().and_then(|()| staging.commit());
    let Staging { mut plan, open, made, open_files: _open_files, .. } = staging;
    plan.made = made.iter().map(|made| made.place.clone()).collect();
    let execution = Execution {
        base,
        set: id,
        plan: &plan,
        open: RefCell::new(open),
        made: made.into_iter().map(|made| (made.parent, made.name)).collect(),
        // The root, if it is one of them: its path is the empty one, and the first.
        git: options.git,
        locked: plan.directories.first().filter(|path| path.as_os_str().is_empty()).map(|_| 0),
        lockable: RefCell::new(HashMap::new()),
        is_later: false,
        durability: options.durability,
    };
    if let Err(error) = staged {
        // Nothing has changed. What cannot be removed now is removed by a later call.
        let _ = finish(&execution, PlanState::Draft);
        return Err(error);
    }
    publish::publish(&execution, set)?;
    Ok(plan.made)
}

/// Creates the draft of a new set.
pub(super) fn draft(
    base: BorrowedFd<'_>,
    root_path: &str,
) -> Result<(SetId, Active, File), FsError> {
    let in_root = |operation| failed(root_path, operation);
    loop {
        let id = SetId::new();
        let active = Active::new(id);
        let name = id.plan(PlanState::Draft);
        let file =
            with_space(|| rustix::fs::openat(base, &name, NEW_FILE, Mode::from_raw_mode(0o600)))
                .map_err(in_root("creating a file in the root directory"))?;
        let file = File::from(file);
        match hold(&file, base, id) {
            Ok(true) => return Ok((id, active, file)),
            Ok(false) => {}
            Err(errno) => {
                let _ = rustix::fs::unlinkat(base, &name, AtFlags::empty());
                return Err(in_root("locking a file in the root directory")(errno));
            }
        }
    }
}

/// An old file, and what it was when it was read.
type Source<'a> = (&'a Target, &'a Old);

/// Which directories the set works in and makes.
fn outline(change_set: &ChangeSet<'_>, set: &Set) -> Plan {
    let mut made = BTreeSet::new();
    let mut directories = BTreeSet::new();
    for Item { located, .. } in &set.items {
        let parent = located.place.parent().unwrap_or(Path::new(""));
        directories.insert(parent.to_owned());
        let depth = located.depth();
        let missing = parent.ancestors().filter(|path| path.components().count() > depth);
        made.extend(missing.map(Path::to_owned));
    }
    Plan {
        // In this order a directory precedes those in it.
        made: made.into_iter().collect(),
        directories: directories.into_iter().collect(),
        emptied: change_set.emptied.to_vec(),
        steps: Vec::new(),
    }
}

struct Staging<'a> {
    change_set: &'a ChangeSet<'a>,
    set: &'a Set,
    options: &'a WriteOptions,
    cancel: &'a AtomicBool,
    id: SetId,
    draft: File,
    plan: Plan,
    /// The directories of the plan, by their index.
    open: HashMap<usize, Arc<OwnedFd>>,
    /// The directories that this call has made.
    made: Vec<Made>,
    /// Some of the new files. While they are open their inode numbers are not used again, so a file
    /// that took the place of one is known from one that was written to.
    open_files: Vec<File>,
}

/// The most new files that are kept open.
const MAX_OPEN_FILES: usize = 32;

/// A directory that was made.
struct Made {
    parent: Arc<OwnedFd>,
    name: OsString,
    place: PathBuf,
}

impl Staging<'_> {
    /// Writes the draft, the missing directories and the new files.
    fn write(&mut self) -> Result<(), FsError> {
        let root_path = self.change_set.root.path().to_string_lossy();
        let outline = self.plan.outline();
        crate::publish::write_all(&self.draft, &root_path, outline.as_bytes(), self.cancel)?;
        let set = self.set;
        // The order of the steps: nobody should miss a file that is moved.
        for kind in [StepKind::Create, StepKind::Update, StepKind::Delete] {
            for item in set.items.iter().filter(|item| item.located.kind == kind) {
                checkpoint(self.cancel)?;
                let directory = self.directory(item)?;
                let step = self.stage(item, directory)?;
                self.plan.steps.push(step);
            }
        }
        Ok(())
    }

    /// The index of the directory of an item. On its first use it is made if it is missing, and
    /// marked.
    fn directory(&mut self, item: &Item) -> Result<usize, FsError> {
        let located = &item.located;
        let path = &located.display;
        let parent = located.place.parent().unwrap_or(Path::new(""));
        // They are in order.
        let index = self.plan.directories.binary_search_by(|one| (**one).cmp(parent));
        let index = index.unwrap_or_default();
        if self.open.contains_key(&index) {
            return Ok(index);
        }
        let mut directory = Arc::clone(&located.directory);
        let mut place: PathBuf = located.place.components().take(located.depth()).collect();
        for name in &located.missing {
            place.push(name);
            let git = self.options.git;
            // The root is locked by the set.
            let is_root = place.parent() == Some(Path::new(""));
            let _locked = if is_root { None } else { git.lock(directory.as_fd(), name) };
            git.check_new(path, directory.as_fd(), name)?;
            match with_space(|| rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777))) {
                Ok(()) => {
                    let (parent, name) = (Arc::clone(&directory), name.clone());
                    self.made.push(Made { parent, name, place: place.clone() });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(Self::vanished(path, "creating a directory", errno)),
            }
            let flags = O_PATH
                | rustix::fs::OFlags::DIRECTORY
                | rustix::fs::OFlags::NOFOLLOW
                | rustix::fs::OFlags::CLOEXEC;
            directory = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                Ok(next) => Arc::new(next),
                // A link was put here, which may lead anywhere.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    return Err(FsErrorKind::Conflict.at(path));
                }
                Err(errno) => return Err(Self::vanished(path, "opening its directory", errno)),
            };
        }
        let mark = self.id.mark();
        let made = with_space(|| {
            rustix::fs::openat(&directory, &mark, NEW_FILE, Mode::from_raw_mode(0o600))
        });
        match made {
            Ok(_) => {}
            Err(errno) => return Err(Self::beside(path, item.old.is_some(), errno)),
        }
        self.open.insert(index, directory);
        Ok(index)
    }

    /// Writes the new file of an item beside its target.
    fn stage(&mut self, item: &Item, directory: usize) -> Result<Step, FsError> {
        let located = &item.located;
        let path = &located.display;
        let step = |sequence, new| Step {
            kind: located.kind,
            directory,
            name: located.name.clone(),
            sequence,
            new,
            out: item.out(),
        };
        if located.kind == StepKind::Delete {
            return Ok(step(temporary::next_sequence(), None));
        }
        let content = &self.set.contents[located.change];
        let bytes = content.new.as_deref().unwrap_or_default();
        if content.is_link {
            let in_directory = self.open[&directory].as_fd();
            let (sequence, stat) = temporary::create_link(in_directory, bytes, self.id)
                .map_err(|errno| Self::beside(path, item.old.is_some(), errno))?;
            return Ok(step(sequence, Some(Print::of(&stat))));
        }
        let (source, mode) = self.source(item);
        // The new bytes must not be readable before the old file's mode is set on them.
        let is_private = source.is_some() || mode.is_some();
        let first = Mode::from_raw_mode(if is_private { 0o600 } else { 0o666 });
        let temporary = match Temporary::create_step(self.open[&directory].as_fd(), first, self.id)
        {
            Ok(temporary) => temporary,
            Err(errno) => return Err(Self::beside(path, item.old.is_some(), errno)),
        };
        let reopened;
        let old = match source {
            None => None,
            Some((target, old)) => {
                let old = if let Some(file) = &old.file {
                    let now = rustix::fs::fstat(file).map_err(failed(path, "looking at it"))?;
                    unchanged(path, old, &now)?;
                    old
                } else {
                    reopened = reopen(path, target, old)?;
                    &reopened
                };
                if let Err(refused) = target.carry_over(old, &temporary) {
                    let options = WriteOptions { allow_in_place: false, ..WriteOptions::default() };
                    target::in_place_or_refuse(path, refused, &options)?;
                }
                Some(old)
            }
        };
        target::fill(&temporary, path, Content::Bytes(bytes), old, self.options, self.cancel)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&temporary.file, attributes::mode_of(mode))
                .map_err(failed(path, "setting its mode"))?;
        }
        let stat =
            rustix::fs::fstat(&temporary.file).map_err(failed(path, "looking at the new file"))?;
        let sequence = temporary.sequence();
        if self.open_files.len() < MAX_OPEN_FILES {
            self.open_files.extend(temporary.file.try_clone());
        }
        temporary.leave();
        Ok(step(sequence, Some(Print::of(&stat))))
    }

    /// The file whose attributes a new file gets, or else its permissions.
    fn source<'a>(&'a self, item: &'a Item) -> (Option<Source<'a>>, Option<u32>) {
        let change = item.located.change;
        let source = match self.change_set.changes[change].change {
            Change::Create { mode } | Change::Replace { by: Replacement::File { mode } } => {
                return (None, mode);
            }
            Change::CreateLink | Change::Replace { by: Replacement::Link } => return (None, None),
            // The place that it leaves comes first.
            Change::Move { .. } | Change::MoveOnto { .. } => {
                let at = self.set.items.partition_point(|one| one.located.change < change);
                self.set.items.get(at)
            }
            Change::Update | Change::Delete => Some(item),
        };
        let source = source.and_then(|source| Some((&source.target, source.old.as_ref()?)));
        (source, None)
    }

    /// Checks everything once more, completes the plan and commits it.
    fn commit(&mut self) -> Result<(), FsError> {
        let root_path = self.change_set.root.path().to_string_lossy();
        for step in &self.plan.steps {
            let directory = self.open[&step.directory].as_fd();
            let current = look(directory, &step.name);
            if !current.is_ok_and(|current| current == step.out) {
                return Err(FsErrorKind::Conflict.at(self.display(step)));
            }
        }
        let steps = self.plan.steps();
        crate::publish::write_all(&self.draft, &root_path, steps.as_bytes(), self.cancel)?;
        let base = self.change_set.root.as_fd();
        if self.options.durability == Durability::Fsync {
            crate::publish::sync(&self.draft, &root_path)?;
            for directory in self.open.values() {
                sync_directory(directory.as_fd())
                    .map_err(failed(&root_path, "syncing a directory"))?;
            }
        }
        checkpoint(self.cancel)?; // the last moment at which nothing has happened
        let (draft, plan) = (self.id.plan(PlanState::Draft), self.id.plan(PlanState::Plan));
        rustix::fs::renameat(base, OsStr::new(&draft), base, OsStr::new(&plan))
            .map_err(failed(&root_path, "committing the changes"))
    }

    fn display(&self, step: &Step) -> String {
        display_of(self.set, &self.plan, step)
    }

    /// No file can be created beside a target.
    fn beside(path: &str, is_existing: bool, errno: Errno) -> FsError {
        match errno {
            Errno::ACCESS | Errno::PERM if is_existing => FsErrorKind::NotReplaceable {
                refusal: Refusal::DirectoryNotWritable,
                source: errno.into(),
            }
            .at(path),
            errno => Self::vanished(path, "creating a file beside it", errno),
        }
    }

    /// A directory that is gone was there a moment ago.
    fn vanished(path: &str, operation: &'static str, errno: Errno) -> FsError {
        match errno {
            Errno::NOENT => FsErrorKind::Conflict.at(path),
            errno => FsError::at(path, operation, errno),
        }
    }
}

/// Opens the old file again.
fn reopen(path: &str, target: &Target, old: &Old) -> Result<Old, FsError> {
    let (file, now) = target.open_file(path).map_err(|error| match error.kind {
        FsErrorKind::NotFound | FsErrorKind::NotAFile { .. } => FsErrorKind::Conflict.at(path),
        _ => error,
    })?;
    unchanged(path, old, &now)?;
    Ok(Old { file: Some(file), stat: now })
}

/// Fails if a file is not as it was when it was read.
fn unchanged(path: &str, old: &Old, now: &rustix::fs::Stat) -> Result<(), FsError> {
    if Print::of(now) == Print::of(&old.stat) {
        Ok(())
    } else {
        Err(FsErrorKind::Conflict.at(path))
    }
}

/// The path of a step as the caller wrote it.
pub(super) fn display_of(set: &Set, plan: &Plan, step: &Step) -> String {
    let place = plan.directories[step.directory].join(&step.name);
    let item = set.items.iter().find(|item| item.located.place == place);
    item.map_or_else(|| place.to_string_lossy().into_owned(), |item| item.located.display.clone())
}
