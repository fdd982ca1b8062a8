//! What commands have changed in a fork.

use rustix::fs::{AtFlags, statat};
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Snapshot};

/// The file that leads a fork to the objects of the repository.
pub(super) const ALTERNATES: &str = "objects/info/alternates";

/// What commands have changed, and the repository that they saw.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) changes: Directory,
    pub(super) snapshot: Snapshot,
    /// The file that leads to the objects, as it was made.
    lead: Option<(u64, i64, u64)>,
}

impl Changed {
    pub(super) fn new(changes: Directory, snapshot: Snapshot) -> Self {
        let lead = lead_of(&changes);
        Self { changes, snapshot, lead }
    }

    /// Also where nothing comes back of it: without the objects of the repository no later command could use the
    /// fork.
    pub(super) fn has_changed(&mut self) -> bool {
        import::has_changes(&self.changes, &mut self.snapshot)
            || lead_of(&self.changes) != self.lead
    }
}

fn lead_of(changes: &Directory) -> Option<(u64, i64, u64)> {
    let found = statat(changes, ALTERNATES, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_ino, found.st_ctime, found.st_ctime_nsec))
}
