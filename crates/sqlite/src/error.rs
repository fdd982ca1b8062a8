//! What can go wrong with a file of `SQLite`. The crates above give it their codes and words.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};

/// What went wrong, and with which file. When a transaction gives one of these, nothing of it is in
/// the file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SqliteError {
    /// What names the file is neither a file nor `memory:`.
    #[error("not a location: `{location}`, {reason}")]
    Location {
        /// As given.
        location: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such file, or no such directory to create it in.
    #[error("not found: `{}`", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file, its directory or a file beside it cannot be opened.
    #[error("cannot be opened: `{}`, {reason}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the system or `SQLite` said.
        reason: String,
    },
    /// Writing was asked for and is not possible.
    #[error("read-only: `{}`", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("not a database: `{}`", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("damaged: `{}`, {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What `SQLite` said.
        reason: String,
    },
    /// The tables are not those expected.
    #[error("another schema: `{}`, {reason}", path.display())]
    WrongSchema {
        /// The file.
        path: PathBuf,
        /// What is different.
        reason: String,
    },
    /// No space is left.
    #[error("disk full: `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Other processes held the file for too long.
    #[error("busy: `{}`, waited {} ms", path.display(), waited.as_millis())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long this call waited.
        waited: Duration,
    },
    /// A lock file beside the file cannot be used.
    #[error("lock: `{}`, {source}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A single row is larger than the database can hold.
    #[error("too large: `{}`", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It was closed before.
    #[error("closed: `{}`", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// Any other failure of the system or of `SQLite`.
    #[error("failed: `{}`, {operation}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        operation: &'static str,
        /// What `SQLite` said.
        source: Arc<rusqlite::Error>,
    },
}

/// See `budget`.
const ENDLESS: &str = "its pages lead to more than a file of its size can hold";

impl SqliteError {
    /// Sorts an error of `SQLite` into the variant that tells the caller most.
    #[must_use]
    pub fn of(path: &Path, operation: &'static str, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        let code = match &error {
            rusqlite::Error::SqliteFailure(code, _) => code,
            // What is prepared names only what was there when the file was opened.
            rusqlite::Error::SqlInputError { .. } => return Self::WrongSchema { path, reason },
            // A row holds what nobody wrote there.
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
