//! The one error type of this crate: what happened, where, and what to do next.

use std::path::{Path, PathBuf};

use toolwright_fs::FsError;
use toolwright_sqlite::SqliteError;

/// Everything that can go wrong with threads. What returned one of these has changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// The database.
    #[error("{}: {}", self.summary(), place_of(.0))]
    Sqlite(#[from] SqliteError),
    /// The file was removed or replaced while it was open: what is written to it is lost.
    #[error("{}: `{}`", self.summary(), path.display())]
    Removed {
        /// The database.
        path: PathBuf,
    },
    /// There is no such thread.
    #[error("{}: `{thread}`", self.summary())]
    NoThread {
        /// Its id.
        thread: String,
    },
    /// Somebody else works on the thread, or the right to do so was given back.
    #[error("{}: `{thread}`{holder}", self.summary())]
    Locked {
        /// Its id.
        thread: String,
        /// Who has the right, as far as that is known: empty, or in parentheses.
        holder: String,
    },
    /// There is no such call.
    #[error("{}: `{call}` of thread `{thread}`", self.summary())]
    NoCall {
        /// The thread.
        thread: String,
        /// The id of the call.
        call: String,
    },
    /// The call stands otherwise.
    #[error("{}: `{call}` is `{status}`, and not `{expected}`", self.summary())]
    CallState {
        /// The id of the call.
        call: String,
        /// How it stands.
        status: String,
        /// How it should stand.
        expected: &'static str,
    },
    /// An id is taken.
    #[error("{}: {what} `{id}`", self.summary())]
    Duplicate {
        /// Of what: `call` or `message`.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// There is no such attachment, or none that is staged.
    #[error("{}: `{path}`", self.summary())]
    NoAttachment {
        /// Its path.
        path: String,
    },
    /// A name that is none.
    #[error("{}: {what} {reason}", self.summary())]
    Name {
        /// Of what.
        what: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The text is not base64.
    #[error("{}: `{name}`, {reason} at character {offset}", self.summary())]
    Base64 {
        /// The attachment.
        name: String,
        /// What is wrong.
        reason: &'static str,
        /// Where, counted from 0.
        offset: u64,
    },
    /// Too many bytes.
    #[error("{}: {what}, limit {limit} bytes", self.summary())]
    TooLarge {
        /// Of what.
        what: String,
        /// How many are allowed.
        limit: u64,
    },
    /// A file could not be exported.
    #[error("{0}")]
    Export(#[from] FsError),
}

fn place_of(error: &SqliteError) -> String {
    use SqliteError as E;
    match error {
        E::Location { location, reason } => format!("`{location}`, {reason}"),
        E::CannotOpen { path, reason }
        | E::Corrupt { path, reason }
        | E::WrongSchema { path, reason } => format!("`{}`, {reason}", path.display()),
        E::Busy { path, waited } => {
            format!("`{}`, waited {} ms", path.display(), waited.as_millis())
        }
        E::Lock { path, source } => format!("`{}`, {source}", path.display()),
        E::Io { path, operation, source } => {
            format!("`{}`, {operation}: {source}", path.display())
        }
        E::NotFound { path }
        | E::ReadOnly { path }
        | E::NotADatabase { path }
        | E::Full { path }
        | E::TooLarge { path }
        | E::Closed { path } => format!("`{}`", path.display()),
    }
}

impl ThreadError {
    /// The public error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.words().0
    }

    /// What happened, in a few words, without the place.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.words().1
    }

    /// The next move, in one sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.words().2
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        use SqliteError as E;
        match self {
            Self::Removed { path } => Some(path),
            Self::Sqlite(error) => match error {
                E::Location { .. } => None,
                E::NotFound { path }
                | E::CannotOpen { path, .. }
                | E::ReadOnly { path }
                | E::NotADatabase { path }
                | E::Corrupt { path, .. }
                | E::WrongSchema { path, .. }
                | E::Full { path }
                | E::Busy { path, .. }
                | E::Lock { path, .. }
                | E::TooLarge { path }
                | E::Closed { path }
                | E::Io { path, .. } => Some(path),
            },
            _ => None,
        }
    }

    fn words(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Sqlite(error) => sqlite_words(error),
            Self::Removed { .. } => (
                "THREAD_REMOVED",
                "Thread store was removed or replaced while it was open",
                "Open it again, and keep it where no tool removes it.",
            ),
            Self::NoThread { .. } => (
                "THREAD_NOT_FOUND",
                "Thread not found",
                "Check the id, or create the thread first.",
            ),
            Self::Locked { .. } => (
                "THREAD_LOCKED",
                "Somebody else works on the thread",
                "Wait until it is free; the right to work goes with the process that has it.",
            ),
            Self::NoCall { .. } => (
                "THREAD_CALL_NOT_FOUND",
                "Call not found",
                "Check the id of the call, and that of its thread.",
            ),
            Self::CallState { .. } => (
                "THREAD_CALL_STATE",
                "Call does not stand as it should",
                "Begin a call once, and finish it once after that.",
            ),
            Self::Duplicate { .. } => (
                "THREAD_DUPLICATE_ID",
                "Id is taken in this thread",
                "Give every call and every message an id of its own, or none.",
            ),
            Self::NoAttachment { .. } => (
                "THREAD_ATTACHMENT_NOT_FOUND",
                "Attachment not found",
                "Use the path of an attachment of this thread, as it was given.",
            ),
            Self::Name { .. } => (
                "THREAD_NAME_REFUSED",
                "Name refused",
                "Give a short name of one line, for an attachment with a MIME type such as `image/png`.",
            ),
            Self::Base64 { .. } => (
                "THREAD_ENCODING_INVALID",
                "Attachment data is not base64",
                "Encode the bytes with the standard alphabet and padding, without line breaks or a `data:` prefix.",
            ),
            Self::TooLarge { .. } => (
                "THREAD_TOO_LARGE",
                "Too large for the thread store",
                "Store less, or store it in parts.",
            ),
            Self::Export(_) => ("TOOL_IO_FAILED", "Attachment was not exported", ""),
        }
    }
}

fn sqlite_words(error: &SqliteError) -> (&'static str, &'static str, &'static str) {
    match error {
        SqliteError::Location { .. } => (
            "THREAD_LOCATION_INVALID",
            "Thread store location is not valid",
            "Name a file as `file:thread.db`, or `memory:`.",
        ),
        SqliteError::NotFound { .. } => (
            "THREAD_STORE_NOT_FOUND",
            "Thread store not found",
            "Check the path: to be read, the store has to be there, and to be created, its directory.",
        ),
        SqliteError::CannotOpen { .. } => (
            "THREAD_OPEN_FAILED",
            "Thread store cannot be opened",
            "Check that the file and its directory can be read and written by this user.",
        ),
        SqliteError::ReadOnly { .. } => (
            "THREAD_READ_ONLY",
            "Thread store is read-only",
            "Make the file and its directory writable, choose another place, or open it for reading only.",
        ),
        SqliteError::NotADatabase { .. } => (
            "THREAD_NOT_A_DATABASE",
            "File is not a thread store",
            "Nothing was changed. Choose another path, or move the file away.",
        ),
        SqliteError::Corrupt { .. } => (
            "THREAD_CORRUPT",
            "Thread store is damaged",
            "Nothing was changed. Move the file and those beside it (`-wal`, `-shm`) away, and recover what can be read with `sqlite3 FILE .recover`.",
        ),
        SqliteError::WrongSchema { .. } => (
            "THREAD_SCHEMA_MISMATCH",
            "Thread store has another schema",
            "Choose another file: this one is no thread store, or one of its tables was made by another program.",
        ),
        SqliteError::Full { .. } => (
            "THREAD_DISK_FULL",
            "Thread store cannot grow, the disk is full",
            "Free some disk space and try again; what was written before is safe.",
        ),
        SqliteError::Busy { .. } => (
            "THREAD_BUSY",
            "Thread store is busy with other processes",
            "Try again; if it persists, look for a program that keeps a transaction open.",
        ),
        SqliteError::Lock { .. } => (
            "THREAD_LOCK_FAILED",
            "Lock file cannot be used",
            "Check that the directory beside the thread store can be written by this user.",
        ),
        SqliteError::TooLarge { .. } => (
            "THREAD_TOO_LARGE",
            "Too large for the thread store",
            "Store less, or store it in parts.",
        ),
        SqliteError::Closed { .. } => (
            "THREAD_CLOSED",
            "Thread store is closed",
            "Open it again, or close it only after the last call.",
        ),
        SqliteError::Io { .. } => (
            "THREAD_IO_FAILED",
            "Thread store operation failed",
            "Check the disk, its quota and the limits of the process, and try again.",
        ),
    }
}

/// What ends a transaction early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Tried again when the database was busy.
    Sql(rusqlite::Error),
    /// Told to the caller.
    Told(ThreadError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        Self::Told(error)
    }
}
