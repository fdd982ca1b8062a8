//! Other processes write to the same file; whoever comes second tries again, for so long.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{ErrorCode, ffi};

use crate::{SqliteError, budget};

/// A write takes some ten microseconds, so that the first tries follow at once.
const AT_ONCE: u32 = 4;
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_millis(5);

/// How long to try.
#[derive(Debug, Clone, Copy)]
pub struct Patience(
    /// How long.
    pub Duration,
);

impl Patience {
    /// For a caller that must not wait: as long as another process takes for a row or two.
    pub const HARDLY_ANY: Self = Self(Duration::from_micros(50));

    /// Calls `act` until it does not find the database busy. `act` must have undone what it did when
    /// it fails.
    ///
    /// `SQLite`'s own waiting begins with a millisecond, a hundred times what a write takes, and
    /// wakes all who wait at the same moments.
    pub fn retry<T>(
        self,
        path: &Path,
        operation: &'static str,
        mut act: impl FnMut() -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        let started = Instant::now();
        for round in 0.. {
            budget::begin();
            match act() {
                Ok(value) => return Ok(value),
                Err(error) if is_busy(&error) => {
                    let waited = started.elapsed();
                    if waited >= self.0 {
                        return Err(SqliteError::Busy { path: path.to_owned(), waited });
                    }
                    pause(round);
                }
                Err(error) => return Err(SqliteError::of(path, operation, error)),
            }
        }
        unreachable!("there is always another round")
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(code, _) = error else { return false };
    matches!(
        code.code,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed
    ) || code.extended_code == ffi::SQLITE_CANTOPEN_DIRTYWAL
}

/// Twice as long each time, and a different part of it in each process.
fn pause(round: u32) {
    if round < AT_ONCE {
        thread::yield_now();
        return;
    }
    let longest = Duration::from_micros(50 << (round - AT_ONCE).min(10)).min(LONGEST);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let part = (now.subsec_nanos() ^ std::process::id().wrapping_mul(0x9e37_79b1)) % 8 + 1;
    thread::sleep(longest * part / 8);
}
