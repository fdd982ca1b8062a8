//! Failures of changes: texts that are too large, patches and replacements that do not fit.

use std::fmt::Write as _;
use std::io::ErrorKind;

use sha2::{Digest, Sha256};
use toolwright_fs::FsErrorKind;
use toolwright_ledger::Change;
use toolwright_notebook::NotebookError;
use toolwright_patch::{Detail, PatchError, Reading, ReplaceError};

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice::{applied, changes as voice, patches, seen};

/// The content of a file, or a part of an edit, that is over the limit.
pub(crate) fn content_too_large(what: &str, text: &str, limit_bytes: u64) -> Failure {
    let summary = format!("{what} too large ({} bytes)", text.len());
    let place = format!("{summary}: limit {limit_bytes} bytes");
    Failure::new(Code::ContentTooLarge, summary, place)
        .with_hint(voice::CONTENT_TOO_LARGE)
        .with_session_hint(voice::SESSION_CONTENT_TOO_LARGE)
        .with("contentBytes", text.len())
        .with("contentHash", sha256_hex(text))
        .with("limitBytes", limit_bytes)
}

/// A file that no longer holds what its change was made for.
pub(crate) fn changed_meanwhile(path: &str) -> Unfinished {
    FsErrorKind::Conflict.at(path).into()
}

/// A file that others have changed since it was read: the call would undo that.
pub(crate) fn file_changed(path: &str, change: &Change) -> Failure {
    let summary = "File changed since it was read";
    let hint = if change.is_shown() { seen::SHOWN } else { seen::READ_AGAIN };
    let failure = Failure::new(Code::FileChanged, summary, format!("{summary}: `{path}`"))
        .with_output(seen::since_the_read(change.difference.as_ref()))
        .with_hint(hint)
        .with("path", path)
        .with("shown", change.is_shown());
    match &change.difference {
        Some(difference) => {
            failure.with("added", difference.added).with("removed", difference.removed)
        }
        None => failure,
    }
}

/// A patch that is over the limit.
pub(crate) fn patch_too_large(diff: &str, limit_bytes: u64) -> Failure {
    let summary = format!("Patch too large ({} bytes)", diff.len());
    let place = format!("{summary}: limit {limit_bytes} bytes");
    Failure::new(Code::PatchTooLarge, summary, place)
        .with_hint(voice::PATCH_TOO_LARGE)
        .with("patchBytes", diff.len())
        .with("patchHash", sha256_hex(diff))
        .with("limitBytes", limit_bytes)
}

/// A patch that is malformed or does not fit.
pub(crate) fn patch_failed(path: &str, error: &PatchError) -> Failure {
    let failure =
        Failure::new(Code::PatchFailed, applied::FAILED, applied::failed(Some(path), error))
            .with_hint(patches::hint(error))
            .with("path", path);
    error.details().into_iter().fold(failure, |failure, (name, detail)| match detail {
        Detail::Number(number) => failure.with(name, number),
        Detail::Text(text) => failure.with(name, text),
    })
}

/// The cells of a notebook, after a patch, cannot be put back.
pub(crate) fn cells_not_put_back(path: &str, error: &NotebookError) -> Failure {
    let place = format!("{}: `{path}`: {error}", applied::FAILED);
    Failure::new(Code::PatchFailed, applied::FAILED, place)
        .with_hint(voice::CELLS)
        .with("path", path)
}

/// A patch of a notebook that changes what is shown of its outputs, and nothing else.
pub(crate) fn outputs_stay(path: &str) -> Failure {
    let place = format!("{}: `{path}`: it changes outputs alone", applied::FAILED);
    Failure::new(Code::PatchFailed, applied::FAILED, place)
        .with_hint(voice::OUTPUTS)
        .with("path", path)
}

/// Cells in place of the JSON of a notebook.
pub(crate) fn cells_are_no_notebook(path: &str) -> Failure {
    let summary = "The text is cells as read shows them, and no notebook";
    Failure::new(Code::InvalidInput, summary, format!("{summary}: `{path}`"))
        .with_hint(voice::CELLS_AS_NOTEBOOK)
        .with("path", path)
}

/// A patch of several files that is malformed, or does not fit the file at `path`.
pub(crate) fn patch_of_files_failed(path: Option<&str>, error: &PatchError) -> Failure {
    let (path, error) = applied::failed_file(path, error);
    let mut failure = patch_failed(path.unwrap_or_default(), error);
    if path.is_none() {
        failure.place = applied::failed(None, error);
        failure.details.remove("path");
    }
    no_file_changed(failure)
}

/// A failure after which every file is as it was.
pub(crate) fn no_file_changed(failure: Failure) -> Failure {
    let hint = applied::after_no_change(&failure.hint);
    failure.with_hint(hint)
}

/// The files of a patch are not below one directory that was granted.
pub(crate) fn several_roots(path: &str) -> Failure {
    let summary = "The patch changes files of several directories";
    Failure::new(Code::InvalidInput, summary, format!("{summary}: `{path}`"))
        .with_hint(voice::SEVERAL_ROOTS)
        .with("path", path)
}

/// A file can be created, updated and deleted.
pub(crate) fn unknown_operation(word: &str) -> Failure {
    let summary = "Unknown operation";
    Failure::new(Code::InvalidInput, summary, format!("{summary}: `{word}`"))
        .with_hint(voice::UNKNOWN_OPERATION)
}

/// The files that were opened for a patch are not those that it names.
pub(crate) fn not_the_files() -> Failure {
    Failure::without_place(Code::InternalError, "Other files were opened than the patch names")
}

/// A text that was not replaced by another.
pub(crate) fn not_replaced(path: &str, error: &ReplaceError) -> Unfinished {
    let code = match *error {
        ReplaceError::NotFound { .. } => Code::EditNoMatch,
        ReplaceError::Ambiguous { .. } => Code::EditAmbiguous,
        ReplaceError::Empty
        | ReplaceError::Same
        | ReplaceError::Lossy
        | ReplaceError::OtherEncoding { .. } => Code::InvalidInput,
        // A result that cannot be made fails like a file that is too large to hold.
        ReplaceError::TooLarge { bytes, limit } => {
            return FsErrorKind::TooLarge { bytes, limit, result: true }.at(path).into();
        }
        ReplaceError::NoMemory { .. } => {
            let source = ErrorKind::OutOfMemory.into();
            return FsErrorKind::Io { operation: "making the new content", source }.at(path).into();
        }
    };
    let (summary, message) = (error.summary(), error.to_string());
    let rest = message.strip_prefix(&summary).unwrap_or_default();
    let place = format!("{summary}: `{path}`{rest}");
    let failure = Failure::new(code, summary, place)
        .with_hint(patches::replacement_hint(error))
        .with("path", path);
    let failure = match error {
        ReplaceError::NotFound { candidates, reading, made } => {
            let lines: Vec<usize> = match (reading, made) {
                (Some(Reading { line, .. }), _) | (None, Some(line)) => vec![*line],
                (None, None) => candidates.iter().map(|candidate| candidate.line).collect(),
            };
            failure.with("nearestLines", lines)
        }
        ReplaceError::Ambiguous { count, lines, .. } => {
            failure.with("count", *count).with("lines", lines.clone())
        }
        ReplaceError::Empty
        | ReplaceError::Same
        | ReplaceError::Lossy
        | ReplaceError::OtherEncoding { .. }
        | ReplaceError::TooLarge { .. }
        | ReplaceError::NoMemory { .. } => failure,
    };
    failure.into()
}

/// A text from the caller for which there is no memory; it has at least `bytes` bytes.
#[must_use]
pub fn no_memory(bytes: usize) -> Failure {
    let summary = "No memory for the text";
    Failure::new(Code::IoFailed, summary, format!("{summary}: at least {bytes} bytes"))
        .with_hint(voice::NO_MEMORY)
}

/// The hash by which errors name a large input: they do not repeat its text.
fn sha256_hex(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
