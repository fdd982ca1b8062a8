//! The files of a change set while it has its turn on them: read, and given their new contents.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use super::locate::Located;
use super::step::{Print, StepKind};
use super::{Before, Change, ChangeSet, ChangedFile, Replacement, failed};
use crate::file_queue::{Key, QueueSlot};
use crate::read::read_open;
use crate::target::{Around, Old, Target};
use crate::{
    FsError, FsErrorKind, UpdateError, WriteOptions, attributes, deferred_close, publish, sweep,
};

/// A set of at most this many files keeps them open until it has ended.
const MAX_OPEN: usize = 64;

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
