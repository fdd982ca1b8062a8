//! What makes git take a directory for a repository.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};

use crate::directory::{Directory, Entry};

/// By what git discovers a repository in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A directory `.git`.
    Directory,
    /// A file `.git`, which leads elsewhere.
    File,
    /// A link `.git`, or something else of that name.
    Other,
    /// The directory itself has the form of a git directory.
    Bare,
}

/// What is in a directory by which git would take it for a repository. There may be two: git takes the directory
/// itself where its `.git` is none.
#[must_use]
pub fn signs_of(top: &Directory, path: &Path) -> Vec<Sign> {
    let entries = top.entries(path, usize::MAX).ok().flatten().unwrap_or_default();
    in_entries(top, path, &entries)
}

/// Whether a name can be a part of a sign.
pub(super) fn is_one(name: &[u8]) -> bool {
    [".git", "HEAD", "commondir", "objects", "refs"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// As [`signs_of`], of a directory that has been read.
pub(super) fn in_entries(top: &Directory, path: &Path, entries: &[Entry]) -> Vec<Sign> {
    let mut has = [false; 4];
    let mut dot_git: Option<&Entry> = None;
    for entry in entries {
        let name = entry.name.as_bytes();
        // A file system may not tell capital letters from others.
        for (has, known) in has.iter_mut().zip(["HEAD", "commondir", "objects", "refs"]) {
            *has |= name.eq_ignore_ascii_case(known.as_bytes());
        }
        // One that tells them has both, and git looks for this one.
        let is_exact = name == b".git";
        if is_exact || name.eq_ignore_ascii_case(b".git") && dot_git.is_none() {
            dot_git = Some(entry);
        }
    }
    let [head, common, objects, refs] = has;
    let of_dot_git = dot_git.map(|entry| match kind(top, path, entry) {
        FileType::Directory => Sign::Directory,
        FileType::RegularFile => Sign::File,
        _ => Sign::Other,
    });
    let is_bare = head && (common || objects && refs);
    of_dot_git.into_iter().chain(is_bare.then_some(Sign::Bare)).collect()
}

/// Some file systems do not say what an entry is.
fn kind(top: &Directory, path: &Path, entry: &Entry) -> FileType {
    if entry.kind != FileType::Unknown {
        return entry.kind;
    }
    let found = statat(top, path.join(&entry.name), AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
}
