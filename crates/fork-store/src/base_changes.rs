//! What all changes of a base have in common.

use std::path::PathBuf;

use toolwright_fs::{ChangeLimits, FsError, FsErrorKind};

/// The most that is applied at once. All of it is in memory.
pub(crate) const LIMITS: ChangeLimits =
    ChangeLimits { files: 100_000, file_bytes: 256 << 20, total_bytes: 1 << 30 };

/// The path that another program has changed in the meantime.
pub(crate) fn lost_race(error: &FsError) -> Option<PathBuf> {
    let is_lost =
        matches!(error.kind, FsErrorKind::Conflict | FsErrorKind::Exists | FsErrorKind::NotFound);
    is_lost.then(|| PathBuf::from(&error.path))
}
