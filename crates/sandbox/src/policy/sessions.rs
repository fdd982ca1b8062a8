//! What sessions of the tool contract keep: long outputs, and files that are not part of a workspace.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where the directories of all sessions of this user are, whether there are any or not.
#[must_use]
pub fn sessions_directory() -> PathBuf {
    env::temp_dir().join(format!("toolwright-sessions-{}", rustix::process::getuid().as_raw()))
}

/// The real path of that directory, while there is something in it.
///
/// Where the kernel has no mount namespaces, a directory is closed by opening all that is beside it, as it
/// is then: that is not done for nothing where temporary files come and go.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is the host's own, and one entry is read"
)]
pub(super) fn in_use(directory: &Path) -> Option<PathBuf> {
    fs::read_dir(directory).ok()?.next()?.ok()?;
    fs::canonicalize(directory).ok()
}
