//! What makes git take a directory for a repository.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};

use crate::directory::{Directory, Entry};

/// By what git discovers a repository in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What is in a directory, if git would take it for a repository.
#[must_use]
pub fn sign_of(top: &Directory, path: &Path) -> Option<Sign> {
    let entries = top.entries(path, usize::MAX).ok()??;
    in_entries(top, path, &entries)
}

/// As [`sign_of`], of a directory that has been read.
pub(super) fn in_entries(top: &Directory, path: &Path, entries: &[Entry]) -> Option<Sign> {
    let mut has = [false; 4];
    let mut dot_git = None;
    for entry in entries {
        let name = entry.name.as_bytes();
        // A file system may not tell capital letters from others.
        for (has, known) in has.iter_mut().zip(["HEAD", "commondir", "objects", "refs"]) {
            *has |= name.eq_ignore_ascii_case(known.as_bytes());
        }
        if name.eq_ignore_ascii_case(b".git") {
            dot_git = Some(kind(top, path, entry));
        }
    }
    let [head, common, objects, refs] = has;
    if let Some(kind) = dot_git {
        return Some(match kind {
            FileType::Directory => Sign::Directory,
            FileType::RegularFile => Sign::File,
            _ => Sign::Other,
        });
    }
    (head && (common || objects && refs)).then_some(Sign::Bare)
}

/// Some file systems do not say what an entry is.
fn kind(top: &Directory, path: &Path, entry: &Entry) -> FileType {
    if entry.kind != FileType::Unknown {
        return entry.kind;
    }
    let found = statat(top, path.join(&entry.name), AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
}
