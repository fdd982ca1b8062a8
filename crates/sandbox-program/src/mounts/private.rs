//! Git directories that commands make.
//!
//! The host sees an empty directory. A private one lies on it in the trees of the commands, in memory of its own.
//! A worker asks for it before the call that makes the directory returns; it cannot mount itself.
//!
//! Between the making of the host's directory and its covering, any process of that moment can open it and keep it
//! open. What the host would put there, such a process could change. So a directory is handed out once a moment has
//! passed in which no command ran.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, Gid, Mode, OFlags, ResolveFlags, Stat, StatxFlags, Uid, fchmod, fchown,
    fstat, openat, openat2, statx,
};
use rustix::io::Errno;
use toolwright_fork::{Fork, Hidden};

use crate::mounts::kernel;
use crate::mounts::place::place_of;
use crate::mounts::removal::{Frozen, NotRemoved, Revealed, Shield, empty, remove_beneath};

/// How long the making of a directory and its covering may take together.
const NEW: Duration = Duration::from_secs(3);

/// The private git directories of a tree, the oldest first.
#[derive(Debug, Default)]
pub(super) struct PrivateDirectories(Vec<PrivateDirectory>);

/// One that lies on an empty directory of the host.
#[derive(Debug)]
struct PrivateDirectory {
    mount: OwnedFd,
    /// The same directory on a mount that is attached nowhere.
    content: OwnedFd,
    /// The directory of the host.
    covered: OwnedFd,
    /// Whether a process may have that open.
    is_exposed: bool,
    identity: DirectoryIdentity,
}

/// Which directory a worker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirectoryIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl DirectoryIdentity {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl PrivateDirectories {
    /// Lays a private directory on the one at a path, which is empty and of this identity.
    pub(super) fn add(
        &mut self,
        hidden: &Hidden,
        path: &Path,
        identity: DirectoryIdentity,
        is_new: bool,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let covered = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let stat = fstat(&covered)?;
        if DirectoryIdentity::of(&stat) != identity {
            return Err(Errno::STALE);
        }
        let Fork { mount, changes: content } = new_content(hidden, &stat)?;
        kernel::attach(&mount, &covered)?;
        if is_new && was_just_made(&covered) {
            // Whatever another thread of the command has put there since.
            empty(&covered, None)?;
        }
        let identity = DirectoryIdentity::of(&fstat(&content)?);
        self.0.push(PrivateDirectory { mount, content, covered, is_exposed: true, identity });
        Ok(())
    }

    /// Lays one on a directory of the host that commands have had no access to, in the place of a shield.
    pub(super) fn lay(
        &mut self,
        hidden: &Hidden,
        shield: Shield,
        covered: &OwnedFd,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let covered = openat(covered, c".", flags, Mode::empty())?;
        let Fork { mount, changes: content } = new_content(hidden, &fstat(&covered)?)?;
        shield.cover(&mount)?;
        let identity = DirectoryIdentity::of(&fstat(&content)?);
        self.0.push(PrivateDirectory { mount, content, covered, is_exposed: false, identity });
        Ok(())
    }

    /// Removes the directory of the host on which the one of this identity lies, if it is empty.
    pub(super) fn remove(
        &mut self,
        hidden: &Hidden,
        identity: DirectoryIdentity,
    ) -> Result<Revealed, Errno> {
        let index = self.0.iter().position(|one| one.has(identity)).ok_or(Errno::BUSY)?;
        let one = &self.0[index];
        if !is_empty(&one.content)? {
            return Err(Errno::NOTEMPTY);
        }
        let Some((path, place)) = one.place() else {
            // The host has removed it.
            self.0.remove(index);
            return Ok(Revealed::Uncovered);
        };
        let shield = Shield::lay(hidden, &place)?;
        let frozen = Frozen::new(&one.mount);
        let removed = match is_empty(&one.content) {
            Ok(true) => remove_beneath(&path, || Ok(())),
            other => Err(NotRemoved::Refused(other.err().unwrap_or(Errno::NOTEMPTY))),
        };
        drop(frozen);
        let removed = match removed {
            Ok(()) => Ok(Revealed::Removed),
            Err(failed) => {
                shield.lift()?;
                if let NotRemoved::Refused(errno) = failed {
                    return Err(errno);
                }
                kernel::detach(&place).map(|()| Revealed::Uncovered)
            }
        };
        if removed.is_ok() {
            self.0.remove(index);
        }
        removed
    }

    /// Puts a new and empty one in the place of the one at a path. The directory of the host stays covered at every
    /// moment, whatever the host has put into it.
    pub(super) fn discard(&mut self, hidden: &Hidden, path: &Path) -> Result<(), Errno> {
        let index = self.find(path)?;
        let one = &mut self.0[index];
        if one.exchange(hidden).is_err() {
            // Kernels before 6.5 attach nothing beneath.
            empty(&one.content, None)?;
        }
        Ok(())
    }

    /// Takes away the one at a path once `settle` has attached something beneath it, which commands see from then on.
    /// `settle` is given where it lies, and the directory of the host.
    pub(super) fn settle(
        &mut self,
        path: &Path,
        settle: impl FnOnce(&OwnedFd, &OwnedFd) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let index = self.find(path)?;
        if self.0[index].is_exposed {
            return Err(Errno::BUSY);
        }
        let (_, place) = self.0[index].place().ok_or(Errno::NOENT)?;
        settle(&place, &self.0[index].covered)?;
        kernel::detach(&place)?;
        self.0.remove(index);
        Ok(())
    }

    fn find(&self, path: &Path) -> Result<usize, Errno> {
        let of = |one: &PrivateDirectory| one.path().is_some_and(|found| found == path);
        self.0.iter().position(of).ok_or(Errno::NOENT)
    }

    /// Notes that no command runs.
    pub(super) fn rest(&mut self) {
        for one in &mut self.0 {
            one.is_exposed = false;
        }
    }

    /// Where each is now that no command has open, its content, and the directory of the host.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PathBuf, BorrowedFd<'_>, BorrowedFd<'_>)> {
        let closed = self.0.iter().filter(|one| !one.is_exposed);
        closed.filter_map(|one| Some((one.path()?, one.content.as_fd(), one.covered.as_fd())))
    }

    /// What is in each.
    pub(super) fn contents(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|one| one.content.as_fd())
    }

    /// Whether a file system is that of one of them.
    pub(super) fn has_device(&self, device: u64) -> bool {
        self.0.iter().any(|one| one.identity.device == device)
    }

    /// What no worker needs.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.0.iter().flat_map(|one| {
            [one.mount.as_raw_fd(), one.content.as_raw_fd(), one.covered.as_raw_fd()]
        })
    }
}

impl PrivateDirectory {
    fn has(&self, identity: DirectoryIdentity) -> bool {
        self.identity == identity
    }

    /// Follows the renames of the directories above it. `None`: the host has removed its directory.
    fn path(&self) -> Option<PathBuf> {
        self.place().map(|(path, _)| path)
    }

    /// As [`path`](Self::path), with what is there. That is a copy of the mount where a directory above it has become
    /// a mount of its own since. What is attached to it, or detached, is so at all copies.
    fn place(&self) -> Option<(PathBuf, OwnedFd)> {
        place_of(&self.mount, &self.covered, |stat| self.has(DirectoryIdentity::of(stat)))
    }

    fn exchange(&mut self, hidden: &Hidden) -> Result<(), Errno> {
        let (_, place) = self.place().ok_or(Errno::NOENT)?;
        let Fork { mount, changes: content } = new_content(hidden, &fstat(&self.covered)?)?;
        kernel::attach_beneath(&mount, &place)?;
        kernel::detach(&place)?;
        self.identity = DirectoryIdentity::of(&fstat(&content)?);
        (self.mount, self.content) = (mount, content);
        Ok(())
    }
}

/// An empty directory with the owner and the mode of another one.
fn new_content(hidden: &Hidden, stat: &Stat) -> Result<Fork, Errno> {
    let new = Fork::empty(hidden, Mode::RWXU)?;
    // An owner that has no number here stays this process.
    let owner = (Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    let _ = fchown(&new.changes, owner.0, owner.1);
    fchmod(&new.changes, Mode::from_raw_mode(stat.st_mode))?;
    Ok(new)
}

pub(crate) fn names(directory: impl AsFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    // It may be open as a place alone.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let directory = openat(directory, c".", flags, Mode::empty())?;
    for entry in Dir::new(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    Ok(names)
}

pub(super) fn is_empty(directory: impl AsFd) -> Result<bool, Errno> {
    Ok(names(directory)?.is_empty())
}

/// Whether a directory has come into being within the last seconds, and so is not one of the person's.
fn was_just_made(directory: &OwnedFd) -> bool {
    let stat = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    stat.is_ok_and(|stat| {
        let born = u64::try_from(stat.stx_btime.tv_sec).map(Duration::from_secs);
        StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME)
            && born.is_ok_and(|born| born + NEW >= now)
    })
}
