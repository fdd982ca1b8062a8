//! The changes of a fork as a unified diff.

use std::collections::{HashMap, HashSet};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use toolwright_changes::{ChangeKind, EntryKind, FileDiff, MAX_TEXT_BYTES, lines_within, text_of};
use toolwright_names::printable;

use crate::changes::{Change, Side};
use crate::tree;

/// How many files of the same name, length and permissions are compared with a new one.
const MAX_CANDIDATES: usize = 16;

/// The changes of the texts of a fork.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// A unified diff.
    pub text: String,
    /// Whether it ends early.
    pub is_cut: bool,
}

impl Diff {
    /// Adds the diffs of changes, up to `max` bytes.
    pub(crate) fn of(
        changes: &[Change],
        upper: BorrowedFd<'_>,
        base: BorrowedFd<'_>,
        max: usize,
    ) -> Self {
        let mut diff = Self::default();
        let renames = renames(changes, upper, base);
        let sources: HashSet<&Path> = renames.values().copied().collect();
        for change in changes {
            if change.entry == EntryKind::Directory || sources.contains(&*change.path) {
                continue;
            }
            let file = match renames.get(&*change.path) {
                Some(from) => renamed(from, &change.path),
                None => one(change, upper, base),
            };
            if diff.text.len() + file.len() > max {
                diff.text += lines_within(&file, max - diff.text.len());
                diff.is_cut = true;
                break;
            }
            diff.text += &file;
        }
        diff
    }
}

/// The files that the fork has at another path than the base, as they are: each new path, and the one that is gone. As many
/// of them as a directory has when it was renamed.
fn renames<'c>(
    changes: &'c [Change],
    upper: BorrowedFd<'_>,
    base: BorrowedFd<'_>,
) -> HashMap<&'c Path, &'c Path> {
    let files = |kind: ChangeKind| {
        changes.iter().filter(move |it| (it.kind, it.entry) == (kind, EntryKind::File))
    };
    let mut gone: HashMap<_, Vec<&Path>> = HashMap::new();
    for change in files(ChangeKind::Deleted) {
        if let Some(side) = change.base.filter(|side| side.bytes > 0) {
            let key = (change.path.file_name(), side.mode, side.bytes);
            gone.entry(key).or_default().push(&change.path);
        }
    }
    let mut renames = HashMap::new();
    for change in files(ChangeKind::Created) {
        let Some(side) = change.fork else { continue };
        let key = (change.path.file_name(), side.mode, side.bytes);
        let Some(candidates) = gone.get_mut(&key) else { continue };
        let is_same = |from: &&Path| is_same(base, from, upper, &change.path).unwrap_or(false);
        if let Some(at) = candidates.iter().take(MAX_CANDIDATES).position(is_same) {
            renames.insert(&*change.path, candidates.swap_remove(at));
        }
    }
    renames
}

fn is_same(
    base: BorrowedFd<'_>,
    from: &Path,
    upper: BorrowedFd<'_>,
    to: &Path,
) -> std::io::Result<bool> {
    let file = |root, path| {
        let (parent, name) = tree::parent(root, path)?;
        tree::file(parent, name)
    };
    tree::is_same_file(file(base, from)?, file(upper, to)?)
}

fn renamed(from: &Path, to: &Path) -> String {
    let name = |prefix: &[u8], path: &Path| {
        printable(&[prefix, path.as_os_str().as_bytes()].concat()).into_owned()
    };
    format!(
        "diff {} {}\nrename from {}\nrename to {}\n",
        name(b"a/", from),
        name(b"b/", to),
        name(b"", from),
        name(b"", to)
    )
}

fn one(change: &Change, upper: BorrowedFd<'_>, base: BorrowedFd<'_>) -> String {
    let side = |root, Side { mode, .. }| toolwright_changes::Side {
        mode,
        text: content(root, &change.path),
    };
    let path = change.path.as_os_str().as_bytes();
    let old = change.base.map(|old| side(base, old));
    let FileDiff { heading, body } =
        FileDiff::of(path, old, change.fork.map(|new| side(upper, new)));
    heading + &body
}

/// The text of a file, or where a link leads; `None` where it is no text.
fn content(root: BorrowedFd<'_>, path: &Path) -> Option<String> {
    let (parent, name) = tree::parent(root, path).ok()?;
    let bytes = match tree::link(&parent, name) {
        Ok(text) => text,
        Err(_) => tree::read(&parent, name, MAX_TEXT_BYTES).ok()?,
    };
    text_of(bytes)
}
