//! Removing a directory of the host on which something lies for commands.
//!
//! The kernel removes no directory on which something is mounted in the namespace of the caller, and takes away what is
//! mounted on it in all others. So a thread without mounts removes it: it is covered until it is gone, and no
//! command reaches it in between.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use toolwright_fork::{Fork, Hidden};

use super::kernel::{self, Attributes};
use crate::errno;

/// Where a thread attaches its new root. Every tree has it.
const NEW_ROOT: &str = "/proc";
/// How often another process may put something into a directory.
const TRIES: usize = 4;

/// What has become of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revealed {
    /// It is gone.
    Removed,
    /// It is there, and nothing lies on it any more.
    Uncovered,
}

/// An empty directory that nobody can write, on one that is about to be removed. Writing is refused from then on, so
/// nothing is lost when what lies below is found empty. Otherwise it is lifted, and what was refused can be tried again.
#[derive(Debug)]
pub(super) struct Shield(OwnedFd);

impl Shield {
    pub(super) fn lay(hidden: &Hidden, place: &OwnedFd) -> Result<Self, Errno> {
        let empty = Fork::empty(hidden, Mode::from_raw_mode(0o755))?.mount;
        let shield = kernel::restricted(empty, Attributes::READ_ONLY)?;
        kernel::attach(&shield, place)?;
        Ok(Self(shield))
    }

    /// What lies below it is seen again.
    pub(super) fn lift(self) -> Result<(), Errno> {
        kernel::detach(&self.0)
    }

    /// Lays something on it, which is seen from then on.
    pub(super) fn cover(self, mount: impl AsFd) -> Result<(), Errno> {
        kernel::attach(mount, &self.0)
    }
}

/// A file system that nobody writes while this exists. Calls that had found a name in it before the shield was laid have
/// come to their end then, unless a file is open for writing for longer than a moment.
pub(super) struct Frozen<'f>(&'f OwnedFd);

impl<'f> Frozen<'f> {
    pub(super) fn new(mount: &'f OwnedFd) -> Self {
        for pause in [0, 1, 2, 4] {
            thread::sleep(Duration::from_millis(pause));
            if remount(mount, MountFlags::RDONLY) != Err(Errno::BUSY) {
                break;
            }
        }
        Self(mount)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = remount(self.0, MountFlags::empty());
    }
}

/// Changes the file system of a mount for all of its mounts.
fn remount(mount: &OwnedFd, flags: MountFlags) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", mount.as_raw_fd());
    mount_remount(path, MountFlags::NOSUID | MountFlags::NODEV | flags, c"")
}

/// Why a directory was not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotRemoved {
    /// There can be no thread without mounts here.
    Unable,
    Refused(Errno),
}

/// Removes a directory of the host, whatever is mounted on it. The path leads to what is mounted, which no command can
/// rename. `empty` makes it empty, and is called when nothing else is in the way.
pub(super) fn remove_beneath(
    path: &Path,
    mut empty: impl FnMut() -> Result<(), Errno>,
) -> Result<(), NotRemoved> {
    let (above, name) = path.parent().zip(path.file_name()).ok_or(NotRemoved::Unable)?;
    let above = kernel::open_plain(above).map_err(NotRemoved::Refused)?;
    let (ask, asked) = channel();
    let (answer, answers) = channel();
    let work = || {
        let (asked, answer) = (asked, answer);
        let is_able = without_mounts().is_ok();
        let _ = answer.send(if is_able { Ok(()) } else { Err(NotRemoved::Unable) });
        for () in asked {
            let removed = unlinkat(&above, name, AtFlags::REMOVEDIR);
            let _ = answer.send(removed.map_err(NotRemoved::Refused));
        }
    };
    thread::scope(|threads| {
        // Dropped before the thread is waited for.
        let ask = ask;
        let wait = || answers.recv().unwrap_or(Err(NotRemoved::Unable));
        thread::Builder::new().spawn_scoped(threads, work).map_err(|_| NotRemoved::Unable)?;
        wait()?;
        for _ in 1..TRIES {
            empty().map_err(NotRemoved::Refused)?;
            let _ = ask.send(());
            match wait() {
                Err(NotRemoved::Refused(Errno::NOTEMPTY)) => {}
                removed => return removed,
            }
        }
        Err(NotRemoved::Refused(Errno::NOTEMPTY))
    })
}

/// Leaves this thread without the mounts of its process.
fn without_mounts() -> Result<(), Errno> {
    // SAFETY: only the namespace, the directory, the root and the mask become this thread's own.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    if unmount("/", UnmountFlags::DETACH).is_ok() {
        return Ok(());
    }
    // The root of a namespace whose mounts another user namespace had is locked, until another one is in its place.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", NEW_ROOT, "tmpfs", flags, c"mode=0700")?;
    chdir(NEW_ROOT)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)
}

/// Removes what is in a directory, `first` before all else. No link is followed, nothing that is mounted in it is
/// touched.
pub(super) fn empty(directory: &OwnedFd, first: Option<&str>) -> Result<(), Errno> {
    let at = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
    let names = super::private::names(directory)?;
    for name in first.map(Into::into).into_iter().chain(names) {
        toolwright_fs::remove_tree(&at.join(name), None).map_err(|error| errno::of(&error))?;
    }
    Ok(())
}
