//! Whether the paths of a plan are still the files that a supervisor has bound.
//!
//! A supervisor notices when a covered path is removed or replaced by a rename. It does not notice
//! when the path, or a directory above it, is moved away and another takes its place.

use std::fs;
use std::path::Path;

use toolwright_sandbox::plan::{FileIdentity, Plan};

/// Which file a path is, if there is one.
type Identity = Option<FileIdentity>;

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
        let file = FileIdentity { device: 0, inode: version, born: None };
        Self { granted: vec![Some(file)], protected: Vec::new() }
    }

    /// Whether the paths that a supervisor only looks at are the same.
    pub(super) fn agree(&self, other: &Self) -> bool {
        self.granted == other.granted
    }
}

fn identity(path: &Path) -> Identity {
    fs::symlink_metadata(path).ok().map(|metadata| FileIdentity::from(&metadata))
}
