//! Files that the process has reserved: those of its open journals and thread stores.

use std::path::PathBuf;

/// Closes what there is of it, whatever opens it by name.
pub(super) fn close(closed: &mut Vec<PathBuf>, readable: &mut Vec<PathBuf>) {
    let reserved = toolwright_reserved::paths();
    readable.retain(|path| !reserved.contains(path));
    closed.extend(reserved.into_iter().filter(|path| path.symlink_metadata().is_ok()));
}
