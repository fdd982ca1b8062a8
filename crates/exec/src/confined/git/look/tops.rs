//! The directories that are known.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::Top;

/// How many are known at once.
const MAX_TOPS: usize = 16;

/// Whether a directory is that of all programs for temporary files. What appears there is rather not a command's.
pub(super) fn is_shared(top: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| top == Path::new(shared))
        || std::env::temp_dir().canonicalize().is_ok_and(|shared| top == shared)
}

static TOPS: Mutex<Vec<Arc<Top>>> = Mutex::new(Vec::new());

/// Forgets a directory that is about to be removed, and those below it.
pub(crate) fn forget_below(directory: &Path) {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    tops.retain(|top| Arc::strong_count(top) > 1 || !top.path.starts_with(directory));
}

/// Forgets all directories in which nothing runs: this process ends.
pub(crate) fn forget_all() {
    forget_below(Path::new("/"));
}

/// The one at a path.
pub(super) fn of(path: &Path) -> Arc<Top> {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = tops.iter().find(|known| known.path == path) {
        return Arc::clone(known);
    }
    if tops.len() >= MAX_TOPS
        && let Some(unused) = tops.iter().position(|known| Arc::strong_count(known) == 1)
    {
        tops.remove(unused);
    }
    let new = Arc::new(Top { path: path.to_owned(), state: Mutex::default() });
    tops.push(Arc::clone(&new));
    new
}
