//! Removing forks that nobody needs.

use std::time::Duration;

use rustix::fs::{AtFlags, unlinkat};
use toolwright_fs::remove_tree;

use crate::error::{ForkError, Result};
use crate::store::{APPLIED, GONE, NEW, Store, lock_file, now_ms};
use crate::tree;

/// How long an apply can be taken back, unless another age is given.
const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The forks, by their names.
    pub removed: Vec<String>,
    /// How many of the rest have changes and stay.
    pub kept: usize,
}

impl Store {
    /// Removes what killed processes have left half made or half removed, and forks without changes that no process has
    /// open. With `max_age_ms` those with changes go too that were made before that time.
    pub fn collect(&self, max_age_ms: Option<u64>) -> Result<Collected> {
        let mut collected = Collected::default();
        let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        self.forget_applies(max_age_ms.unwrap_or(kept));
        for name in self.names()? {
            let path = self.path.join(&name);
            if name.ends_with(NEW) || name.ends_with(GONE) {
                if !is_locked(&path) {
                    let _ = remove_tree(&path, None);
                }
                continue;
            }
            let Some(record) = self.record(&name) else { continue };
            let is_old = max_age_ms.is_some_and(|age| record.created_ms + age <= now_ms());
            let fork = match self.take(&name) {
                Ok(fork) => fork,
                // One that is open is nobody's to remove.
                Err(ForkError::Busy { .. }) => continue,
                // One that can be applied to nothing any more goes in its time.
                Err(_) => {
                    if (is_old || self.is_half_made(&name)) && self.discard(&name).is_ok() {
                        collected.removed.push(name);
                    }
                    continue;
                }
            };
            let is_empty =
                fork.changes().is_ok_and(|it| it.changes.is_empty() && it.left_out.is_empty());
            if is_empty || is_old {
                fork.discard()?;
                collected.removed.push(name);
            } else {
                collected.kept += 1;
            }
        }
        Ok(collected)
    }
}

impl Store {
    /// Removes the notes of applies that are older.
    fn forget_applies(&self, max_age_ms: u64) {
        let Ok(directory) = tree::open(&self.path.join(APPLIED)) else { return };
        let before = now_ms().saturating_sub(max_age_ms);
        for name in tree::names(&directory).unwrap_or_default() {
            let Ok(Some(stat)) = tree::look(&directory, &name) else { continue };
            let at = u64::try_from(stat.st_mtime).unwrap_or_default().saturating_mul(1000);
            if at < before {
                let _ = unlinkat(&directory, &name, AtFlags::empty());
            }
        }
    }
}

/// Whether a process still works on what is half made.
fn is_locked(path: &std::path::Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    // A moment before the lock is taken there is none, and a moment later there is.
    let is_young = std::fs::symlink_metadata(path)
        .and_then(|found| found.modified())
        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() < 60));
    match lock_file(&path.join(crate::store::LOCK)) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
        Err(_) => is_young,
    }
}
