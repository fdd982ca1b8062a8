//! Whether the paths of a plan are still the files that a supervisor has bound.
//!
//! A supervisor notices when a covered path is removed or replaced by a rename. It does not notice
//! when the path, or a directory above it, is moved away and another takes its place.

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
    /// Supervisors make and remove the placeholders of absent paths.
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
