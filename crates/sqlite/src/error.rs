//! What can go wrong with a file of `SQLite`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};

/// What went wrong, and with which file. When a write fails with it, nothing of it is in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.summary("Database"), self.subject())]
pub struct SqliteError {
    /// What went wrong.
    pub kind: SqliteErrorKind,
    /// The file, or the location as it was given.
    pub path: PathBuf,
    /// What is known of the failure, such as the message of the system; perhaps empty.
    pub reason: String,
}

/// What can go wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteErrorKind {
    /// The location is neither a file nor `memory:`.
    Location,
    /// There is no such file, or no such directory to create it in.
    NotFound,
    /// The file, its directory or a file beside it cannot be opened.
    CannotOpen,
    /// The file was removed, replaced or cut while it was open: what is written to it is lost.
    Removed,
    /// Writing was asked for and is not possible.
    ReadOnly,
    /// The file is something else.
    NotADatabase,
    /// The file is damaged.
    Corrupt,
    /// The tables are not those expected.
    WrongSchema,
    /// No space is left.
    Full,
    /// Other processes held the file for too long.
    Busy,
    /// A lock file beside the file cannot be used.
    Lock,
    /// A single row is larger than the database can hold.
    TooLarge,
    /// It was closed before.
    Closed,
    /// Any other failure of the system or of `SQLite`.
    Io,
}

/// See `step_budget`.
const ENDLESS: &str = "its pages lead to more than a file of its size can hold";

impl SqliteErrorKind {
    /// This error of a file, and nothing more is known.
    #[must_use]
    pub fn at(self, path: &Path) -> SqliteError {
        self.because(path, "")
    }

    /// This error of a file, for a reason.
    #[must_use]
    pub fn because(self, path: &Path, reason: impl Display) -> SqliteError {
        SqliteError { kind: self, path: path.to_owned(), reason: reason.to_string() }
    }
}

impl SqliteError {
    /// What happened, in a few words, without the file. `noun` says what the database is: `Journal`.
    #[must_use]
    pub fn summary(&self, noun: &str) -> String {
        use SqliteErrorKind as Kind;
        match self.kind {
            Kind::Location => format!("{noun} location is not valid"),
            Kind::NotFound => format!("{noun} not found"),
            Kind::CannotOpen => format!("{noun} cannot be opened"),
            Kind::Removed => format!("{noun} was removed or replaced while it was open"),
            Kind::ReadOnly => format!("{noun} is read-only"),
            Kind::NotADatabase => format!("File is not a {}", noun.to_lowercase()),
            Kind::Corrupt => format!("{noun} is damaged"),
            Kind::WrongSchema => format!("{noun} has another schema"),
            Kind::Full => format!("{noun} cannot grow, the disk is full"),
            Kind::Busy => format!("{noun} is busy with other processes"),
            Kind::Lock => "Lock file cannot be used".to_owned(),
            Kind::TooLarge => format!("Too large for the {}", noun.to_lowercase()),
            Kind::Closed => format!("{noun} is closed"),
            Kind::Io => format!("{noun} operation failed"),
        }
    }

    /// The file with what is known of the failure, as it stands after a summary.
    #[must_use]
    pub fn subject(&self) -> String {
        let comma = if self.reason.is_empty() { "" } else { ", " };
        format!("`{}`{comma}{}", self.path.display(), self.reason)
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        (self.kind != SqliteErrorKind::Location).then_some(&self.path)
    }

    /// Other processes held the file for this long.
    #[must_use]
    pub fn busy(path: &Path, waited: Duration) -> Self {
        SqliteErrorKind::Busy.because(path, format_args!("waited {} ms", waited.as_millis()))
    }

    /// Finds the most specific kind of an error of `SQLite`.
    #[must_use]
    pub fn of(path: &Path, operation: &'static str, error: &rusqlite::Error) -> Self {
        use SqliteErrorKind as Kind;
        let kind = match error {
            rusqlite::Error::SqliteFailure(code, _) => match (code.code, code.extended_code) {
                (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                    return Self::busy(path, Duration::ZERO);
                }
                // The shared memory beside the database could not grow.
                (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => Kind::Full,
                (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Kind::ReadOnly,
                (ErrorCode::NotADatabase, _) => Kind::NotADatabase,
                (ErrorCode::DatabaseCorrupt, _) | (_, ffi::SQLITE_IOERR_CORRUPTFS) => Kind::Corrupt,
                (ErrorCode::OperationInterrupted, _) => {
                    return Kind::Corrupt.because(path, ENDLESS);
                }
                (ErrorCode::CannotOpen, _) => Kind::CannotOpen,
                (ErrorCode::TooBig, _) => Kind::TooLarge,
                (ErrorCode::Unknown, ffi::SQLITE_ERROR) | (ErrorCode::SchemaChanged, _) => {
                    Kind::WrongSchema
                }
                _ => Kind::Io,
            },
            // Statements name only tables and columns that were there when the file was opened.
            rusqlite::Error::SqlInputError { .. } => Kind::WrongSchema,
            // A row holds a value that no version writes.
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => Kind::Corrupt,
            _ => Kind::Io,
        };
        match kind {
            Kind::CannotOpen | Kind::Corrupt | Kind::WrongSchema => kind.because(path, error),
            Kind::Io => kind.because(path, format_args!("{operation}: {error}")),
            _ => kind.at(path),
        }
    }
}

/// Why a transaction ends early.
#[derive(Debug)]
pub enum TxError<E> {
    /// An error of `SQLite`. The transaction is retried if the database was busy.
    Sql(rusqlite::Error),
    /// The caller's own error: the transaction is rolled back.
    Abort(E),
}

impl<E> From<rusqlite::Error> for TxError<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
