//! The one error type of this crate: what happened, in which journal, and what to do next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright_sqlite::SqliteError;

/// Everything that can go wrong with a journal.
///
/// When a write returns one of these, nothing of that write is in the journal, and every row that was
/// there before is as it was.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// What names the journal is neither a file nor `memory:`.
    #[error("{}: `{location}`, {reason}", self.summary())]
    Location {
        /// As given.
        location: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such file, or no such directory to create it in.
    #[error("{}: `{}`", self.summary(), path.display())]
    NotFound {
        /// The journal.
        path: PathBuf,
    },
    /// The file, its directory or a file beside it cannot be opened.
    #[error("{}: `{}`, {reason}", self.summary(), path.display())]
    CannotOpen {
        /// The journal.
        path: PathBuf,
        /// What the system or `SQLite` said.
        reason: String,
    },
    /// The file was removed or replaced while it was open: what is written to it is lost.
    #[error("{}: `{}`", self.summary(), path.display())]
    Removed {
        /// The journal.
        path: PathBuf,
    },
    /// Writing was asked for and is not possible.
    #[error("{}: `{}`", self.summary(), path.display())]
    ReadOnly {
        /// The journal.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: `{}`", self.summary(), path.display())]
    NotADatabase {
        /// The journal.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{}: `{}`, {reason}", self.summary(), path.display())]
    Corrupt {
        /// The journal.
        path: PathBuf,
        /// What `SQLite` said.
        reason: String,
    },
    /// A database in which the table of calls is not the one expected.
    #[error("{}: `{}`, {reason}", self.summary(), path.display())]
    WrongSchema {
        /// The journal.
        path: PathBuf,
        /// What is different.
        reason: String,
    },
    /// No space is left.
    #[error("{}: `{}`", self.summary(), path.display())]
    Full {
        /// The journal.
        path: PathBuf,
    },
    /// Other processes held the journal for too long.
    #[error("{}: `{}`, waited {} ms", self.summary(), path.display(), waited.as_millis())]
    Busy {
        /// The journal.
        path: PathBuf,
        /// How long this call waited.
        waited: Duration,
    },
    /// A row with this run, task, attempt and sequence number is already there.
    #[error("{}: {call} in `{}`", self.summary(), path.display())]
    Duplicate {
        /// The journal.
        path: PathBuf,
        /// Which call.
        call: String,
    },
    /// The row of a call is not there any more.
    #[error("{}: row {row} in `{}`", self.summary(), path.display())]
    Missing {
        /// The journal.
        path: PathBuf,
        /// The row's number.
        row: i64,
    },
    /// The row of a call already has its outcome.
    #[error("{}: row {row} in `{}` has status `{status}`", self.summary(), path.display())]
    Finished {
        /// The journal.
        path: PathBuf,
        /// The row's number.
        row: i64,
        /// The status it has.
        status: String,
    },
    /// An attempt of the same task is running.
    #[error("{}: {task} in `{}`{holder}", self.summary(), path.display())]
    TaskLocked {
        /// The journal.
        path: PathBuf,
        /// Which task.
        task: String,
        /// Who runs it, as far as that is known: empty, or in parentheses.
        holder: String,
    },
    /// A lock file beside the journal cannot be used.
    #[error("{}: `{}`, {source}", self.summary(), path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A single row is larger than the database can hold.
    #[error("{}: `{}`", self.summary(), path.display())]
    TooLarge {
        /// The journal.
        path: PathBuf,
    },
    /// Rows that were to be written behind could not be written, and are lost.
    #[error("{}: {rows} rows for `{}`, {source}", self.summary(), path.display())]
    Unwritten {
        /// The journal.
        path: PathBuf,
        /// How many.
        rows: usize,
        /// Why.
        source: Box<JournalError>,
    },
    /// The journal was closed before.
    #[error("{}: `{}`", self.summary(), path.display())]
    Closed {
        /// The journal.
        path: PathBuf,
    },
    /// Any other failure of the system or of `SQLite`.
    #[error("{}: `{}`, {operation}: {source}", self.summary(), path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// What was attempted.
        operation: &'static str,
        /// What `SQLite` said.
        source: Arc<rusqlite::Error>,
    },
}

impl JournalError {
    /// The public error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.words().0
    }

    /// What happened, in a few words, without the path.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.words().1
    }

    /// The next move, in one sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.words().2
    }

    fn words(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Location { .. } => (
                "JOURNAL_LOCATION_INVALID",
                "Journal location is not valid",
                "Name a file as `file:runs.db`, or `memory:`.",
            ),
            Self::NotFound { .. } => (
                "JOURNAL_NOT_FOUND",
                "Journal not found",
                "Check the path: to be read, the journal has to be there, and to be created, its directory.",
            ),
            Self::CannotOpen { .. } => (
                "JOURNAL_OPEN_FAILED",
                "Journal cannot be opened",
                "Check that the file and its directory can be read and written by this user.",
            ),
            Self::Removed { .. } => (
                "JOURNAL_REMOVED",
                "Journal was removed or replaced while it was open",
                "Open it again, and keep it where no command of a task removes it.",
            ),
            Self::ReadOnly { .. } => (
                "JOURNAL_READ_ONLY",
                "Journal is read-only",
                "Make the file and its directory writable, choose another place, or open it for reading only.",
            ),
            Self::NotADatabase { .. } => (
                "JOURNAL_NOT_A_DATABASE",
                "File is not a journal",
                "Nothing was changed. Choose another path, or move the file away.",
            ),
            Self::Corrupt { .. } => (
                "JOURNAL_CORRUPT",
                "Journal is damaged",
                "Nothing was changed. Move the file and those beside it (`-wal`, `-shm`) away, and recover what can be read with `sqlite3 FILE .recover`.",
            ),
            Self::WrongSchema { .. } => (
                "JOURNAL_SCHEMA_MISMATCH",
                "Journal has another schema",
                "Choose another file: this one is no journal, or that of a program which keeps other columns.",
            ),
            Self::Full { .. } => (
                "JOURNAL_DISK_FULL",
                "Journal cannot grow, the disk is full",
                "Free some disk space and try again; the rows already written are safe.",
            ),
            Self::Busy { .. } => (
                "JOURNAL_BUSY",
                "Journal is busy with other processes",
                "Try again; if it persists, look for a program that keeps a transaction open.",
            ),
            Self::Duplicate { .. } => (
                "JOURNAL_DUPLICATE_CALL",
                "Call is already in the journal",
                "Give every call of an attempt its own sequence number, and every repetition its own attempt.",
            ),
            Self::Missing { .. } => (
                "JOURNAL_CALL_MISSING",
                "Call is not in the journal",
                "The row was removed or archived by another program; its outcome was not recorded.",
            ),
            Self::Finished { .. } => (
                "JOURNAL_CALL_FINISHED",
                "Call already has its outcome",
                "Record the outcome of a call once.",
            ),
            Self::TaskLocked { .. } => (
                "JOURNAL_TASK_LOCKED",
                "Another attempt of the task is running",
                "Wait until it has ended; a lock goes with the process that holds it.",
            ),
            Self::Lock { .. } => (
                "JOURNAL_LOCK_FAILED",
                "Lock file cannot be used",
                "Check that the directory beside the journal can be written by this user.",
            ),
            Self::TooLarge { .. } => (
                "JOURNAL_ROW_TOO_LARGE",
                "Call is too large for the journal",
                "Record a smaller input, for instance the size and hash of a content.",
            ),
            Self::Unwritten { .. } => (
                "JOURNAL_ROWS_LOST",
                "Calls without side effects were not recorded",
                "Remove the cause; calls with side effects are not concerned.",
            ),
            Self::Closed { .. } => (
                "JOURNAL_CLOSED",
                "Journal is closed",
                "Open it again, or close it only after the last call.",
            ),
            Self::Io { .. } => (
                "JOURNAL_IO_FAILED",
                "Journal operation failed",
                "Check the disk, its quota and the limits of the process, and try again.",
            ),
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
            | Self::Duplicate { path, .. }
            | Self::Missing { path, .. }
            | Self::Finished { path, .. }
            | Self::TaskLocked { path, .. }
            | Self::Lock { path, .. }
            | Self::TooLarge { path }
            | Self::Unwritten { path, .. }
            | Self::Closed { path }
            | Self::Io { path, .. } => Some(path),
        }
    }

    /// Sorts an error of `SQLite` into the variant that tells the caller most.
    pub(crate) fn of(path: &Path, operation: &'static str, error: rusqlite::Error) -> Self {
        SqliteError::of(path, operation, error).into()
    }
}

impl From<SqliteError> for JournalError {
    fn from(error: SqliteError) -> Self {
        match error {
            SqliteError::Location { location, reason } => Self::Location { location, reason },
            SqliteError::NotFound { path } => Self::NotFound { path },
            SqliteError::CannotOpen { path, reason } => Self::CannotOpen { path, reason },
            SqliteError::ReadOnly { path } => Self::ReadOnly { path },
            SqliteError::NotADatabase { path } => Self::NotADatabase { path },
            SqliteError::Corrupt { path, reason } => Self::Corrupt { path, reason },
            SqliteError::WrongSchema { path, reason } => Self::WrongSchema { path, reason },
            SqliteError::Full { path } => Self::Full { path },
            SqliteError::Busy { path, waited } => Self::Busy { path, waited },
            SqliteError::Lock { path, source } => Self::Lock { path, source },
            SqliteError::TooLarge { path } => Self::TooLarge { path },
            SqliteError::Closed { path } => Self::Closed { path },
            SqliteError::Io { path, operation, source } => Self::Io { path, operation, source },
        }
    }
}
