//! Temporary directories that trees of several supervisors have in common.
//!
//! The mounts of a tree are its supervisor's alone. Another supervisor of the same user namespace enters
//! them with one thread, copies the mount of each temporary directory, and lays the copies into its own
//! tree. So what one writes there is seen by both, and nothing else of the first tree is.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::thread;

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, mknodat, openat, readlinkat, symlinkat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::mounts::{Tree, kernel};

/// The mounts of a supervisor, and the file system in which its temporary directories are.
#[derive(Debug)]
pub struct Shared {
    mounts: OwnedFd,
    file_system: OwnedFd,
}

/// The mounts of this process, for another one to enter.
pub fn own_mounts() -> Option<OwnedFd> {
    File::open("/proc/self/ns/mnt").ok().map(OwnedFd::from)
}

impl Tree {
    /// The file system in which the temporary directories of this tree are.
    pub(crate) fn file_system(&self) -> Option<BorrowedFd<'_>> {
        self.renewal.as_ref().map(|renewal| renewal.file_system())
    }
}

impl Shared {
    /// Those of another supervisor.
    #[must_use]
    pub fn new(mounts: OwnedFd, file_system: OwnedFd) -> Self {
        Self { mounts, file_system }
    }

    /// Copies of what lies at these paths in the other tree, attached nowhere. `None` for a path at which
    /// that tree has no directory of its own: its files are the host's there.
    pub(super) fn take(&self, paths: &[Option<&Path>]) -> Vec<Option<OwnedFd>> {
        let nothing = || paths.iter().map(|_| None).collect();
        thread::scope(|scope| {
            let entered = scope.spawn(|| -> Result<Vec<Option<OwnedFd>>, Errno> {
                // SAFETY: the flag does not unshare the table of descriptors. This thread's root and
                // directory are its own from here on, and end with it.
                unsafe { unshare_unsafe(UnshareFlags::FS) }?;
                move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
                let copies = paths.iter().map(|path| path.and_then(|path| self.copy(path).ok()));
                Ok(copies.collect())
            });
            // The kernel permits it only in a user namespace that was joined, or that is the host's.
            entered.join().ok().and_then(Result::ok).unwrap_or_else(nothing)
        })
    }

    fn copy(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let place = kernel::open_plain(path)?;
        if fstat(&place)?.st_dev != fstat(&self.file_system)?.st_dev {
            return Err(Errno::XDEV);
        }
        let copy = kernel::copy_entry(&place, c"")?;
        // What is mounted on it here must not appear there.
        kernel::make_private(&copy)?;
        Ok(copy)
    }
}

/// Makes a place in a directory that commands of another tree use at the same time, with the directories
/// above it. They may have put anything there: links are not followed.
pub(super) fn make_place(
    directory: &OwnedFd,
    relative: &Path,
    is_directory: bool,
) -> Result<(), Errno> {
    let mut above = fcntl_dupfd_cloexec(directory, 3)?;
    let mut names = relative.components().peekable();
    while let Some(Component::Normal(name)) = names.next() {
        let is_inner = is_directory || names.peek().is_some();
        above = make_entry(&above, name, is_inner)?;
    }
    Ok(())
}

/// Makes a link in such a directory. Another one there is not replaced.
pub(super) fn make_link(directory: &OwnedFd, relative: &Path, to: &Path) -> Result<(), Errno> {
    let Some((above, name)) = relative.parent().zip(relative.file_name()) else { return Ok(()) };
    let mut directory = fcntl_dupfd_cloexec(directory, 3)?;
    for name in above {
        directory = make_entry(&directory, name, true)?;
    }
    match symlinkat(to, &directory, name) {
        Err(Errno::EXIST)
            if readlinkat(&directory, name, Vec::new())?.as_bytes()
                == to.as_os_str().as_bytes() =>
        {
            Ok(())
        }
        made => made,
    }
}

fn make_entry(above: &OwnedFd, name: &OsStr, is_directory: bool) -> Result<OwnedFd, Errno> {
    let made = if is_directory {
        mkdirat(above, name, Mode::from_raw_mode(0o755))
    } else {
        mknodat(above, name, FileType::RegularFile, Mode::from_raw_mode(0o644), 0)
    };
    match made {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = openat(above, name, flags, Mode::empty())?;
    let wanted = if is_directory { FileType::Directory } else { FileType::RegularFile };
    if FileType::from_raw_mode(fstat(&entry)?.st_mode) == wanted {
        Ok(entry)
    } else {
        Err(Errno::NOTDIR)
    }
}
