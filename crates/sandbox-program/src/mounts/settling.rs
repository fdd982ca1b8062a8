//! What the host asks of git directories while commands may run: forks of its own, and what becomes of those that
//! commands have made.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::io::Errno;

use super::forks::Forks;
use super::{Tree, change, kernel};

/// What has changed in a fork, and the path where it lies if commands have moved it.
pub(crate) type Found<'t> = (BorrowedFd<'t>, Option<PathBuf>);

impl Tree {
    /// What commands have changed in a directory. If they have no fork of it yet, they get one; with `anew`, the one
    /// that they have is replaced by another.
    pub(crate) fn fork(&mut self, path: &Path, anew: bool) -> Result<Found<'_>, Errno> {
        let forks = self.forks.as_mut().ok_or(Errno::NOSYS)?;
        forks.forget_removed();
        if !forks.has(path) {
            let renewal = self.renewal.as_ref().ok_or(Errno::NOSYS)?;
            let base = Forks::base(path)?;
            let own = kernel::copy_entry(&base, c"")?;
            if self.private.has_device(fstat(&base)?.st_dev) {
                return Err(Errno::BUSY);
            }
            change(self.own_changes.as_ref(), || {
                renewal.cover(path, &mut self.placeholders)?;
                forks.add(path, base, own)
            })?;
        } else if anew {
            change(self.own_changes.as_ref(), || forks.replace(path))?;
        }
        forks.changes(path).ok_or(Errno::NOENT)
    }

    /// Notes that no command runs.
    pub(crate) fn rest(&mut self) {
        self.private.rest();
    }

    /// Makes the private directory at a path a fork of the directory of the host, which the host has filled. Commands
    /// see the private one until they see the fork, and the directory of the host at no moment.
    pub(crate) fn settle_private(&mut self, path: &Path) -> Result<Found<'_>, Errno> {
        let forks = self.forks.as_mut().ok_or(Errno::NOSYS)?;
        let private = &mut self.private;
        change(self.own_changes.as_ref(), || {
            forks.forget_removed();
            private.settle(path, |place, base| forks.add_beneath(place, path, base))
        })?;
        forks.changes(path).ok_or(Errno::NOENT)
    }

    /// Has commands see a new and empty private directory in the place of one.
    pub(crate) fn discard_private(&mut self, path: &Path) -> Result<(), Errno> {
        let forks = self.forks.as_ref().ok_or(Errno::NOSYS)?;
        let private = &mut self.private;
        change(self.own_changes.as_ref(), || private.discard(forks.hidden(), path))
    }
}
