//! What tells that a directory has lost and gained no entry.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory that was changed so lately may change again without a difference in its time: clocks of
/// file systems tick some hundred times in a second, and where they have no fractions, each other second.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Changes with the entries of a directory, and with the directory itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp([(u64, u64, i64, i64); 2]);

impl Stamp {
    pub(super) fn of(directory: &Path) -> Option<Self> {
        // Unlike the time of change, that of modification can be set.
        let identity = |metadata: &Metadata| {
            (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        let own = fs::symlink_metadata(directory).ok()?;
        let led_to = if own.is_symlink() { fs::metadata(directory).ok()? } else { own.clone() };
        Some(Self([identity(&own), identity(&led_to)]))
    }

    /// Whether no later change can have left it as it is. `now` is a time before it was taken.
    pub(super) fn is_old(&self, now: Duration) -> bool {
        self.0.iter().all(|&(_, _, seconds, fraction)| {
            let changed = Duration::new(
                u64::try_from(seconds).unwrap_or_default(),
                u32::try_from(fraction).unwrap_or_default(),
            );
            changed + if fraction == 0 { COARSE_TICK } else { TICK } < now
        })
    }
}

/// The directories that a search has looked into. As long as none of them gains or loses an entry, the search would
/// find the same.
#[derive(Debug, Default)]
pub(super) struct Watched(HashMap<PathBuf, Option<Stamp>>);

impl Watched {
    /// The path below a directory, if the directories on the way are there. The last name need not be.
    pub(super) fn reach(&mut self, base: &Path, below: &str) -> Option<PathBuf> {
        let mut directory = base.to_owned();
        let mut names = below.split('/').peekable();
        while let Some(name) = names.next() {
            // A missing entry would appear in the directory above, which is watched.
            if !self.watch(&directory) {
                return None;
            }
            directory.push(name);
            if names.peek().is_some() && fs::symlink_metadata(&directory).is_err() {
                return None;
            }
        }
        Some(directory)
    }

    /// Whether a directory is there.
    pub(super) fn watch(&mut self, directory: &Path) -> bool {
        let stamp = self.0.entry(directory.to_owned()).or_insert_with(|| Stamp::of(directory));
        stamp.is_some()
    }

    pub(super) fn are_same(&self) -> bool {
        self.0.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Whether all were old enough at `now` to be known again.
    pub(super) fn is_old(&self, now: Duration) -> bool {
        self.0.values().flatten().all(|stamp| stamp.is_old(now))
    }
}
