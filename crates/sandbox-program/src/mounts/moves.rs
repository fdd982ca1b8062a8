//! Covered paths that the host moves away.
//!
//! A mount goes with the file or directory that it lies on. The kernel reports no change of the mounts then, and what
//! the host puts into the old place has no cover: an editor that keeps a backup renames a file and writes a new one.
//! So the supervisor looks at the paths again and again while a command runs. The kernel would tell of moves, by one of
//! the few queues of inotify that a user has, which are left to the person's own programs.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use rustix::fs::lstat;

use crate::mounts::layout::{Kind, Layout};

/// What lies at a path: its device and its number.
type Identity = (u64, u64);

/// What lay at the covered paths, and at the directories above them that a command could move.
#[derive(Debug, Default)]
pub(super) struct Moves(RefCell<Vec<(PathBuf, Identity)>>);

impl Moves {
    /// Notes what lies there now. What is not there cannot move.
    pub(super) fn note(&self, layout: &Layout) {
        *self.0.borrow_mut() = lying(layout);
    }

    /// Whether something else lies at one of them, or nothing.
    pub(super) fn have_come(&self) -> bool {
        self.0.borrow().iter().any(|(path, noted)| identity(path) != Some(*noted))
    }

    /// Whether just what was noted lies there, and nothing at a path that was empty.
    pub(super) fn are_as_noted(&self, layout: &Layout) -> bool {
        *self.0.borrow() == lying(layout)
    }
}

/// What lies at the covered paths and above them, in order.
fn lying(layout: &Layout) -> Vec<(PathBuf, Identity)> {
    let covered = |kind| matches!(kind, Kind::Pinned | Kind::Protected | Kind::Fork | Kind::Closed);
    let mut found = Vec::new();
    for entry in layout.entries().iter().filter(|entry| covered(entry.kind)) {
        let base = layout.writable_above(&entry.path);
        let above = entry.path.ancestors().skip(1);
        let above = above.take_while(|above| base.is_some_and(|base| *above != base));
        for path in [&*entry.path].into_iter().chain(above) {
            if let Some(identity) = identity(path) {
                found.push((path.to_owned(), identity));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn identity(path: &Path) -> Option<Identity> {
    lstat(path).ok().map(|found| (found.st_dev, found.st_ino))
}
