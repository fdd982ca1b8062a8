//! Changes of the tree since it was built.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fstat, lstat, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, retry_on_intr};

use crate::mounts::own_changes::SeenChanges;
use crate::mounts::{Tree, placeholder};

/// Changes of the mounts of this process. Readable, with priority, when there is one.
#[derive(Debug)]
pub(super) struct MountEvents(OwnedFd);

impl MountEvents {
    pub(super) fn open() -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        open("/proc/self/mountinfo", flags, Mode::empty()).map(Self)
    }

    /// Whether there was one since the last question.
    pub(super) fn have_come(&self) -> Result<bool, Errno> {
        let mut polled = [PollFd::new(&self.0, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        retry_on_intr(|| poll(&mut polled, Some(&now)))?;
        Ok(polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR))
    }
}

impl AsFd for MountEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reports when a tree no longer matches its plan.
///
/// A covered path loses its mount when the host removes it or renames another file over it. The new
/// file is neither protected nor closed. A root that is removed and made anew is not the directory
/// in the tree, and the host may make what was absent. So a worker asks before each command, and a
/// supervisor whose tree has changed is replaced.
#[derive(Debug)]
pub struct Watch {
    mounts: MountEvents,
    root: Option<OwnedFd>,
    placeholders: Vec<OwnedFd>,
    /// Paths that have to be absent.
    absent: Vec<PathBuf>,
    changed: Cell<bool>,
    /// The supervisor's own changes, which are none.
    own: Option<SeenChanges>,
}

impl Watch {
    /// Begins to watch the mounts of this process, after the last one of its own.
    pub fn begin() -> Result<Self, Errno> {
        let mounts = MountEvents::open()?;
        Ok(Self {
            mounts,
            root: None,
            placeholders: Vec::new(),
            absent: Vec::new(),
            changed: Cell::new(false),
            own: None,
        })
    }

    /// As [`begin`](Self::begin), and watches the root and the placeholders of the tree too.
    pub fn of(tree: &Tree, root: &Path) -> Result<Self, Errno> {
        let copies = tree.placeholders.iter().map(|one| fcntl_dupfd_cloexec(one.as_fd(), 3));
        Ok(Self {
            root: Some(open(root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?),
            own: tree.own_changes.as_ref().map(SeenChanges::of),
            placeholders: copies.collect::<Result<_, Errno>>()?,
            ..Self::begin()?
        })
    }

    /// Watches these paths too, at which nothing may be.
    pub(crate) fn keeping_absent(self, absent: Vec<PathBuf>) -> Self {
        Self { absent, ..self }
    }

    /// Whether it has changed. From then on it always has.
    pub fn has_changed(&self) -> Result<bool, Errno> {
        let mounts_have =
            self.mounts.have_come()? && !self.own.as_ref().is_some_and(SeenChanges::explain);
        let is_gone = |fd: &OwnedFd| fstat(fd).map_or(true, |stat| stat.st_nlink == 0);
        let is_used = |fd: &OwnedFd| fstat(fd).map_or(true, |stat| !placeholder::is_unused(&stat));
        if mounts_have
            || self.root.as_ref().is_some_and(is_gone)
            || self.placeholders.iter().any(is_used)
            || self.absent.iter().any(|path| lstat(path).is_ok())
        {
            self.changed.set(true);
        }
        Ok(self.changed.get())
    }
}
