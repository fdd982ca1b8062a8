//! Plans and trees for tests.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolwright_sandbox::plan::{Files, Network, Plan};

use crate::child::User;
use crate::user::NOBODY;

/// A plan with a root and nothing else.
pub(crate) fn plan(root: &Path) -> Plan {
    Plan {
        root: root.to_owned(),
        network: Network::Nothing,
        files: Files::Confined,
        writable: vec![root.to_owned()],
        ..Plan::default()
    }
}

/// An empty directory, and its path without links.
pub(crate) fn tree() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("temporary directory");
    let path = dir.path().canonicalize().expect("path");
    rustix::fs::chmod(&path, rustix::fs::Mode::from_raw_mode(0o755)).expect("mode");
    (dir, path)
}

/// Gives a tree to the user.
pub(crate) fn give(path: &Path, user: User) {
    if user == User::Nobody {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("chown");
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path).expect("directory") {
                let entry = entry.expect("entry").path();
                if !entry.is_symlink() {
                    give(&entry, user);
                }
            }
        }
    }
}
