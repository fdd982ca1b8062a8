//! Whether the paths of a plan are still the files that a supervisor has bound.
//!
//! It notices by itself when what it has covered is removed or replaced by renaming over it, but not
//! when that, or a directory above it, is moved away and another is put into its place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use toolwright_sandbox::plan::Plan;

/// Which file a path is. Numbers are given out again, so the time it was made belongs to it, where
/// the file system knows that.
type Identity = Option<(u64, u64, Option<SystemTime>)>;

/// Which files the paths of a plan are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identities {
    granted: Vec<Identity>,
    /// What stands for those that are absent is made, and removed, by supervisors.
    protected: Vec<Identity>,
}

impl Identities {
    pub(super) fn now(plan: &Plan) -> Self {
        // The root is writable.
        let granted = plan.writable.iter().chain(&plan.closed).chain(&plan.readable);
        Self {
            granted: granted.map(|path| identity(path)).collect(),
            protected: plan.protected.iter().map(|path| identity(path)).collect(),
        }
    }

    /// One path, which is another file in each version.
    #[cfg(test)]
    pub(super) fn of_version(version: u64) -> Self {
        Self { granted: vec![Some((0, version, None))], protected: Vec::new() }
    }

    /// Whether the paths that a supervisor only looks at are the same.
    pub(super) fn agree(&self, other: &Self) -> bool {
        self.granted == other.granted
    }
}

fn identity(path: &Path) -> Identity {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}
