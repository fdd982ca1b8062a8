//! Failures of searches.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use toolwright_fs::{FsError, FsErrorKind};
use toolwright_names::printable_path;
use toolwright_search::GrepError;

use super::{Failure, Unfinished};
use crate::code::Code;
use crate::text;
use crate::voice::searches::{MULTILINE, OVERVIEW_TIMED_OUT, hint};

/// A search of the tools door. What it found until a timeout is in the message: a model sees nothing
/// else.
pub(crate) fn below_root(
    error: GrepError,
    tool: &str,
    pattern: &str,
    limit_bytes: usize,
    timeout: Duration,
) -> Unfinished {
    match error {
        GrepError::TimedOut { .. } => {
            let summary = format!("Command timed out after {}ms", timeout.as_millis());
            let failure = timed_out(&error, summary, tool)
                .with("timeoutMs", u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
            let GrepError::TimedOut { partial, .. } = error else { return failure.into() };
            let output = text::within(partial, limit_bytes);
            let failure = failure.with("output", output.as_str());
            if output.is_empty() {
                return failure.into();
            }
            failure.with_partial_output(format!("Output until then:\n{output}")).into()
        }
        // Such as too many open files, which says nothing about the path or the pattern.
        GrepError::Unreadable { source, path } if source.kind() != ErrorKind::PermissionDenied => {
            let path = path.to_string_lossy().into_owned();
            FsErrorKind::Io { operation: "searching", source }.at(path).into()
        }
        error => failed(&error, pattern),
    }
}

/// A search of a session.
pub(crate) fn in_session(
    error: GrepError,
    tool: &str,
    pattern: &str,
    timeout: Duration,
) -> Unfinished {
    match error {
        GrepError::TimedOut { .. } => {
            let summary = format!("Search timed out after {}ms", timeout.as_millis());
            let failure = timed_out(&error, summary, tool);
            let GrepError::TimedOut { partial, .. } = error else { return failure.into() };
            failure.with("output", String::from_utf8_lossy(&partial)).into()
        }
        error => failed(&error, pattern),
    }
}

/// The failure of a search whose caller may ask for matches over several lines.
pub(crate) fn with_multiline(failure: Unfinished) -> Unfinished {
    match failure {
        Unfinished::Failed(failure) if failure.summary.contains("not allowed in a regex") => {
            failure.with_hint(MULTILINE).into()
        }
        other => other,
    }
}

/// An overview of a session.
pub(crate) fn overview(error: &GrepError, tool: &str, timeout: Duration) -> Unfinished {
    match error {
        GrepError::TimedOut { path, .. } => {
            let summary = format!("Overview timed out after {}ms", timeout.as_millis());
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            let place = format!("{summary}: {tool}. It was in `{}`", printable_path(path));
            let failure = Failure::new(Code::ProcessTimeout, summary, place);
            failure.with_hint(OVERVIEW_TIMED_OUT).with("command", tool).into()
        }
        GrepError::Cancelled { .. } => Unfinished::Cancelled,
        error => Failure::without_place(Code::GrepFailed, error.to_string())
            .with_hint(hint(error))
            .into(),
    }
}

/// The start of a search that cannot be found is the search's failure, in ripgrep's words; one that
/// leaves the root stays what it is.
pub(crate) fn start(error: FsError) -> Unfinished {
    match error.kind {
        FsErrorKind::NotFound | FsErrorKind::NotADirectory => {
            let missing = GrepError::Missing { path: error.path.as_str().into() };
            Failure::without_place(Code::GrepFailed, missing.to_string())
                .with_hint(hint(&missing))
                .with("path", error.path)
                .into()
        }
        _ => error.into(),
    }
}

fn timed_out(error: &GrepError, summary: String, tool: &str) -> Failure {
    let place = format!("{summary}: {tool}. {error}");
    Failure::new(Code::ProcessTimeout, summary, place).with_hint(hint(error)).with("command", tool)
}

fn failed(error: &GrepError, pattern: &str) -> Unfinished {
    if matches!(error, GrepError::Cancelled { .. }) {
        return Unfinished::Cancelled;
    }
    Failure::without_place(Code::GrepFailed, error.to_string())
        .with_hint(hint(error))
        .with("pattern", pattern)
        .into()
}
