//! `grep`: a regular expression searched for below the root.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::voice;
use toolwright_fs::{FsError, Located, Root};
use toolwright_search::{GrepError, GrepRequest};

use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::grants::GrantedRoot;
use crate::job::Outcome;
use crate::text::Text;
use crate::{error, job, options};

/// What became of a `grep`.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct GrepOutcome {
    /// `file:line:text` lines; empty when nothing matched.
    #[napi(ts_type = "string")]
    pub text: Option<Text>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong. After a timeout, `details.output` has the lines found until then.
    pub error: Option<NativeError>,
}

impl Outcome for GrepOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Searches the files below `path` (a file or a directory below `root`) for `pattern`.
#[napi(catch_unwind, ts_return_type = "Promise<GrepOutcome>")]
pub fn grep<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    pattern: String,
    path: String,
    limit_bytes: f64,
    timeout_ms: f64,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || {
        let found = root.open().and_then(|root| root.locate(&path).map(|located| (root, located)));
        let (root, located) = match found {
            Ok(found) => found,
            Err(error) => return not_found(&error),
        };
        let timeout = options::milliseconds(timeout_ms);
        let search = Search { root: &root, located: &located, pattern: &pattern, cancel: &cancel };
        search.run(&displayed(&root, &path, &located), options::size(limit_bytes), timeout)
    })
}

struct Search<'a> {
    root: &'a Root,
    located: &'a Located,
    pattern: &'a str,
    cancel: &'a AtomicBool,
}

impl Search<'_> {
    fn run(&self, display: &Path, limit: usize, timeout: Duration) -> GrepOutcome {
        let request = GrepRequest {
            root: &self.located.root,
            start: &self.located.relative,
            display,
            pattern: self.pattern,
            max_output_bytes: limit,
            deadline: Instant::now().checked_add(timeout),
            cancel: self.cancel,
        };
        match toolwright_search::grep(&request, &|path| self.root.open_listed(path)) {
            Ok(found) => GrepOutcome {
                text: Some(Text(options::text(found.text, limit))),
                ..GrepOutcome::default()
            },
            Err(GrepError::Cancelled { .. }) => {
                GrepOutcome { cancelled: true, ..GrepOutcome::default() }
            }
            Err(error) => GrepOutcome::failed(failed(error, self.pattern, limit, timeout)),
        }
    }
}

fn failed(error: GrepError, pattern: &str, limit: usize, timeout: Duration) -> NativeError {
    let hint = voice::searches::hint(&error);
    let said = error.to_string();
    match error {
        GrepError::TimedOut { partial, .. } => {
            let ms = timeout.as_millis();
            let summary = format!("Command timed out after {ms}ms");
            let place = format!("{summary}: grep. {said}");
            let mut native = NativeError::new("PROCESS_TIMEOUT", summary, &place, hint);
            let found = options::text(partial, limit);
            // A model sees nothing but the message.
            if !found.is_empty() {
                native.message = format!("{} Output until then:\n{found}", native.message);
            }
            native
                .with("command", "grep")
                .with("timeoutMs", u64::try_from(ms).unwrap_or(u64::MAX))
                .with("output", found)
        }
        // Too many open files, say: it says nothing about the path or the pattern.
        GrepError::Unreadable { source, path } if source.kind() != ErrorKind::PermissionDenied => {
            let path = path.to_string_lossy().into_owned();
            let failed = FsError::Io { path, operation: "searching", source };
            error::from_fs(&failed).unwrap_or_else(|| NativeError::from_panic(&"cancelled"))
        }
        _ => {
            NativeError::new("TOOL_GREP_FAILED", said.clone(), &said, hint).with("pattern", pattern)
        }
    }
}

/// A missing path is the search's failure, in ripgrep's words; one that escapes stays what it is.
fn not_found(error: &FsError) -> GrepOutcome {
    if let FsError::NotFound { path } | FsError::NotADirectory { path } = error {
        let missing = GrepError::Missing { path: PathBuf::from(path) };
        let said = missing.to_string();
        let native = NativeError::new(
            "TOOL_GREP_FAILED",
            said.clone(),
            &said,
            voice::searches::hint(&missing),
        );
        return GrepOutcome::failed(native.with("path", path.as_str()));
    }
    let native = error::from_fs(error);
    GrepOutcome { cancelled: native.is_none(), error: native, ..GrepOutcome::default() }
}

/// How the start path is called in the output: relative to the root, as it was written where that
/// can be printed in front of file names.
fn displayed(root: &Root, path: &str, located: &Located) -> PathBuf {
    let written = Path::new(path);
    let relative = if written.is_absolute() {
        written
            .strip_prefix(root.path())
            .or_else(|_| written.strip_prefix(&located.root))
            .unwrap_or(&located.relative)
    } else {
        written
    };
    if relative.components().any(|component| component == Component::ParentDir) {
        return located.relative.clone();
    }
    relative.components().filter(|component| *component != Component::CurDir).collect()
}
