//! The error type of this crate.

use std::path::{Path, PathBuf};

use toolwright_sqlite::{SqliteError, SqliteErrorKind};

/// Everything that can go wrong with a journal.
///
/// When a write fails with one of these, nothing of that write is in the journal, and every row that was
/// there before is as it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// The database.
    #[error("{}: {}", self.summary(), .0.subject())]
    Sqlite(#[from] SqliteError),
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
        /// Its process, as far as it is known: empty, or in parentheses.
        holder: String,
    },
    /// The id of a claimed call belongs to another call.
    #[error("{}: {call} in `{}`", self.summary(), path.display())]
    Differs {
        /// The journal.
        path: PathBuf,
        /// Both calls.
        call: String,
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
}

impl JournalError {
    /// What happened, in a few words, without the path.
    #[must_use]
    pub fn summary(&self) -> String {
        let summary = match self {
            Self::Sqlite(_) if self.is_too_large() => "Call is too large for the journal",
            Self::Sqlite(error) => return error.summary("Journal"),
            Self::Duplicate { .. } => "Call is already in the journal",
            Self::Missing { .. } => "Call is not in the journal",
            Self::Finished { .. } => "Call already has its outcome",
            Self::TaskLocked { .. } => "Another attempt of the task is running",
            Self::Differs { .. } => "The id of the call belongs to another call",
            Self::Unwritten { .. } => "Calls without side effects were not recorded",
        };
        summary.to_owned()
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(error) => error.path(),
            Self::Duplicate { path, .. }
            | Self::Missing { path, .. }
            | Self::Finished { path, .. }
            | Self::TaskLocked { path, .. }
            | Self::Differs { path, .. }
            | Self::Unwritten { path, .. } => Some(path),
        }
    }

    /// Whether the row it is about can never be written.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, Self::Duplicate { .. }) || self.is_too_large()
    }

    fn is_too_large(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.kind == SqliteErrorKind::TooLarge)
    }
}
