//! The removal of repositories that commands have made.
//!
//! A command that has emptied a fork may remove it as it may remove any directory. Then the repository goes, which the
//! host has made of what commands had made. One of a person stays, and the command is told that it is busy.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::fstat;
use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_git::transaction::recover;

use super::Forks;
use crate::errno;
use crate::mounts::private::{DirectoryIdentity, PrivateDirectories, is_empty};
use crate::mounts::removal::{Frozen, NotRemoved, Revealed, Shield, empty, remove_beneath};

/// Without it git takes nothing for a repository, so it goes first.
const HEAD: &str = "HEAD";
/// Where a repository names directories of objects that it borrows from.
const ALTERNATES: &str = "objects/info/alternates";
const MAX_ALTERNATES: u64 = 64 << 10;

impl Forks {
    /// Removes the directory of the fork of this identity, if commands have made it and deleted all that is in it.
    /// `None`: there is no such fork. Commands see the fork until they see that it is empty, and what the host has
    /// there at no moment.
    pub(in crate::mounts) fn remove(
        &mut self,
        identity: DirectoryIdentity,
        private: &mut PrivateDirectories,
    ) -> Option<Result<Revealed, Errno>> {
        let index = self.attached.iter().position(|fork| {
            fork.is_of_command
                && fstat(&fork.mount).is_ok_and(|stat| DirectoryIdentity::of(&stat) == identity)
        })?;
        Some(self.remove_at(index, private))
    }

    fn remove_at(
        &mut self,
        index: usize,
        private: &mut PrivateDirectories,
    ) -> Result<Revealed, Errno> {
        let fork = &self.attached[index];
        if !is_empty(&fork.mount)? {
            return Err(Errno::NOTEMPTY);
        }
        if self.is_borrowed(index, private) || is_in_use(&fork.own) {
            return Err(Errno::BUSY);
        }
        let (path, place) = fork.open_place().ok_or(Errno::BUSY)?;
        let (objects, own) = (fork.objects.clone(), fork.own.try_clone());
        let own = own.map_err(|error| errno::of(&error))?;
        let mut has_begun = false;
        let mount = fork.mount.try_clone().map_err(|error| errno::of(&error))?;
        let shield = Shield::lay(&self.hidden, &place)?;
        let frozen = Frozen::new(&mount);
        let removed = match is_empty(&mount) {
            Ok(true) => remove_beneath(&path, || {
                if let Some(objects) = objects.as_deref().filter(|_| !has_begun) {
                    self.keep_objects(objects)?;
                }
                has_begun = true;
                empty(&own, Some(HEAD))
            }),
            other => Err(NotRemoved::Refused(other.err().unwrap_or(Errno::NOTEMPTY))),
        };
        drop(frozen);
        let errno = match removed {
            Ok(()) => {
                self.attached.remove(index);
                return Ok(Revealed::Removed);
            }
            Err(NotRemoved::Refused(errno @ Errno::NOTEMPTY)) => errno,
            Err(_) => Errno::BUSY,
        };
        if !has_begun {
            shield.lift()?;
            return Err(errno);
        }
        let fork = self.attached.remove(index);
        // Nothing of the command is left, and something of the host may be: it is a private directory again.
        private.lay(&self.hidden, shield, &fork.base)?;
        Err(errno)
    }

    /// Whether another repository of commands has objects from this one. It would lose them.
    fn is_borrowed(&self, index: usize, private: &PrivateDirectories) -> bool {
        let Some(objects) = &self.attached[index].objects else { return false };
        let others = self.attached.iter().enumerate().filter(|(other, _)| *other != index);
        let mut all = others.map(|(_, fork)| fork.changes.as_fd()).chain(private.contents());
        all.any(|directory| borrows(directory, objects))
    }
}

/// Whether the host is writing into the repository.
fn is_in_use(git: impl AsFd) -> bool {
    let recovered = git.as_fd().try_clone_to_owned().map(|git| recover(&Directory::from(git)));
    !matches!(recovered, Ok(Ok(recovered)) if recovered.alive == 0)
}

/// Whether a git directory borrows objects from this directory. One that cannot be read may do that.
fn borrows(git: BorrowedFd<'_>, objects: &Path) -> bool {
    let read = || -> Result<bool, Errno> {
        let git = git.try_clone_to_owned().map_err(|error| errno::of(&error))?;
        let text = Directory::from(git).read(ALTERNATES, MAX_ALTERNATES);
        let text = text.map_err(|_| Errno::INVAL)?.unwrap_or_default();
        let mut lines = text.split(|byte| *byte == b'\n');
        Ok(lines.any(|line| Path::new(OsStr::from_bytes(line)).starts_with(objects)))
    };
    read().unwrap_or(true)
}
