//! Whether anything has changed in a fork, and whether somebody is about to change more.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::modules::{MAX_MODULES, MODULES};
use super::snapshot::Snapshot;
use crate::directory::{Directory, Entry};

/// What a fork begins with, and what is in it.
const SEEDS: [(&str, &[&str]); 4] = [
    (".", &["objects"]),
    ("objects", &["info", "pack"]),
    ("objects/info", &["alternates"]),
    ("objects/pack", &[]),
];
/// What git has while an operation of several steps goes on.
const UNDER_WAY: [&str; 8] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
    "REBASE_HEAD",
];
/// How many names are looked at for a lock. Where there are more, somebody is busy.
const MAX_NAMES: usize = 10_000;

/// Whether commands have changed anything. Where git has only looked at files again, the index differs in
/// nothing but that, and the fork counts as unchanged.
pub fn has_changes(changes: &Directory, snapshot: &mut Snapshot) -> bool {
    SEEDS.iter().any(|(directory, seeds)| {
        // An index, submodules and one more than the seeds are enough to tell.
        let Ok(Some(entries)) = changes.entries(directory, seeds.len() + 3) else { return true };
        entries.iter().any(|entry| {
            let is_seed = seeds.iter().any(|seed| entry.name == *seed);
            let differs = *directory != "." || top_differs(changes, entry, snapshot);
            !is_seed && differs
        })
    })
}

/// Whether an entry of a git directory says something else than the repository.
fn top_differs(changes: &Directory, entry: &Entry, snapshot: &mut Snapshot) -> bool {
    if entry.name == "index" {
        return !snapshot.has_index_of(changes);
    }
    entry.name != MODULES || modules_differ(changes, snapshot)
}

fn modules_differ(changes: &Directory, snapshot: &mut Snapshot) -> bool {
    let mut left = vec![PathBuf::from(MODULES)];
    while let Some(path) = left.pop() {
        let Ok(Some(directory)) = changes.below(&path) else { return true };
        let Ok(Some(entries)) = directory.entries(".", MAX_MODULES) else { return true };
        for entry in entries {
            let path = path.join(&entry.name);
            if entry.kind != FileType::Directory {
                return true;
            }
            match (snapshot.module_mut(&path), directory.below(&entry.name)) {
                (Some(Some(module)), Ok(Some(below))) => {
                    let Ok(Some(entries)) = below.entries(".", MAX_NAMES) else { return true };
                    if entries.iter().any(|entry| top_differs(&below, entry, module)) {
                        return true;
                    }
                }
                (None, _) => left.push(path),
                _ => return true,
            }
        }
        if left.len() > MAX_MODULES {
            return true;
        }
    }
    false
}

/// Whether no git is in the middle of something, as far as its files tell.
#[must_use]
pub fn is_quiet(changes: &Directory) -> bool {
    let mut left = vec![PathBuf::from(".")];
    let mut seen = 0;
    while let Some(directory) = left.pop() {
        let Ok(entries) = changes.entries(&directory, MAX_NAMES) else { return false };
        for entry in entries.into_iter().flatten() {
            seen += 1;
            let path = Path::new(&entry.name);
            let is_lock = path.extension().is_some_and(|ending| ending == "lock");
            let is_under_way = UNDER_WAY.iter().any(|name| entry.name == *name);
            // A whiteout is the end of an operation.
            let is_there = entry.kind != FileType::CharacterDevice;
            if is_there && (is_lock || is_under_way) || seen > MAX_NAMES {
                return false;
            }
            let holds_locks = directory != Path::new(".") && entry.name != "objects"
                || ["refs", "worktrees", "modules"].iter().any(|name| entry.name == *name);
            if entry.kind == FileType::Directory && holds_locks {
                left.push(directory.join(entry.name));
            }
        }
    }
    true
}
