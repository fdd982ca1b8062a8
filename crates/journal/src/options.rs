//! How a journal is opened.

use std::time::Duration;

use toolwright_sqlite::Synchronous;

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
    /// [`Busy`](crate::JournalError::Busy).
    pub patience: Duration,
    /// How old a row that is written behind gets before it is written.
    pub flush_within: Duration,
    /// How many rows may wait to be written behind; a call that finds so many waits for them.
    pub queue_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::ReadWrite,
            synchronous: Synchronous::Normal,
            output_limit: 200_000,
            patience: Duration::from_secs(10),
            flush_within: Duration::from_millis(25),
            queue_rows: 1024,
        }
    }
}

/// Whether rows will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The file is created where it is missing, and brought up to date where it is older. A file
    /// that cannot be written is an error at once.
    ReadWrite,
    /// The file must exist, and is not changed: an older one is read as it is.
    ReadOnly,
}
