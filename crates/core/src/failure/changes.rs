//! Failures of changes: texts that are too large, patches and replacements that do not fit.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use toolwright_patch::{Detail, PatchError, ReplaceError};

use super::Failure;
use crate::code::Code;
use crate::voice::{changes as voice, patches};

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
    let summary = "Failed to apply patch";
    let failure = Failure::new(Code::PatchFailed, summary, format!("{summary}: `{path}`: {error}"))
        .with_hint(patches::hint(error))
        .with("path", path);
    error.details().into_iter().fold(failure, |failure, (name, detail)| match detail {
        Detail::Number(number) => failure.with(name, number),
        Detail::Text(text) => failure.with(name, text),
    })
}

/// A text that was not replaced by another.
pub(crate) fn not_replaced(path: &str, error: &ReplaceError) -> Failure {
    let code = match error {
        ReplaceError::NotFound { .. } => Code::EditNoMatch,
        ReplaceError::Ambiguous { .. } => Code::EditAmbiguous,
        _ => Code::InvalidInput,
    };
    let (summary, message) = (error.summary(), error.to_string());
    let rest = message.strip_prefix(&summary).unwrap_or_default();
    let place = format!("{summary}: `{path}`{rest}");
    let failure = Failure::new(code, summary, place)
        .with_hint(patches::replacement_hint(error))
        .with("path", path);
    match error {
        ReplaceError::NotFound { candidates } => {
            let lines: Vec<usize> = candidates.iter().map(|candidate| candidate.line).collect();
            failure.with("nearestLines", lines)
        }
        ReplaceError::Ambiguous { count, lines, .. } => {
            failure.with("count", *count).with("lines", lines.clone())
        }
        _ => failure,
    }
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
