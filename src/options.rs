//! Options that several calls share.

use std::path::PathBuf;
use std::time::Duration;

use napi_derive::napi;
use toolwright_core::file::Publish;

/// How a changed file is published.
#[napi(object)]
pub struct PublishOptions {
    /// Wait until file and directory are on the disk.
    pub fsync: bool,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait_ms: f64,
    /// Paths below the root that are not to be written, if not the usual ones. An opened target was checked
    /// when it was opened.
    pub deny_write: Option<Vec<String>>,
}

impl From<PublishOptions> for Publish {
    fn from(options: PublishOptions) -> Self {
        Self {
            fsync: options.fsync,
            allow_in_place: options.allow_in_place,
            wait: milliseconds(options.wait_ms),
            deny_write: options.deny_write.map(paths),
        }
    }
}

/// Paths from JavaScript.
pub(crate) fn paths(paths: Vec<String>) -> Vec<PathBuf> {
    paths.into_iter().map(PathBuf::from).collect()
}

/// A duration from JavaScript: NaN and negative numbers are zero, infinity is a day.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    const DAY_MS: f64 = 86_400_000.0;
    let ms = if ms.is_nan() { 0.0 } else { ms.clamp(0.0, DAY_MS) };
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}

/// A byte count from JavaScript: NaN and negative numbers are zero, and nothing overflows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and makes NaN zero, as callers expect"
)]
pub(crate) fn bytes(count: f64) -> u64 {
    count as u64
}

/// As [`bytes`], for what is held in memory.
pub(crate) fn size(count: f64) -> usize {
    usize::try_from(bytes(count)).unwrap_or(usize::MAX)
}

/// A count or a size for JavaScript: exact up to 2^53, which nothing here reaches.
#[expect(clippy::cast_precision_loss, reason = "no file and no list is that long")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// A count for JavaScript of what is held in memory.
pub(crate) fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
