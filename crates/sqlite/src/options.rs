//! How a database is opened.

use crate::BusyTimeout;

/// How a database is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether rows will be written.
    pub access: Access,
    /// What a write has survived once it returns.
    pub synchronous: Synchronous,
    /// How long a call waits for other processes before it fails with
    /// [`Busy`](crate::SqliteErrorKind::Busy).
    pub busy_timeout: BusyTimeout,
}

/// Whether rows will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The file is created where it is missing, and completed where it is older. A file that cannot be
    /// written is an error at once.
    ReadWrite,
    /// The file must exist, and is not changed: an older one is read as it is.
    ReadOnly,
}

/// What a write has survived once it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// The end of every process (`SIGKILL` included). After a loss of power the file is whole, and
    /// the last rows may be missing.
    Normal,
    /// A loss of power too, at the price of waiting for the disk (milliseconds).
    Full,
}
