//! What can go wrong with a file of `SQLite`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};

/// What went wrong, and with which file. When a write fails with one of these, nothing of it is in the
/// file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SqliteError {
    /// The location is neither a file nor `memory:`.
    #[error("not a location: {}", self.subject())]
    Location {
        /// As given.
        location: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such file, or no such directory to create it in.
    #[error("not found: {}", self.subject())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file, its directory or a file beside it cannot be opened.
    #[error("cannot be opened: {}", self.subject())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// The message of the system or of `SQLite`.
        reason: String,
    },
    /// The file was removed, replaced or cut while it was open: what is written to it is lost.
    #[error("removed: {}", self.subject())]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// Writing was asked for and is not possible.
    #[error("read-only: {}", self.subject())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("not a database: {}", self.subject())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("damaged: {}", self.subject())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The message of `SQLite`.
        reason: String,
    },
    /// The tables are not those expected.
    #[error("another schema: {}", self.subject())]
    WrongSchema {
        /// The file.
        path: PathBuf,
        /// What is different.
        reason: String,
    },
    /// No space is left.
    #[error("disk full: {}", self.subject())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Other processes held the file for too long.
    #[error("busy: {}", self.subject())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long this call waited.
        waited: Duration,
    },
    /// A lock file beside the file cannot be used.
    #[error("lock: {}", self.subject())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The message of the system.
        source: Arc<io::Error>,
    },
    /// A single row is larger than the database can hold.
    #[error("too large: {}", self.subject())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It was closed before.
    #[error("closed: {}", self.subject())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// Any other failure of the system or of `SQLite`.
    #[error("failed: {}", self.subject())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        operation: &'static str,
        /// The message of `SQLite`.
        source: Arc<rusqlite::Error>,
    },
}

/// See `step_budget`.
const ENDLESS: &str = "its pages lead to more than a file of its size can hold";

impl SqliteError {
    /// What happened, in a few words, without the file. `noun` says what the database is: `Journal`.
    #[must_use]
    pub fn summary(&self, noun: &str) -> String {
        match self {
            Self::Location { .. } => format!("{noun} location is not valid"),
            Self::NotFound { .. } => format!("{noun} not found"),
            Self::CannotOpen { .. } => format!("{noun} cannot be opened"),
            Self::Removed { .. } => format!("{noun} was removed or replaced while it was open"),
            Self::ReadOnly { .. } => format!("{noun} is read-only"),
            Self::NotADatabase { .. } => format!("File is not a {}", noun.to_lowercase()),
            Self::Corrupt { .. } => format!("{noun} is damaged"),
            Self::WrongSchema { .. } => format!("{noun} has another schema"),
            Self::Full { .. } => format!("{noun} cannot grow, the disk is full"),
            Self::Busy { .. } => format!("{noun} is busy with other processes"),
            Self::Lock { .. } => "Lock file cannot be used".to_owned(),
            Self::TooLarge { .. } => format!("Too large for the {}", noun.to_lowercase()),
            Self::Closed { .. } => format!("{noun} is closed"),
            Self::Io { .. } => format!("{noun} operation failed"),
        }
    }

    /// The file with what is known of the failure, as it stands after a summary.
    #[must_use]
    pub fn subject(&self) -> String {
        let file = self.path().map(|path| format!("`{}`", path.display())).unwrap_or_default();
        match self {
            Self::Location { location, reason } => format!("`{location}`, {reason}"),
            Self::CannotOpen { reason, .. }
            | Self::Corrupt { reason, .. }
            | Self::WrongSchema { reason, .. } => format!("{file}, {reason}"),
            Self::Busy { waited, .. } => format!("{file}, waited {} ms", waited.as_millis()),
            Self::Lock { source, .. } => format!("{file}, {source}"),
            Self::Io { operation, source, .. } => format!("{file}, {operation}: {source}"),
            Self::NotFound { .. }
            | Self::Removed { .. }
            | Self::ReadOnly { .. }
            | Self::NotADatabase { .. }
            | Self::Full { .. }
            | Self::TooLarge { .. }
            | Self::Closed { .. } => file,
        }
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Location { .. } => None,
            Self::NotFound { path }
            | Self::CannotOpen { path, .. }
            | Self::Removed { path }
            | Self::ReadOnly { path }
            | Self::NotADatabase { path }
            | Self::Corrupt { path, .. }
            | Self::WrongSchema { path, .. }
            | Self::Full { path }
            | Self::Busy { path, .. }
            | Self::Lock { path, .. }
            | Self::TooLarge { path }
            | Self::Closed { path }
            | Self::Io { path, .. } => Some(path),
        }
    }

    /// Maps an error of `SQLite` to the most specific variant.
    #[must_use]
    pub fn of(path: &Path, operation: &'static str, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        let code = match &error {
            rusqlite::Error::SqliteFailure(code, _) => code,
            // Statements name only tables and columns that were there when the file was opened.
            rusqlite::Error::SqlInputError { .. } => return Self::WrongSchema { path, reason },
            // A row holds a value that no version writes.
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => return Self::Corrupt { path, reason },
            _ => return Self::Io { path, operation, source: Arc::new(error) },
        };
        match (code.code, code.extended_code) {
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                Self::Busy { path, waited: Duration::ZERO }
            }
            // The shared memory beside the database could not grow.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => Self::Full { path },
            (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Self::ReadOnly { path },
            (ErrorCode::NotADatabase, _) => Self::NotADatabase { path },
            (ErrorCode::DatabaseCorrupt, _) | (_, ffi::SQLITE_IOERR_CORRUPTFS) => {
                Self::Corrupt { path, reason }
            }
            (ErrorCode::OperationInterrupted, _) => {
                Self::Corrupt { path, reason: ENDLESS.to_owned() }
            }
            (ErrorCode::CannotOpen, _) => Self::CannotOpen { path, reason },
            (ErrorCode::TooBig, _) => Self::TooLarge { path },
            (ErrorCode::Unknown, ffi::SQLITE_ERROR) | (ErrorCode::SchemaChanged, _) => {
                Self::WrongSchema { path, reason }
            }
            _ => Self::Io { path, operation, source: Arc::new(error) },
        }
    }
}
