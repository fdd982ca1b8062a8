//! Closing paths by granting everything around them.
//!
//! For each directory above a closed path, its other entries are granted, and readable paths below
//! a closed path are granted again. The rules bind the files that are there now. Files made later
//! in one of those directories are not readable, and renaming changes nothing.
//!
//! A link among the entries needs no rule, since its target counts. A rule through it would open a
//! closed target.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::system;
use toolwright_sandbox::plan::{FileIdentity, Plan};

/// The most entries that are granted. Each costs some microseconds and kernel memory, and a
/// directory of a million files above a closed path is not worth that.
const MAX_ENTRIES: usize = 8192;

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// A closed path lies in a writable one. If only its surroundings were granted, a command could
    /// not read what it has just written there, so everything is granted.
    pub(super) left_open: bool,
    /// How many entries were not granted that should have been.
    pub(super) left_out: usize,
}

/// A part of a path, with the plan's decisions on the path that ends in it.
#[derive(Debug, Default)]
struct Node {
    open: Option<bool>,
    /// The file that it must be, if it was granted by name.
    granted: Option<FileIdentity>,
    below: BTreeMap<OsString, Node>,
}

/// Grants `rights` on everything but the closed paths of the plan.
pub(super) fn grant(
    ruleset: BorrowedFd<'_>,
    root: &OwnedFd,
    rights: u64,
    plan: &Plan,
    temporary: &[PathBuf],
) -> io::Result<Outcome> {
    let writable = || plan.writable.iter().chain(temporary);
    let is_writable = |path: &&PathBuf| writable().any(|writable| path.starts_with(writable));
    let (left, closed): (Vec<_>, Vec<_>) =
        plan.closed.iter().filter(|path| !plan.readable.contains(path)).partition(is_writable);
    let mut tree = Node::default();
    for path in closed {
        tree.at(path).open = Some(false);
    }
    for path in plan.readable.iter().chain(writable()) {
        tree.at(path).open = Some(true);
    }
    for granted in &plan.granted {
        tree.at(&granted.path).granted = Some(granted.identity);
    }
    let outcome = Outcome { left_open: !left.is_empty(), left_out: 0 };
    let mut walk = Walk { ruleset, rights, room: MAX_ENTRIES, outcome };
    walk.visit(root.as_fd(), &tree, true)?;
    Ok(walk.outcome)
}

impl Node {
    fn at(&mut self, path: &Path) -> &mut Self {
        path.components().fold(self, |node, component| match component {
            Component::Normal(name) => node.below.entry(name.to_owned()).or_default(),
            _ => node,
        })
    }

    /// Whether something is closed below.
    fn has_closed(&self) -> bool {
        self.below.values().any(|node| node.open == Some(false) || node.has_closed())
    }
}

struct Walk<'a> {
    ruleset: BorrowedFd<'a>,
    rights: u64,
    room: usize,
    outcome: Outcome,
}

impl Walk<'_> {
    /// Grants at and below `at`, which is `node` of the tree; `open` is what holds above it.
    fn visit(&mut self, at: BorrowedFd<'_>, node: &Node, open: bool) -> io::Result<()> {
        if let Some(granted) = &node.granted
            && !granted.is(&FileIdentity::of(at)?)
        {
            // Another file by now, which is not granted.
            return Ok(());
        }
        let open = node.open.unwrap_or(open);
        if open && !node.has_closed() {
            return self.add(at);
        }
        if open {
            self.around(at, node);
        }
        for (name, below) in &node.below {
            // Gone since, or a link put in its place: then nothing is granted.
            if let Some(entry) = enter(at, name) {
                self.visit(entry.as_fd(), below, open)?;
            }
        }
        Ok(())
    }

    /// Grants the entries of a directory that are not in the tree.
    fn around(&mut self, at: BorrowedFd<'_>, node: &Node) {
        let Ok(mut names) = list(at) else {
            self.outcome.left_out += 1;
            return;
        };
        names.retain(|(name, _)| !node.below.contains_key(name));
        if names.len() > self.room {
            // A directory opens more than a file does.
            names.sort_by_key(|(_, kind)| *kind != FileType::Directory);
            self.outcome.left_out += names.len() - self.room;
            names.truncate(self.room);
        }
        self.room -= names.len();
        for (name, _) in names {
            // An entry that is gone, or takes no rule, is not readable.
            if let Some(entry) = enter(at, &name) {
                self.outcome.left_out += usize::from(self.add(entry.as_fd()).is_err());
            }
        }
    }

    fn add(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        Ok(system::grant(self.ruleset, at, self.rights)?)
    }
}

fn enter(at: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).ok()
}

/// The entries of a directory but for links.
fn list(at: BorrowedFd<'_>) -> Result<Vec<(OsString, FileType)>, Errno> {
    let mut entries = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(openat(at, c".", flags, Mode::empty())?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." && entry.file_type() != FileType::Symlink {
            entries.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}
