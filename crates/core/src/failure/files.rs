//! Failures of file operations.

use toolwright_fs::{FsError, FsErrorKind};

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::voice;

impl From<FsError> for Unfinished {
    fn from(error: FsError) -> Self {
        Self::from(&error)
    }
}

impl From<&FsError> for Unfinished {
    fn from(error: &FsError) -> Self {
        let Some(code) = code_of(error) else { return Self::Cancelled };
        let mut failure = Failure::new(code, error.summary(), error.to_string())
            .with_hint(voice::files::hint(error));
        if let Some(hint) = voice::files::session_hint(error) {
            failure = failure.with_session_hint(hint);
        }
        if let Some(path) = error.path() {
            failure = failure.with("path", path);
        }
        if let Some(errno) = error.errno() {
            failure = failure.with("errno", errno);
        }
        Self::Failed(match &error.kind {
            FsErrorKind::TooLarge { bytes, limit, .. } => {
                failure.with("bytes", *bytes).with("limitBytes", *limit)
            }
            FsErrorKind::TooManyFiles { count, limit } => {
                failure.with("files", *count).with("limitFiles", *limit)
            }
            FsErrorKind::Protected { protected } => failure.with("protected", protected.as_str()),
            FsErrorKind::Git { .. } => failure.with("protected", "@git"),
            FsErrorKind::ForkFull { limit } => failure.with("limitBytes", *limit),
            FsErrorKind::RootChanged { grant, .. } => failure.with("grant", grant.as_str()),
            FsErrorKind::NotAFile { kind } => failure.with("kind", kind.word()),
            _ => failure,
        })
    }
}

/// `None` for a cancellation, which is no failure.
fn code_of(error: &FsError) -> Option<Code> {
    Some(match &error.kind {
        FsErrorKind::PathInvalid { .. } => Code::PathInvalid,
        FsErrorKind::Escape { .. } => Code::PathEscape,
        FsErrorKind::Protected { .. } | FsErrorKind::Git { .. } | FsErrorKind::Reserved => {
            Code::PathProtected
        }
        FsErrorKind::NotFound => Code::FileNotFound,
        FsErrorKind::Exists => Code::FileExists,
        FsErrorKind::TooManyFiles { .. } => Code::PatchTooLarge,
        FsErrorKind::NotAFile { .. } => Code::NotAFile,
        FsErrorKind::NotADirectory => Code::NotADirectory,
        FsErrorKind::Permission { .. } => Code::PermissionDenied,
        FsErrorKind::TooLarge { .. } => Code::FileTooLarge,
        FsErrorKind::Conflict => Code::EditConflict,
        FsErrorKind::Busy { .. } => Code::FileBusy,
        FsErrorKind::NotReplaceable { .. } => Code::ReplaceRefused,
        FsErrorKind::Root { .. } => Code::RootInvalid,
        FsErrorKind::RootChanged { .. } => Code::RootChanged,
        FsErrorKind::ForkFull { .. } => Code::ForkFull,
        FsErrorKind::Io { .. } => Code::IoFailed,
        FsErrorKind::Cancelled => return None,
    })
}

/// A file that was to be read as text and is binary. `head`: its first bytes, as far as they are known.
#[must_use]
pub fn binary_file(display_path: &str, bytes: u64, head: &[u8]) -> Failure {
    let summary = format!("Binary file ({bytes} bytes)");
    let place = format!("{summary}: `{display_path}`");
    Failure::new(Code::FileBinary, summary, place)
        .with_hint(voice::binary::hint(display_path, head))
        .with("path", display_path)
        .with("bytes", bytes)
}

/// The directory of a command cannot be used; `hint` says how to choose another.
#[must_use]
pub fn working_directory(error: &FsError, hint: &'static str) -> Unfinished {
    match &error.kind {
        FsErrorKind::NotFound => {
            let path = &*error.path;
            let place = format!("Directory not found: `{path}`");
            Failure::new(Code::FileNotFound, "Directory not found", place)
                .with_hint(hint)
                .with("path", path)
                .into()
        }
        _ => error.into(),
    }
}

/// The whole of an output that was cut could not be written beside it.
pub(crate) fn output_not_kept(error: &std::io::Error) -> Failure {
    let summary = "The whole output could not be kept";
    Failure::new(Code::IoFailed, summary, format!("{summary}: {error}"))
        .with_hint(voice::files::OUTPUT_NOT_KEPT)
}
