//! Where credentials lie.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Below the home directory.
const STORES: [&str; 10] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".docker/config.json",
];

/// Those there are, with links followed: it is what they lead to that is to be closed.
pub(super) fn existing(home: &Path) -> impl Iterator<Item = PathBuf> {
    STORES.iter().filter_map(move |store| {
        let store = home.join(store);
        // Most are missing, and this is the cheapest way to find out.
        fs::symlink_metadata(&store).ok()?;
        fs::canonicalize(store).ok()
    })
}
