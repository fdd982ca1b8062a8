//! Failures of checkpoints.

use std::io::{Error, ErrorKind};

use serde_json::{Value, json};
use toolwright_checkpoints::{CheckpointError, Conflict, SqliteErrorKind};
use toolwright_names::printable_path;

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice::checkpoints as hint;

/// What a failed write says of the disk.
fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// The most paths that a text names; `details` has more.
const MAX_NAMED: usize = 5;
/// The most that `details` has.
const MAX_LISTED: usize = 1000;

impl From<CheckpointError> for Unfinished {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Cancelled => Self::Cancelled,
            error => Self::Failed(error.into()),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match &error {
            CheckpointError::Store(error) => {
                let (code, hint) = match error.kind {
                    SqliteErrorKind::Full => (Code::CheckpointDiskFull, hint::DISK_FULL),
                    SqliteErrorKind::Busy => (Code::CheckpointBusy, hint::BUSY),
                    SqliteErrorKind::Corrupt
                    | SqliteErrorKind::NotADatabase
                    | SqliteErrorKind::WrongSchema => (Code::CheckpointCorrupt, hint::CORRUPT),
                    SqliteErrorKind::Closed => (Code::CheckpointClosed, hint::CLOSED),
                    _ => (Code::CheckpointStoreFailed, hint::STORE_FAILED),
                };
                Self::new(code, error.summary("Checkpoint store"), error.to_string())
                    .with_hint(hint)
                    .with("path", error.path.to_string_lossy())
            }
            CheckpointError::Root { path, source } => {
                let path = path.to_string_lossy();
                let summary = "The directory of the checkpoints cannot be read";
                Self::new(Code::RootInvalid, summary, format!("{summary}: `{path}` ({source})"))
                    .with_hint(hint::ROOT)
                    .with("path", path)
            }
            CheckpointError::StoreInside { store, root } => {
                let (store, root) = (store.to_string_lossy(), root.to_string_lossy());
                let summary = "The store lies in the directory that it would keep";
                Self::new(Code::CheckpointStoreInside, summary, format!("{summary}: `{store}`"))
                    .with_hint(hint::STORE_INSIDE)
                    .with("path", store)
                    .with("root", root)
            }
            CheckpointError::OtherRoot { store, kept, root } => {
                let [store, kept, root] =
                    [store, kept, root].map(|path| path.to_string_lossy().into_owned());
                let summary = "The store keeps another directory";
                let place = format!("{summary}: `{store}` is that of `{kept}`");
                Self::new(Code::CheckpointOtherRoot, summary, place)
                    .with_hint(hint::OTHER_ROOT)
                    .with("path", store)
                    .with("kept", kept)
                    .with("root", root)
            }
            CheckpointError::NoCheckpoint { id } => {
                let summary = "Checkpoint not found";
                Self::new(Code::CheckpointNotFound, summary, format!("{summary}: {id}"))
                    .with_hint(hint::NOT_FOUND)
                    .with("id", *id)
            }
            CheckpointError::NoWindow { kind, name } => {
                let summary = format!("Nothing is known of the changes of this {kind}");
                let place = format!("{summary}: `{name}`");
                Self::new(Code::CheckpointCallUnknown, summary, place)
                    .with_hint(hint::CALL_UNKNOWN)
                    .with(kind, name.as_str())
            }
            CheckpointError::Conflicts { conflicts } => conflict(conflicts),
            CheckpointError::TooLarge { needed, limit } => {
                let summary = "The files are more than the store may keep";
                let place = format!("{summary}: {needed} bytes, of at most {limit}");
                Self::new(Code::CheckpointTooLarge, summary, place)
                    .with_hint(hint::TOO_LARGE)
                    .with("neededBytes", *needed)
                    .with("limitBytes", *limit)
            }
            CheckpointError::Pattern { pattern, message } => {
                let summary = format!("A line of `ignore` is no pattern: {message}");
                let place = format!("{summary} (`{pattern}`)");
                Self::new(Code::InvalidInput, summary, place).with_hint(hint::CORRECT)
            }
            CheckpointError::Outside { path } => {
                let summary = "The path lies outside of the directory of the checkpoints";
                Self::new(Code::PathEscape, summary, format!("{summary}: `{path}`"))
                    .with_hint(hint::CORRECT)
                    .with("path", path.as_str())
            }
            CheckpointError::File { path, operation, source } => {
                let path = path.to_string_lossy();
                let summary = "A file cannot be restored, and nothing was changed";
                let place = format!("{summary}: `{path}` ({operation}: {source})");
                let (code, hint) = if is_full(source) {
                    (Code::CheckpointDiskFull, hint::DISK_FULL)
                } else {
                    (Code::CheckpointRestoreFailed, hint::RESTORE_FAILED)
                };
                Self::new(code, summary, place).with_hint(hint).with("path", path)
            }
            CheckpointError::Cancelled => {
                Self::without_place(Code::CheckpointStoreFailed, "The work was cancelled")
            }
        }
    }
}

fn conflict(conflicts: &[Conflict]) -> Failure {
    let count = conflicts.len();
    let summary = match count {
        1 => "A file was changed by somebody else since, and nothing was restored".to_owned(),
        _ => format!("{count} files were changed by somebody else since, and nothing was restored"),
    };
    let names = conflicts.iter().take(MAX_NAMED);
    let mut names: Vec<_> =
        names.map(|conflict| format!("`{}`", printable_path(&conflict.path))).collect();
    if count > MAX_NAMED {
        names.push("…".to_owned());
    }
    let listed: Vec<Value> = conflicts.iter().take(MAX_LISTED).map(conflict_json).collect();
    Failure::new(
        Code::CheckpointConflict,
        summary.clone(),
        format!("{summary}: {}", names.join(", ")),
    )
    .with_hint(hint::CONFLICT)
    .with("conflicts", listed)
    .with("count", count)
}

/// A path that is not restored, with the reason, as programs read it.
#[must_use]
pub fn conflict_json(conflict: &Conflict) -> Value {
    json!({ "path": conflict.path.to_string_lossy(), "reason": conflict.reason.as_str() })
}

impl Failure {
    /// No directory is known for the stores of this user.
    pub(crate) fn no_place_for_checkpoints() -> Self {
        Self::without_place(
            Code::CheckpointStoreFailed,
            "No directory is known for stores of checkpoints, because HOME is not set",
        )
        .with_hint(hint::NO_PLACE)
    }
}
