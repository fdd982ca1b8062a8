//! The time of rows.

use std::time::{Duration, SystemTime};

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Now, in milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX)
}

/// Now, in microseconds since 1970.
#[must_use]
pub fn now_us() -> i64 {
    i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX)
}
