//! Failures of journals and of thread stores.

use toolwright_journal::JournalError;
use toolwright_sqlite::SqliteError;
use toolwright_thread_store::ThreadError;

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice;

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let (code, hint) = match &error {
            JournalError::Sqlite(error) => {
                (journal_code(error), voice::stores::journal_hint(error))
            }
            JournalError::Duplicate { .. } => {
                (Code::JournalDuplicateCall, voice::stores::DUPLICATE_CALL)
            }
            JournalError::Missing { .. } => (Code::JournalCallMissing, voice::stores::CALL_MISSING),
            JournalError::Finished { .. } => {
                (Code::JournalCallFinished, voice::stores::CALL_FINISHED)
            }
            JournalError::TaskLocked { .. } => {
                (Code::JournalTaskLocked, voice::stores::TASK_LOCKED)
            }
            JournalError::Unwritten { .. } => (Code::JournalRowsLost, voice::stores::ROWS_LOST),
        };
        let failure = Self::new(code, error.summary(), error.to_string()).with_hint(hint);
        match error.path() {
            Some(path) => failure.with("path", path.to_string_lossy()),
            None => failure,
        }
    }
}

fn journal_code(error: &SqliteError) -> Code {
    match error {
        SqliteError::Location { .. } => Code::JournalLocationInvalid,
        SqliteError::NotFound { .. } => Code::JournalNotFound,
        SqliteError::CannotOpen { .. } => Code::JournalOpenFailed,
        SqliteError::Removed { .. } => Code::JournalRemoved,
        SqliteError::ReadOnly { .. } => Code::JournalReadOnly,
        SqliteError::NotADatabase { .. } => Code::JournalNotADatabase,
        SqliteError::Corrupt { .. } => Code::JournalCorrupt,
        SqliteError::WrongSchema { .. } => Code::JournalSchemaMismatch,
        SqliteError::Full { .. } => Code::JournalDiskFull,
        SqliteError::Busy { .. } => Code::JournalBusy,
        SqliteError::Lock { .. } => Code::JournalLockFailed,
        SqliteError::TooLarge { .. } => Code::JournalRowTooLarge,
        SqliteError::Closed { .. } => Code::JournalClosed,
        SqliteError::Io { .. } => Code::JournalIoFailed,
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        use voice::stores as hint;
        let (code, hint) = match &error {
            ThreadError::Sqlite(error) => (thread_code(error), hint::thread_hint(error)),
            ThreadError::NoThread { .. } => (Code::ThreadNotFound, hint::NO_THREAD),
            ThreadError::Locked { .. } => (Code::ThreadLocked, hint::THREAD_LOCKED),
            ThreadError::NoCall { .. } => (Code::ThreadCallNotFound, hint::NO_CALL),
            ThreadError::CallState { .. } => (Code::ThreadCallState, hint::CALL_STATE),
            ThreadError::Duplicate { .. } => (Code::ThreadDuplicateId, hint::DUPLICATE_ID),
            ThreadError::NoAttachment { .. } => {
                (Code::ThreadAttachmentNotFound, hint::NO_ATTACHMENT)
            }
            ThreadError::Name { .. } => (Code::ThreadNameRefused, hint::NAME_REFUSED),
            ThreadError::Base64 { .. } => (Code::ThreadEncodingInvalid, hint::NOT_BASE64),
            ThreadError::TooLarge { .. } => (Code::ThreadTooLarge, hint::TOO_LARGE),
            ThreadError::Export(error) => {
                return match Unfinished::from(error) {
                    Unfinished::Failed(failure) => failure,
                    // An export has no caller that could cancel it.
                    Unfinished::Cancelled => {
                        Self::without_place(Code::IoFailed, "Attachment was not exported")
                    }
                };
            }
        };
        let failure = Self::new(code, error.summary(), error.to_string()).with_hint(hint);
        match &error {
            ThreadError::NoThread { thread } | ThreadError::Locked { thread, .. } => {
                failure.with("threadId", thread.as_str())
            }
            ThreadError::NoCall { thread, call } => {
                failure.with("threadId", thread.as_str()).with("callId", call.as_str())
            }
            ThreadError::CallState { call, status, .. } => {
                failure.with("callId", call.as_str()).with("status", status.as_str())
            }
            ThreadError::Duplicate { id, .. } => failure.with("id", id.as_str()),
            ThreadError::NoAttachment { path } => failure.with("attachment", path.as_str()),
            ThreadError::Base64 { name, offset, .. } => {
                failure.with("attachment", name.as_str()).with("offset", *offset)
            }
            ThreadError::TooLarge { limit, .. } => failure.with("limitBytes", *limit),
            _ => match error.path() {
                Some(path) => failure.with("path", path.to_string_lossy()),
                None => failure,
            },
        }
    }
}

fn thread_code(error: &SqliteError) -> Code {
    match error {
        SqliteError::Location { .. } => Code::ThreadLocationInvalid,
        SqliteError::NotFound { .. } => Code::ThreadStoreNotFound,
        SqliteError::CannotOpen { .. } => Code::ThreadOpenFailed,
        SqliteError::Removed { .. } => Code::ThreadRemoved,
        SqliteError::ReadOnly { .. } => Code::ThreadReadOnly,
        SqliteError::NotADatabase { .. } => Code::ThreadNotADatabase,
        SqliteError::Corrupt { .. } => Code::ThreadCorrupt,
        SqliteError::WrongSchema { .. } => Code::ThreadSchemaMismatch,
        SqliteError::Full { .. } => Code::ThreadDiskFull,
        SqliteError::Busy { .. } => Code::ThreadBusy,
        SqliteError::Lock { .. } => Code::ThreadLockFailed,
        SqliteError::TooLarge { .. } => Code::ThreadTooLarge,
        SqliteError::Closed { .. } => Code::ThreadClosed,
        SqliteError::Io { .. } => Code::ThreadIoFailed,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    fn sqlite_errors() -> Vec<SqliteError> {
        use SqliteError as E;
        let path = || PathBuf::from("a.db");
        let reason = || "why".to_owned();
        vec![
            E::Location { location: "x://".to_owned(), reason: "why" },
            E::NotFound { path: path() },
            E::CannotOpen { path: path(), reason: reason() },
            E::Removed { path: path() },
            E::ReadOnly { path: path() },
            E::NotADatabase { path: path() },
            E::Corrupt { path: path(), reason: reason() },
            E::WrongSchema { path: path(), reason: reason() },
            E::Full { path: path() },
            E::Busy { path: path(), waited: Duration::from_millis(7) },
            E::Lock { path: path(), source: Arc::new(io::Error::other("why")) },
            E::TooLarge { path: path() },
            E::Closed { path: path() },
        ]
    }

    /// Every text that a caller of a journal can read.
    #[test]
    fn texts_of_journals() {
        let path = || PathBuf::from("a.db");
        let source = Box::new(SqliteError::Full { path: path() }.into());
        let own = [
            JournalError::Duplicate { path: path(), call: "call 1".to_owned() },
            JournalError::Missing { path: path(), row: 1 },
            JournalError::Finished { path: path(), row: 1, status: "success".to_owned() },
            JournalError::TaskLocked {
                path: path(),
                task: "`t`".to_owned(),
                holder: " (process 1)".to_owned(),
            },
            JournalError::Unwritten { path: path(), rows: 2, source },
        ];
        let all = sqlite_errors().into_iter().map(JournalError::from).chain(own);
        let texts: Vec<String> = all.map(|error| Failure::from(error).message()).collect();
        assert_eq!(texts.join("\n"), include_str!("stores/journal_texts.txt").trim_end());
    }

    /// Every text that a caller of a thread store can read.
    #[test]
    fn texts_of_thread_stores() {
        use ThreadError as E;
        let text = |text: &str| text.to_owned();
        let own = [
            E::NoThread { thread: text("t") },
            E::Locked { thread: text("t"), holder: text(" (process 1)") },
            E::NoCall { thread: text("t"), call: text("c") },
            E::CallState { call: text("c"), status: text("success"), expected: "running" },
            E::Duplicate { what: "call", id: text("c") },
            E::NoAttachment { path: text("/attachments/a") },
            E::Name { what: "MIME type", reason: "is empty" },
            E::Base64 { name: text("a.png"), reason: "it breaks off", offset: 3 },
            E::TooLarge { what: text("value of 9 bytes"), limit: 8 },
        ];
        let all = sqlite_errors().into_iter().map(E::from).chain(own);
        let texts: Vec<String> = all.map(|error| Failure::from(error).message()).collect();
        assert_eq!(texts.join("\n"), include_str!("stores/thread_texts.txt").trim_end());
    }
}
