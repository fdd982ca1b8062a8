//! Trees.

use std::cmp::Ordering;
use std::iter;

use super::Malformed;
use crate::name::is_allowed_tree_entry;
use crate::object::{Id, Kind};

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// 40000: a directory.
    Tree,
    /// 100644, and 100664 of old histories, which git reads as 100644.
    File,
    /// 100755: a program.
    Program,
    /// 120000: a symbolic link.
    Link,
    /// 160000: a commit of another repository.
    Submodule,
}

impl FileMode {
    fn read(digits: &[u8]) -> Option<Self> {
        Some(match digits {
            // The leading zero is in trees that other programs wrote. Git reads it as the same.
            b"40000" | b"040000" => Self::Tree,
            b"100644" | b"100664" => Self::File,
            b"100755" => Self::Program,
            b"120000" => Self::Link,
            b"160000" => Self::Submodule,
            _ => return None,
        })
    }

    /// The kind of object that it names in this repository.
    #[must_use]
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Tree => Some(Kind::Tree),
            Self::File | Self::Program | Self::Link => Some(Kind::Blob),
            Self::Submodule => None,
        }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry<'a> {
    /// What it is.
    pub mode: FileMode,
    /// Its name, one component of a path.
    pub name: &'a [u8],
    /// The object.
    pub id: Id,
}

/// The entries of a tree. Names, order and duplicates are not checked.
pub fn tree_entries(
    mut content: &[u8],
) -> impl Iterator<Item = Result<TreeEntry<'_>, Malformed>> + '_ {
    iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let entry = first(&mut content);
        if entry.is_err() {
            content = &[];
        }
        Some(entry)
    })
}

fn first<'a>(content: &mut &'a [u8]) -> Result<TreeEntry<'a>, Malformed> {
    // No accepted mode has more than six digits.
    let space = content.iter().take(7).position(|byte| *byte == b' ').ok_or(Malformed::Mode)?;
    let mode = FileMode::read(&content[..space]).ok_or(Malformed::Mode)?;
    let rest = &content[space + 1..];
    let end = rest.iter().position(|byte| *byte == 0).ok_or(Malformed::Cut)?;
    let (id, after) = rest[end + 1..].split_first_chunk().ok_or(Malformed::Cut)?;
    *content = after;
    Ok(TreeEntry { mode, name: &rest[..end], id: Id::new(*id) })
}

/// Checks a tree, and lists what it refers to.
pub(super) fn references(content: &[u8]) -> Result<Vec<(Id, Kind)>, Malformed> {
    let mut references = Vec::new();
    let mut files: Vec<&[u8]> = Vec::new();
    let mut before: Option<TreeEntry<'_>> = None;
    for entry in tree_entries(content) {
        let entry = entry?;
        if !is_allowed_tree_entry(entry.name) {
            return Err(Malformed::Name);
        }
        if entry.id == Id::NONE {
            return Err(Malformed::Nothing);
        }
        if before.is_some_and(|before| order(&before, &entry) != Ordering::Less) {
            return Err(Malformed::Order);
        }
        // `a` comes before `a.c`, and the directory `a` after it: only files whose names begin this one can
        // be the same name.
        while files.last().is_some_and(|file| !entry.name.starts_with(file)) {
            files.pop();
        }
        if entry.mode == FileMode::Tree {
            if files.iter().rev().any(|file| *file == entry.name) {
                return Err(Malformed::Order);
            }
        } else {
            files.push(entry.name);
        }
        references.extend(entry.mode.kind().map(|kind| (entry.id, kind)));
        before = Some(entry);
    }
    Ok(references)
}

/// Git's order: names of directories as if they ended in `/`.
fn order(one: &TreeEntry<'_>, other: &TreeEntry<'_>) -> Ordering {
    let shared = one.name.len().min(other.name.len());
    let next = |entry: &TreeEntry<'_>| {
        let end = (entry.mode == FileMode::Tree).then_some(b'/');
        entry.name.get(shared).copied().or(end)
    };
    one.name[..shared].cmp(&other.name[..shared]).then_with(|| next(one).cmp(&next(other)))
}
