//! Whether anything has changed in a fork, and whether somebody is about to change more.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::snapshot::Snapshot;
use crate::directory::Directory;

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
    let differs = |(directory, seeds): &(&str, &[&str])| {
        // One more than the seeds is enough to tell, beside an index.
        let Ok(Some(entries)) = changes.entries(directory, seeds.len() + 1) else { return true };
        entries.iter().any(|entry| {
            let is_seed = seeds.iter().any(|seed| entry.name == *seed);
            let is_index = *directory == "." && entry.name == "index";
            !(is_seed || is_index && snapshot.has_index_of(changes))
        })
    };
    SEEDS.iter().any(differs)
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
            let holds_locks = directory != Path::new(".")
                || ["refs", "worktrees", "modules"].iter().any(|name| entry.name == *name);
            if entry.kind == FileType::Directory && holds_locks {
                left.push(directory.join(entry.name));
            }
        }
    }
    true
}
