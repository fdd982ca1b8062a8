//! How a journal is opened.

use std::time::Duration;

use toolwright_sqlite::{Access, BusyTimeout, Synchronous};

/// How a journal is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether rows will be written.
    pub access: Access,
    /// What a write has survived once it returns.
    pub synchronous: Synchronous,
    /// The most bytes of an output or an error that a row keeps.
    pub output_limit: usize,
    /// How long a call waits for other processes before it fails with
    /// [`Busy`](toolwright_sqlite::SqliteErrorKind::Busy).
    pub busy_timeout: Duration,
    /// The longest time that a row waits in the write-behind queue.
    pub flush_within: Duration,
    /// The most rows in the write-behind queue. A call that finds it full waits.
    pub queue_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::ReadWrite,
            synchronous: Synchronous::Normal,
            output_limit: 200_000,
            busy_timeout: Duration::from_secs(10),
            flush_within: Duration::from_millis(25),
            queue_rows: 1024,
        }
    }
}

impl Options {
    pub(crate) fn database(&self) -> toolwright_sqlite::Options {
        let Self { access, synchronous, busy_timeout, .. } = *self;
        let busy_timeout = BusyTimeout(busy_timeout);
        toolwright_sqlite::Options { access, synchronous, busy_timeout }
    }
}
