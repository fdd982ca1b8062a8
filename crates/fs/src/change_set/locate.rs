//! The files of a change set: found, and read in their turn.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;
use toolwright_reserved::FileId;

use super::step::{Print, StepKind};
use super::{Before, Change, ChangeSet, ChangedFile, Place, Replacement, failed, marks, plan};
use crate::attributes;
use crate::cancel::checkpoint;
use crate::file_queue::{Key, QueueSlot};
use crate::location::{name_of, unnamed};
use crate::open::identity;
use crate::protection::Protection;
use crate::publish;
use crate::read::read_open;
use crate::target::{Around, Old, Target};
use crate::{
    FileKind, FsError, FsErrorKind, LastLink, OpenTarget, Root, TargetKind, UpdateError,
    WriteOptions, deferred_close, open_target, reserved, sweep,
};

/// A set of at most this many files keeps them open until it has ended.
const MAX_OPEN: usize = 64;

/// A name that the set gives or takes.
#[derive(Debug)]
pub(super) struct Located {
    /// The index of its change.
    pub(super) change: usize,
    pub(super) kind: StepKind,
    pub(super) display: String,
    /// Its real path below the root.
    pub(super) place: PathBuf,
    /// The deepest directory that exists.
    pub(super) directory: Arc<OwnedFd>,
    identity: FileId,
    /// A link, which is not followed.
    pub(super) is_link: bool,
    /// It is where the file of its change goes.
    pub(super) is_place: bool,
    /// The directories to be made in it.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
}

impl Located {
    fn key(&self) -> Key {
        let name = self.missing.iter().chain([&self.name]).collect::<PathBuf>().into_os_string();
        Key { directory: self.identity, name }
    }

    /// A link that a file takes the name of.
    pub(super) fn is_replaced_link(&self) -> bool {
        self.is_link && self.kind == StepKind::Update
    }

    /// The names that it may give or take.
    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.missing.iter().chain([&self.name]).map(|name| &**name)
    }

    /// How many components of the place exist already.
    pub(super) fn depth(&self) -> usize {
        self.place.components().count() - self.missing.len() - 1
    }
}

/// Finds every file, and refuses those that may not be changed.
pub(super) fn locate(
    set: &ChangeSet<'_>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Vec<Located>, FsError> {
    let root_path = set.root.path().to_string_lossy();
    let real_root = name_of(set.root.as_fd()).map_err(|errno| unnamed(&root_path, errno))?;
    let mut search = Search {
        root: set.root,
        real_root,
        protection: Protection::of(set.root, options),
        directories: HashMap::new(),
        located: Vec::new(),
    };
    for path in set.emptied {
        let display = path.to_string_lossy();
        if !plan::is_below(path) {
            return Err(FsErrorKind::Escape { via_link: false }.at(display));
        }
        search.protection.check_file(&display, path)?;
    }
    for (index, change) in set.changes.iter().enumerate() {
        checkpoint(cancel)?;
        let named = match change.change {
            Change::Update => LastLink::Followed,
            _ => LastLink::Itself,
        };
        let kind = match change.change {
            Change::Create { .. } | Change::CreateLink => StepKind::Create,
            Change::Update | Change::Replace { .. } => StepKind::Update,
            Change::Move { .. } | Change::MoveOnto { .. } | Change::Delete => StepKind::Delete,
        };
        search.add(index, Role::Is(kind), change.place, named)?;
        match change.change {
            Change::Move { to } => {
                search.add(index, Role::Takes { replaces: false }, to, LastLink::Itself)?;
            }
            Change::MoveOnto { to } => {
                search.add(index, Role::Takes { replaces: true }, to, LastLink::Itself)?;
            }
            _ => {}
        }
    }
    marks::check(&search.located, options.git)?;
    Ok(search.located)
}

/// What a name is for its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The file.
    Is(StepKind),
    /// Where the file goes.
    Takes {
        /// What is there is replaced.
        replaces: bool,
    },
}

struct Search<'a> {
    root: &'a Root,
    real_root: PathBuf,
    protection: Protection<'a>,
    /// Open directories, each only once.
    directories: HashMap<FileId, Arc<OwnedFd>>,
    located: Vec<Located>,
}

impl Search<'_> {
    fn add(
        &mut self,
        change: usize,
        role: Role,
        place: Place<'_>,
        named: LastLink,
    ) -> Result<(), FsError> {
        match place {
            Place::Path(path) => {
                let mut target = open_target::open_below(self.root, path, named)?;
                // Protected files come first: what is there is not revealed.
                self.check_protected(&target)?;
                if target.kind() == TargetKind::Missing {
                    target.check_writable()?;
                }
                self.take(change, role, &target)
            }
            Place::Opened(target) => {
                self.check_protected(target)?;
                self.take(change, role, target)
            }
        }
    }

    fn check_protected(&self, target: &OpenTarget) -> Result<(), FsError> {
        let path = target.display_path();
        let place = target.real_path().strip_prefix(&self.real_root);
        let place = place.map_err(|_| FsErrorKind::Escape { via_link: true }.at(path))?;
        self.protection.check_file(path, place)?;
        self.protection.check_around(path, target.directory().as_fd())
    }

    fn take(&mut self, change: usize, role: Role, target: &OpenTarget) -> Result<(), FsError> {
        let display = target.display_path();
        let place = target.real_path().strip_prefix(&self.real_root);
        let place = place.map_err(|_| FsErrorKind::Escape { via_link: false }.at(display))?;
        let is_there = matches!(target.kind(), TargetKind::File { .. } | TargetKind::Link);
        let kind = match role {
            Role::Is(kind) => kind,
            Role::Takes { replaces: true } if is_there => StepKind::Update,
            Role::Takes { .. } => StepKind::Create,
        };
        match (target.kind(), kind) {
            (TargetKind::Directory, _) => {
                return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display));
            }
            // A program that moves a file to such a name moves it into the directory.
            (TargetKind::Link, _)
                if role == (Role::Takes { replaces: true }) && self.leads_to_directory(target) =>
            {
                return Err(FsErrorKind::NotAFile { kind: FileKind::Directory }.at(display));
            }
            (TargetKind::File { .. } | TargetKind::Link, StepKind::Create) => {
                return Err(FsErrorKind::Exists.at(display));
            }
            (TargetKind::Missing, StepKind::Update | StepKind::Delete) => {
                return Err(FsErrorKind::NotFound.at(display));
            }
            // This character stands for bytes that are not UTF-8. See `write`.
            (TargetKind::Missing, _) if display.contains('\u{fffd}') => {
                let reason = "Path holds U+FFFD, which stands for bytes that are not UTF-8";
                return Err(FsErrorKind::PathInvalid { reason }.at(display));
            }
            _ => {}
        }
        let (directory, missing) = target.unmoved_directory()?;
        let stat =
            rustix::fs::fstat(directory).map_err(failed(display, "looking at its directory"))?;
        reserved::check(display, &stat)?;
        let identity = identity(&stat);
        let directory = if let Some(open) = self.directories.get(&identity) {
            Arc::clone(open)
        } else {
            let open = rustix::io::fcntl_dupfd_cloexec(directory, 0)
                .map_err(failed(display, "opening its directory"))?;
            let open = Arc::new(open);
            self.directories.insert(identity, Arc::clone(&open));
            open
        };
        self.located.push(Located {
            change,
            kind,
            display: display.to_owned(),
            place: place.to_owned(),
            directory,
            identity,
            is_link: target.kind() == TargetKind::Link,
            is_place: matches!(role, Role::Takes { .. }),
            missing: missing.to_vec(),
            name: target.name().as_os_str().to_owned(),
        });
        Ok(())
    }

    fn leads_to_directory(&self, link: &OpenTarget) -> bool {
        let followed = open_target::open_below(self.root, link.display_path(), LastLink::Followed);
        followed.is_ok_and(|one| one.kind() == TargetKind::Directory)
    }
}

/// The files of a set while no other call of this process changes them.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) items: Vec<Item>,
    /// What becomes of each change.
    pub(super) contents: Vec<Content>,
    /// Held until the set has ended.
    _root_lock: publish::OpenDirectoryLock,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) located: Located,
    pub(super) target: Target,
    /// The old file.
    pub(super) old: Option<Old>,
    /// Its content. That of a link is where it leads to.
    pub(super) bytes: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    /// `None` for a deleted file.
    pub(super) new: Option<Vec<u8>>,
    /// It is that of a link.
    pub(super) is_link: bool,
    /// It stays as it is.
    pub(super) is_same: bool,
}

/// Waits for earlier calls on the files, in an order that is the same for every set, and for other
/// sets below the root.
pub(super) fn take_turns(
    set: &ChangeSet<'_>,
    located: Vec<Located>,
    options: &WriteOptions,
    cancel: &AtomicBool,
) -> Result<Set, FsError> {
    let mut ordered: Vec<(Key, Located)> =
        located.into_iter().map(|located| (located.key(), located)).collect();
    let rank = |key: &Key| (key.directory.device, key.directory.inode);
    ordered.sort_by(|(a, _), (b, _)| (rank(a), &a.name).cmp(&(rank(b), &b.name)));
    for pair in ordered.windows(2) {
        if pair[0].0 == pair[1].0 {
            let reason = "Path is that of a file which has another change already";
            return Err(FsErrorKind::PathInvalid { reason }.at(&pair[1].1.display));
        }
    }
    refuse_files_as_directories(&ordered)?;
    let around = Around::of(set.root, options);
    let mut swept = None;
    let mut items = Vec::with_capacity(ordered.len());
    for (key, located) in ordered {
        let slot = QueueSlot::wait(key, &located.display, options.wait, cancel)?;
        let identity = located.identity;
        if swept != Some(identity) {
            sweep::sweep(located.directory.as_fd(), identity, &located.name, Some(&around));
            swept = Some(identity);
        }
        let target = Target::with_slot(Arc::clone(&located.directory), located.name.clone(), slot);
        items.push(Item { located, target, old: None, bytes: None });
    }
    items.sort_by_key(|item| (item.located.change, item.located.is_place));
    let root_path = set.root.path().to_string_lossy();
    let root_lock =
        publish::OpenDirectoryLock::take(set.root.as_fd(), &root_path, options.wait, cancel)?;
    // Another process may have been killed in a set since the last look at the root.
    sweep::settle_all(set.root.as_fd(), &around);
    let contents = set.changes.iter().map(|_| Content::default()).collect();
    Ok(Set { items, contents, _root_lock: root_lock })
}

/// No file can be created where another one needs a directory.
fn refuse_files_as_directories(ordered: &[(Key, Located)]) -> Result<(), FsError> {
    let created: HashSet<&Path> = ordered
        .iter()
        .filter(|(_, located)| located.kind == StepKind::Create)
        .map(|(_, located)| &*located.place)
        .collect();
    for (_, located) in ordered {
        let mut directories = located.place.ancestors().skip(1).take(located.missing.len());
        if directories.any(|directory| created.contains(directory)) {
            let reason = "Path is below that of a file which is created too";
            return Err(FsErrorKind::PathInvalid { reason }.at(&located.display));
        }
    }
    Ok(())
}

impl Set {
    /// Reads the old files and has the new contents made.
    pub(super) fn read<E>(
        &mut self,
        set: &ChangeSet<'_>,
        cancel: &AtomicBool,
        transform: &mut impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, E>,
    ) -> Result<(), UpdateError<E>> {
        let limits = set.limits;
        let mut total: u64 = 0;
        let mut count = |path: &str, bytes: usize, result: bool| {
            total = total.saturating_add(bytes as u64);
            for (bytes, limit) in [(bytes as u64, limits.file_bytes), (total, limits.total_bytes)] {
                if bytes > limit {
                    return Err(FsErrorKind::TooLarge { bytes, limit, result }.at(path));
                }
            }
            Ok(())
        };
        let keeps_open = self.items.len() <= MAX_OPEN;
        for item in &mut self.items {
            let change = &set.changes[item.located.change].change;
            item.read(limits.file_bytes, keeps_open, cancel)?;
            let path = &item.located.display;
            if let Some(old) = &item.bytes {
                count(path, old.len(), false)?;
            }
            if item.located.is_place {
                continue; // the content is that of the file which goes there
            }
            let content = &mut self.contents[item.located.change];
            let old = item.bytes.as_deref().unwrap_or_default();
            let before = Before { bytes: old, is_link: item.located.is_link };
            let new = transform(item.located.change, before).map_err(UpdateError::Refused)?;
            count(path, new.len(), true)?;
            publish::within_size_limit(path, new.len() as u64)?;
            content.is_same = matches!(change, Change::Update) && new == old;
            content.is_link = match change {
                Change::CreateLink | Change::Replace { by: Replacement::Link } => true,
                Change::Move { .. } | Change::MoveOnto { .. } => item.located.is_link,
                _ => false,
            };
            content.new = Some(new);
        }
        self.forget_deleted();
        let contents = &self.contents;
        self.items.retain(|item| !contents[item.located.change].is_same);
        Ok(())
    }

    /// A deleted file has no new content, whatever was made of it.
    fn forget_deleted(&mut self) {
        let mut has_place: Vec<bool> = vec![false; self.contents.len()];
        for item in &self.items {
            has_place[item.located.change] |= item.located.kind != StepKind::Delete;
        }
        for (content, has_place) in self.contents.iter_mut().zip(has_place) {
            if !has_place {
                content.new = None;
            }
        }
    }

    /// Closes the old files, which frees their space.
    pub(super) fn close_later(self) {
        for file in self.items.into_iter().filter_map(|item| item.old?.file) {
            deferred_close::close_later(file);
        }
    }

    /// The files that will have changed, in the order of the changes.
    pub(super) fn changed(&self) -> Vec<ChangedFile> {
        let mut files: Vec<ChangedFile> = Vec::with_capacity(self.contents.len());
        for Item { located, old, bytes, .. } in &self.items {
            let Content { new, .. } = &self.contents[located.change];
            let is_replaced = located.is_place && located.kind == StepKind::Update;
            if let Some(file) = files.last_mut().filter(|_| located.is_place) {
                if !is_replaced {
                    file.moved_to = Some(located.place.clone());
                    continue;
                }
                // A move over a file is two changes: one file goes, and the other is replaced.
                file.new = None;
            }
            files.push(ChangedFile {
                change: located.change,
                path: located.place.clone(),
                moved_to: None,
                old: bytes.clone(),
                new: new.clone(),
                mode: old.as_ref().map(|old| attributes::permissions(&old.stat)),
                was_link: located.is_link,
                is_replaced,
            });
        }
        files
    }
}

impl Item {
    /// Reads the old file. Where one is created, nothing may be there.
    fn read(&mut self, limit: u64, keeps_open: bool, cancel: &AtomicBool) -> Result<(), FsError> {
        let Self { located, target, .. } = self;
        let path = &located.display;
        if located.kind == StepKind::Create {
            return match target.stat() {
                _ if !located.missing.is_empty() => Ok(()),
                Err(Errno::NOENT) => Ok(()),
                Ok(_) => Err(FsErrorKind::Exists.at(path)),
                Err(errno) => Err(failed(path, "looking at it")(errno)),
            };
        }
        if located.is_link {
            let (text, stat) = target.read_link(path)?;
            self.bytes = Some(text.into_encoded_bytes());
            self.old = Some(Old { file: None, stat });
            return Ok(());
        }
        let (file, stat) = target.open_file(path)?;
        if target.existing(path)?.is_none() {
            return Err(FsErrorKind::NotFound.at(path));
        }
        self.bytes = Some(read_open(&file, path, limit, cancel)?);
        self.old = Some(Old { file: keeps_open.then_some(file), stat });
        Ok(())
    }

    /// The print of the old file.
    pub(super) fn out(&self) -> Option<Print> {
        self.old.as_ref().map(|old| Print::of(&old.stat))
    }
}
