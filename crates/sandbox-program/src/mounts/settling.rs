//! What the host asks of git directories while commands may run: forks of its own, and what becomes of those that
//! commands have made.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::io::Errno;

use toolwright_sandbox::wire::ForkRequest;

use super::forks::Forks;
use super::protection::Held;
use super::{DirectoryIdentity, Tree, change, kernel, private};

/// Commands can write a directory that was to have a fork.
pub(crate) const UNHELD: Errno = Errno::NOTRECOVERABLE;

/// What has changed in a fork, and the path where it lies if commands have moved it.
pub(crate) type Found<'t> = (BorrowedFd<'t>, Option<PathBuf>);

impl Tree {
    /// What commands have changed in a directory. If they have no fork of it yet, they get one; with `anew`, the one
    /// that they have is replaced by another. After an error the directory is private, read-only or gone:
    /// [`UNHELD`] says that it is none of these.
    pub(crate) fn fork(&mut self, request: ForkRequest<'_>) -> Result<Found<'_>, Errno> {
        let path = request.path;
        if let Err(errno) = self.make_fork(request) {
            let is_held = errno == Errno::BUSY || self.hold(path);
            return Err(if is_held { errno } else { UNHELD });
        }
        self.forks.as_mut().and_then(|forks| forks.changes(path)).ok_or(UNHELD)
    }

    fn make_fork(&mut self, request: ForkRequest<'_>) -> Result<(), Errno> {
        let ForkRequest { path, anew, of_command } = request;
        let of_command = of_command.map(|(device, inode)| DirectoryIdentity { device, inode });
        let forks = self.forks.as_mut().ok_or(Errno::NOSYS)?;
        forks.forget_removed();
        if forks.has(path) {
            if anew {
                change(self.own_changes.as_ref(), || forks.replace(path))?;
            }
            if let Some(identity) = of_command {
                forks.note_of_command(path, identity);
            }
            return Ok(());
        }
        let renewal = self.renewal.as_ref().ok_or(Errno::NOSYS)?;
        let base = Forks::base(path)?;
        let own = kernel::copy_entry(&base, c"")?;
        let identity = DirectoryIdentity::of(&fstat(&base)?);
        if self.private.has_device(identity.device) {
            return Err(Errno::BUSY);
        }
        // A command or a host was stopped before it had made a repository here. Another command may.
        if private::is_empty(&base)? {
            let (private, hidden) = (&mut self.private, forks.hidden());
            change(self.own_changes.as_ref(), || private.add(hidden, path, identity, false))?;
            return Err(Errno::BUSY);
        }
        let held = Held { placeholders: &mut self.placeholders, absent: &mut self.absent };
        change(self.own_changes.as_ref(), || {
            if of_command == Some(identity) {
                return forks.add_of_command(path, base, own);
            }
            renewal.cover(path, held)?;
            forks.add(path, base, own)
        })?;
        if let Some(identity) = of_command {
            forks.note_of_command(path, identity);
        }
        Ok(())
    }

    /// Makes a directory read-only for commands. Returns whether they write nothing there.
    fn hold(&mut self, path: &Path) -> bool {
        let Some(renewal) = &self.renewal else { return false };
        let held = Held { placeholders: &mut self.placeholders, absent: &mut self.absent };
        let covered = change(self.own_changes.as_ref(), || renewal.cover(path, held));
        covered.is_ok() || matches!(kernel::open_plain(path), Err(Errno::NOENT | Errno::NOTDIR))
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
