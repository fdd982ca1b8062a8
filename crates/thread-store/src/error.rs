//! The error type of this crate.

use std::path::Path;

use toolwright_fs::FsError;
use toolwright_sqlite::{SqliteError, TxError};

/// Everything that can go wrong with threads. A call that fails has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The database.
    #[error("{}: {}", self.summary(), .0.subject())]
    Sqlite(#[from] SqliteError),
    /// There is no such thread.
    #[error("{}: `{thread}`", self.summary())]
    NoThread {
        /// Its id.
        thread: String,
    },
    /// Another worker has the thread, or this one has released it.
    #[error("{}: `{thread}`{holder}", self.summary())]
    Locked {
        /// Its id.
        thread: String,
        /// The other worker, as far as it is known: empty, or in parentheses.
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
    /// The call has another status.
    #[error("{}: `{call}` is `{status}`, and not `{expected}`", self.summary())]
    CallState {
        /// The id of the call.
        call: String,
        /// The status that it has.
        status: String,
        /// The status that it should have.
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
    /// A name that is not valid.
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

impl ThreadError {
    /// The worker has released its right.
    #[must_use]
    pub fn released() -> Self {
        Self::Locked { thread: "released".to_owned(), holder: String::new() }
    }

    /// What happened, in a few words, without the place.
    #[must_use]
    pub fn summary(&self) -> String {
        let summary = match self {
            Self::Sqlite(error) => return error.summary("Thread store"),
            Self::NoThread { .. } => "Thread not found",
            Self::Locked { .. } => "Somebody else works on the thread",
            Self::NoCall { .. } => "Call not found",
            Self::CallState { .. } => "Call does not stand as it should",
            Self::Duplicate { .. } => "Id is taken in this thread",
            Self::NoAttachment { .. } => "Attachment not found",
            Self::Name { .. } => "Name refused",
            Self::Base64 { .. } => "Attachment data is not base64",
            Self::TooLarge { .. } => "Too large for the thread store",
            Self::Export(_) => "Attachment was not exported",
        };
        summary.to_owned()
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(error) => error.path(),
            _ => None,
        }
    }
}

/// What ends a transaction early.
pub(crate) type Failure = TxError<ThreadError>;

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        Self::Abort(error)
    }
}
