//! Retrying while other processes write to the same file.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{ErrorCode, ffi};

use crate::{SqliteError, step_budget};

/// The first retries follow at once: a write takes some ten microseconds.
const IMMEDIATE_RETRIES: u32 = 4;
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(5);

/// How long to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusyTimeout(pub Duration);

impl BusyTimeout {
    /// For a caller that must not wait: as long as another process takes for a row or two.
    pub const MINIMAL: Self = Self(Duration::from_micros(50));

    /// Calls `act` until it does not find the database busy. `act` must have undone its work when it
    /// fails.
    ///
    /// `SQLite`'s own busy handler begins with a pause of a millisecond, a hundred times as long as a
    /// write, and wakes all waiting processes at the same moments.
    pub fn retry<T>(
        self,
        path: &Path,
        operation: &'static str,
        act: impl FnMut() -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        self.retry_since(Instant::now(), path, operation, act)
    }

    /// The same for a caller that has waited since `started` already.
    pub(crate) fn retry_since<T>(
        self,
        started: Instant,
        path: &Path,
        operation: &'static str,
        mut act: impl FnMut() -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        let mut round = 0;
        loop {
            step_budget::reset();
            match act() {
                Ok(value) => return Ok(value),
                Err(error) if is_busy(&error) => {
                    let waited = started.elapsed();
                    if waited >= self.0 {
                        return Err(SqliteError::busy(path, waited));
                    }
                    pause(round);
                    round += 1;
                }
                Err(error) => return Err(SqliteError::of(path, operation, &error)),
            }
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(code, _) = error else { return false };
    matches!(
        code.code,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed
    ) || code.extended_code == ffi::SQLITE_CANTOPEN_DIRTYWAL
}

/// Doubles with each round, and differs between processes.
fn pause(round: u32) {
    if round < IMMEDIATE_RETRIES {
        thread::yield_now();
        return;
    }
    let longest = Duration::from_micros(50 << (round - IMMEDIATE_RETRIES).min(10)).min(MAX_PAUSE);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let part = (now.subsec_nanos() ^ std::process::id().wrapping_mul(0x9e37_79b1)) % 8 + 1;
    thread::sleep(longest * part / 8);
}
