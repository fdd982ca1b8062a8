//! Covers again what has lost its cover while commands run.
//!
//! When the host removes a covered path or renames another file over it, as git and editors do, the
//! kernel removes the mount from every namespace. The new file is neither protected nor closed. A
//! worker can no longer mount, but the supervisor can, and its mounts appear in the workers' trees.
//! Mounts of a worker do not appear in the supervisor's.

use std::cell::Cell;
use std::collections::HashSet;
use std::mem::take;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};

use crate::mounts::error::{At, MountError};
use crate::mounts::forks::Forks;
use crate::mounts::layout::{Kind, Layout};
use crate::mounts::moves::Moves;
use crate::mounts::own_changes::OwnChanges;
use crate::mounts::placeholder::Placeholder;
use crate::mounts::protection::{Held, OnAbsent, Protector};
use crate::mounts::scratch::Scratch;
use crate::mounts::watch::MountEvents;
use crate::mounts::{Tree, change, kernel, placement, without_umask};

/// How long a program may take to remove a file and write another in its place.
pub(crate) const SAVE_TIME: Duration = Duration::from_millis(10);

/// How often everything is covered in one renewal while the host exchanges it.
const MAX_PASSES: usize = 3;

/// Whether this process, or the one it was forked from, has shared its tree.
static SHARED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub(super) struct Renewal {
    layout: Layout,
    scratch: Scratch,
    /// Each reports every change: one wakes the supervisor, the other says what is new.
    wakes: MountEvents,
    events: MountEvents,
    moves: Moves,
    /// The closed paths that were there in the beginning.
    closed: HashSet<PathBuf>,
    /// Something was missing, or could not be covered, when it was last looked.
    is_missing: Cell<bool>,
}

impl Renewal {
    /// Prepares for a complete tree. Later mounts in it appear in the workers' trees too.
    pub(super) fn begin(layout: Layout, scratch: Scratch) -> Result<Self, Errno> {
        mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC)?;
        SHARED.store(true, Ordering::Relaxed);
        let closed = layout.entries().iter().filter(|entry| entry.kind == Kind::Closed);
        let closed = closed.filter(|entry| kernel::open_followed(&entry.path).is_ok());
        let closed = closed.map(|entry| entry.path.clone()).collect();
        let (wakes, events) = (MountEvents::open()?, MountEvents::open()?);
        // What has lost its cover while the others were laid is covered by the first renewal.
        let (is_missing, moves) = (Cell::new(true), Moves::default());
        moves.note(&layout);
        Ok(Self { layout, scratch, wakes, events, moves, closed, is_missing })
    }

    pub(super) fn file_system(&self) -> BorrowedFd<'_> {
        self.scratch.as_fd()
    }

    /// Makes a path read-only, and keeps it in its place.
    pub(super) fn cover(&self, path: &Path, held: Held<'_>) -> Result<(), Errno> {
        Protector::again(&self.layout, held, OnAbsent::StandIn)
            .protect(path)
            .map_err(|error| Errno::from_raw_os_error(error.errno))
    }

    /// Covers what has no cover, and what could not be covered the last time. A program that saves
    /// a file is about to replace a missing path, so placeholders are made only `for_absent`.
    fn renew(
        &self,
        held: Held<'_>,
        (forks, own_changes): (Option<&Forks>, Option<&OwnChanges>),
        for_absent: bool,
    ) -> Result<(), MountError> {
        let have_come = self.events.have_come().unwrap_or(true) || self.moves.have_come();
        if !have_come && !self.is_missing.get() {
            return Ok(());
        }
        self.is_missing.set(true);
        let Some(own_changes) = own_changes.filter(|_| !have_come) else {
            return without_umask(|| self.renew_all(held, forks, for_absent));
        };
        // Where nothing was lost, what is covered now makes no tree stale.
        own_changes.during_what_may(
            || without_umask(|| self.renew_all(held, forks, for_absent)),
            || {
                let has_changed = self.events.have_come().unwrap_or(true);
                // It may have been the host meanwhile: the next renewal looks again.
                self.is_missing.set(self.is_missing.get() || has_changed);
                has_changed
            },
        )
    }

    /// What is noted lay there before a pass, which found or gave it a cover. The host may exchange it between that and
    /// a note afterwards, and then what has no cover would count as covered for good.
    fn renew_all(
        &self,
        Held { placeholders, absent }: Held<'_>,
        forks: Option<&Forks>,
        for_absent: bool,
    ) -> Result<(), MountError> {
        for _ in 0..MAX_PASSES {
            self.moves.note(&self.layout);
            let held = Held { placeholders, absent };
            self.cover_all(held, forks, for_absent)?;
            if self.moves.are_as_noted(&self.layout) {
                return Ok(());
            }
        }
        // Somebody goes on: the next renewal looks again.
        self.is_missing.set(true);
        Ok(())
    }

    fn cover_all(
        &self,
        held: Held<'_>,
        forks: Option<&Forks>,
        for_absent: bool,
    ) -> Result<(), MountError> {
        held.placeholders.retain(Placeholder::is_in_place);
        let mut is_missing = false;
        let on_absent = if for_absent { OnAbsent::StandIn } else { OnAbsent::Await };
        let mut protector = Protector::again(&self.layout, held, on_absent);
        // What cannot be covered keeps nothing else from it.
        let mut failed = None;
        for entry in self.layout.entries() {
            let path = &entry.path;
            let covered = match entry.kind {
                Kind::Protected => protector.protect(path),
                Kind::Closed => self.close_again(path, &mut protector).map(|is_there| {
                    is_missing |= !is_there && !for_absent && self.closed.contains(path);
                }),
                _ => continue,
            };
            failed = failed.or(covered.err());
        }
        // A fork that is lost has lost its cover too. The directory gets the cover alone: its changes would be
        // those of another directory.
        for path in forks.into_iter().flat_map(Forks::lost) {
            failed = failed.or(protector.protect(path).err());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.is_missing.set(is_missing || protector.is_missing);
        Ok(())
    }

    /// Closes a path that has lost its cover. Returns whether it is there.
    fn close_again(&self, path: &Path, protector: &mut Protector<'_>) -> Result<bool, MountError> {
        let Ok(place) = kernel::open_followed(path) else { return Ok(false) };
        let covered = fstat(&place).at("look at", path)?.st_dev;
        if fstat(&self.scratch).map(|stat| stat.st_dev) != Ok(covered) {
            protector.pin_above(path)?;
            placement::close(&self.scratch, path, None)?;
        }
        Ok(true)
    }
}

/// Keeps the mounts of this process to itself. Those of the supervisor appear here, if it has a
/// tree of its own.
pub(super) fn stay_apart() -> Result<(), Errno> {
    let shared = SHARED.load(Ordering::Relaxed);
    let kind =
        if shared { MountPropagationFlags::DOWNSTREAM } else { MountPropagationFlags::PRIVATE };
    mount_change("/", kind | MountPropagationFlags::REC)
}

impl Tree {
    /// Becomes readable, with priority, when a mount of the tree has changed. `None` where nothing can be
    /// covered again.
    #[must_use]
    pub fn changes(&self) -> Option<BorrowedFd<'_>> {
        self.renewal.as_ref().map(|renewal| renewal.wakes.as_fd())
    }

    /// Covers again what has lost its cover, and returns whether a protected path is missing. If
    /// so, call it again `for_absent`, once a program that replaces the path has had time to.
    pub fn renew(&mut self, for_absent: bool) -> bool {
        let Some(renewal) = &self.renewal else { return false };
        // What cannot be covered now may be the next time, and the rest is worth covering.
        let held = Held { placeholders: &mut self.placeholders, absent: &mut self.absent };
        let _ = renewal.renew(held, (self.forks.as_ref(), self.own_changes.as_ref()), for_absent);
        if let Some(forks) = &mut self.forks {
            forks.forget_removed();
        }
        renewal.is_missing.get()
    }

    /// The paths that are not there, and that whoever makes calls for commands has to keep absent.
    pub(crate) fn absent(&self) -> &[PathBuf] {
        &self.absent
    }

    /// Puts something in the place of each of these paths, because nobody keeps them absent.
    pub(crate) fn stand_in(&mut self) -> Result<(), Errno> {
        let renewal = self.renewal.as_ref().ok_or(Errno::NOSYS)?;
        let placeholders = &mut self.placeholders;
        let paths = take(&mut self.absent);
        change(self.own_changes.as_ref(), || {
            paths.iter().try_for_each(|path| {
                renewal.cover(path, Held { placeholders, absent: &mut Vec::new() })
            })
        })
    }
}
