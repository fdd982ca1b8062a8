//! Failures of journals and of thread stores.

use serde_json::json;
use toolwright_journal::JournalError;
use toolwright_sqlite::SqliteErrorKind;
use toolwright_thread_store::ThreadError;

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice;

/// The index of each store in a pair.
const JOURNAL: usize = 0;
const THREADS: usize = 1;

impl From<JournalError> for Unfinished {
    fn from(error: JournalError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        use voice::stores as hint;
        let (code, hint) = match &error {
            JournalError::Sqlite(error) => {
                (codes(error.kind)[JOURNAL], hint::hints(error.kind)[JOURNAL])
            }
            JournalError::Duplicate { .. } => (Code::JournalDuplicateCall, hint::DUPLICATE_CALL),
            JournalError::Missing { .. } => (Code::JournalCallMissing, hint::CALL_MISSING),
            JournalError::Finished { .. } => (Code::JournalCallFinished, hint::CALL_FINISHED),
            JournalError::TaskLocked { .. } => (Code::JournalTaskLocked, hint::TASK_LOCKED),
            JournalError::Differs { .. } => (Code::ReplayDiffers, hint::CALL_DIFFERS),
            JournalError::Unwritten { .. } => (Code::JournalRowsLost, hint::ROWS_LOST),
        };
        let failure = Self::new(code, error.summary(), error.to_string()).with_hint(hint);
        match error.path() {
            Some(path) => failure.with("path", path.to_string_lossy()),
            None => failure,
        }
    }
}

/// The codes for a journal, and for a thread store.
fn codes(kind: SqliteErrorKind) -> [Code; 2] {
    match kind {
        SqliteErrorKind::Location => [Code::JournalLocationInvalid, Code::ThreadLocationInvalid],
        SqliteErrorKind::NotFound => [Code::JournalNotFound, Code::ThreadStoreNotFound],
        SqliteErrorKind::CannotOpen => [Code::JournalOpenFailed, Code::ThreadOpenFailed],
        SqliteErrorKind::Removed => [Code::JournalRemoved, Code::ThreadRemoved],
        SqliteErrorKind::ReadOnly => [Code::JournalReadOnly, Code::ThreadReadOnly],
        SqliteErrorKind::NotADatabase => [Code::JournalNotADatabase, Code::ThreadNotADatabase],
        SqliteErrorKind::Corrupt => [Code::JournalCorrupt, Code::ThreadCorrupt],
        SqliteErrorKind::WrongSchema => [Code::JournalSchemaMismatch, Code::ThreadSchemaMismatch],
        SqliteErrorKind::Full => [Code::JournalDiskFull, Code::ThreadDiskFull],
        SqliteErrorKind::Busy => [Code::JournalBusy, Code::ThreadBusy],
        SqliteErrorKind::Lock => [Code::JournalLockFailed, Code::ThreadLockFailed],
        SqliteErrorKind::TooLarge => [Code::JournalRowTooLarge, Code::ThreadTooLarge],
        SqliteErrorKind::Closed => [Code::JournalClosed, Code::ThreadClosed],
        SqliteErrorKind::Io => [Code::JournalIoFailed, Code::ThreadIoFailed],
    }
}

/// The error that a journal records for a call whose process ended before it recorded the outcome.
#[must_use]
pub fn process_died_json() -> String {
    let failure = Failure::without_place(
        Code::ProcessDied,
        "The process that made this call ended before it recorded the outcome; the call may have done all, a part or nothing.",
    );
    let message = failure.with_hint(voice::stores::PROCESS_DIED).message();
    json!({ "name": "ToolError", "code": Code::ProcessDied.as_str(), "message": message })
        .to_string()
}

impl From<ThreadError> for Unfinished {
    fn from(error: ThreadError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        use voice::stores as hint;
        let (code, hint) = match &error {
            ThreadError::Sqlite(error) => {
                (codes(error.kind)[THREADS], hint::hints(error.kind)[THREADS])
            }
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
                    _ => Self::without_place(Code::IoFailed, "Attachment was not exported"),
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use toolwright_sqlite::SqliteError;

    use super::*;

    fn sqlite_errors() -> Vec<SqliteError> {
        use SqliteErrorKind as E;
        let path = Path::new("a.db");
        vec![
            E::Location.because(Path::new("x://"), "why"),
            E::NotFound.at(path),
            E::CannotOpen.because(path, "why"),
            E::Removed.at(path),
            E::ReadOnly.at(path),
            E::NotADatabase.at(path),
            E::Corrupt.because(path, "why"),
            E::WrongSchema.because(path, "why"),
            E::Full.at(path),
            SqliteError::busy(path, Duration::from_millis(7)),
            E::Lock.because(path, "why"),
            E::TooLarge.at(path),
            E::Closed.at(path),
        ]
    }

    /// Every text that a caller of a journal can read.
    #[test]
    fn texts_of_journals() {
        let path = || PathBuf::from("a.db");
        let source = Box::new(SqliteErrorKind::Full.at(&path()).into());
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
