//! Making forks.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, XattrFlags, fsetxattr, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, UnmountFlags, move_mount, unmount};

use crate::overlay::{Sync, memory, overlay};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// What makes a directory hide the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// A directory of this mount namespace that nothing else reaches. What a fork writes to has to be attached
/// somewhere while the fork is made.
#[derive(Debug)]
pub struct Hidden(OwnedFd);

impl Hidden {
    /// Takes the directory. Nothing may be attached to it.
    #[must_use]
    pub fn new(directory: OwnedFd) -> Self {
        Self(directory)
    }

    /// Its descriptor.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Runs `make` while a new file system in memory is attached.
    fn with_memory<T>(&self, make: impl FnOnce(&OwnedFd) -> Result<T, Errno>) -> Result<T, Errno> {
        let memory = memory()?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&memory, c"", &self.0, c"", flags)?;
        let result = make(&memory);
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        // A descriptor or an overlay keeps the file system itself.
        unmount(path, UnmountFlags::DETACH)?;
        result
    }
}

/// A fork of a directory.
#[derive(Debug)]
pub struct Fork {
    /// What to attach: the directory with the changes.
    pub mount: OwnedFd,
    /// The changes alone, as the kernel keeps them. Deleted names are character devices of number 0; a
    /// directory that replaces another one has the extended attribute `user.overlay.opaque`.
    pub changes: OwnedFd,
}

impl Fork {
    /// Makes a fork of `base`, a directory on a mount of this namespace. `replaced` names a directory in it that is
    /// empty in the fork; `fill` makes the first entries of that.
    pub fn new(
        hidden: &Hidden,
        base: impl AsFd,
        replaced: Option<&str>,
        fill: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        hidden.with_memory(|memory| {
            let (changes, work) = directories(memory, 0)?;
            if let Some(name) = replaced {
                mkdirat(&changes, name, Mode::from_raw_mode(0o755))?;
                let directory = openat(&changes, name, DIRECTORY, Mode::empty())?;
                fsetxattr(&directory, OPAQUE, b"y", XattrFlags::empty())?;
                fill(directory.as_fd())?;
            }
            let mount = overlay(base.as_fd(), changes.as_fd(), work.as_fd(), Sync::Asked)?;
            Ok(Self { mount, changes })
        })
    }

    /// Makes forks of several directories, of whose changes nobody is told. All of these share one file system in
    /// memory, and so the half of the memory that the kernel lets it take. `None`: of this one there can be no fork.
    pub fn several(hidden: &Hidden, bases: &[impl AsFd]) -> Result<Vec<Option<OwnedFd>>, Errno> {
        hidden.with_memory(|memory| {
            let make = |(number, base): (usize, &_)| {
                let (changes, work) = directories(memory, number)?;
                overlay(AsFd::as_fd(base), changes.as_fd(), work.as_fd(), Sync::Asked)
            };
            Ok(bases.iter().enumerate().map(|one| make(one).ok()).collect())
        })
    }

    /// An empty directory that only its maker attaches, as a fork of nothing.
    pub fn empty(hidden: &Hidden, mode: Mode) -> Result<Self, Errno> {
        hidden.with_memory(|memory| {
            mkdirat(memory, "upper", mode)?;
            let changes = openat(memory, "upper", DIRECTORY, Mode::empty())?;
            let flags = rustix::mount::OpenTreeFlags::AT_EMPTY_PATH
                | rustix::mount::OpenTreeFlags::OPEN_TREE_CLONE
                | rustix::mount::OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let mount = rustix::mount::open_tree(&changes, c"", flags)?;
            Ok(Self { mount, changes })
        })
    }
}

/// Makes the directories of one fork: for the changes, and for the kernel's work on them.
fn directories(memory: &OwnedFd, number: usize) -> Result<(OwnedFd, OwnedFd), Errno> {
    let make = |name: &str| {
        let name = format!("{name}{number}");
        mkdirat(memory, &name, Mode::from_raw_mode(0o755))?;
        openat(memory, &name, DIRECTORY, Mode::empty())
    };
    let (changes, work) = (make("upper")?, make("work")?);
    // Also finds out whether this file system has such attributes. Without them some calls of
    // commands would fail much later.
    fsetxattr(&changes, "user.toolwright", b"y", XattrFlags::empty())?;
    Ok((changes, work))
}

/// Makes a fork of `base` whose changes stay in `changes`, a directory that outlives this process. `work` is an empty
/// directory of the same file system. All are on mounts of this namespace, and no other fork may have the same changes
/// at the same time: the kernel does not refuse that.
///
/// Nothing that is written waits for the disk. After a crash of the machine the changes may be damaged, and
/// `work/incompat/volatile` says so.
pub fn kept_fork(base: impl AsFd, changes: impl AsFd, work: impl AsFd) -> Result<OwnedFd, Errno> {
    overlay(base.as_fd(), changes.as_fd(), work.as_fd(), Sync::Never)
}
