//! Covered paths that the host moves away.
//!
//! A mount goes with the file or directory that it lies on. The kernel reports no change of the mounts then, and what
//! the host puts into the old place has no cover: an editor that keeps a backup renames a file and writes a new one.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::mounts::layout::{Kind, Layout};

/// Becomes readable when the host has moved something that was covered.
#[derive(Debug)]
pub(super) struct Moves(OwnedFd);

impl Moves {
    /// Begins to watch what is about to be covered, and the directories above it that a command could move.
    pub(super) fn begin(layout: &Layout) -> Result<Self, Errno> {
        let moves = Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?);
        moves.watch_all(layout);
        Ok(moves)
    }

    /// Watches what has taken the place of something.
    pub(super) fn watch_all(&self, layout: &Layout) {
        let covered =
            |kind| matches!(kind, Kind::Pinned | Kind::Protected | Kind::Fork | Kind::Closed);
        for entry in layout.entries().iter().filter(|entry| covered(entry.kind)) {
            let base = layout.writable_above(&entry.path);
            let above = entry.path.ancestors().skip(1);
            let above = above.take_while(|above| base.is_some_and(|base| *above != base));
            for path in [&*entry.path].into_iter().chain(above) {
                self.watch(path);
            }
        }
    }

    /// Watches what lies at an open place that is about to be closed.
    pub(super) fn watch_place(&self, place: BorrowedFd<'_>) {
        self.watch(Path::new(&format!("/proc/self/fd/{}", place.as_raw_fd())));
    }

    fn watch(&self, path: &Path) {
        // What is not there cannot move, and what may not be read stays unwatched.
        let _ = inotify::add_watch(&self.0, path, WatchFlags::MOVE_SELF);
    }

    /// Whether something has moved since the last question.
    pub(super) fn have_come(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut have_come = false;
        while let Ok(event) = events.next() {
            have_come |=
                event.events().intersects(ReadFlags::MOVE_SELF | ReadFlags::QUEUE_OVERFLOW);
        }
        have_come
    }
}

impl AsFd for Moves {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
