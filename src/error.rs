//! Errors as plain data, with the text a model will read.

use std::any::Any;

use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_fs::FsError;

/// What went wrong, ready to be turned into a `ToolError`.
#[napi(object)]
#[derive(Debug)]
pub struct NativeError {
    /// The public code; every code is in `docs/errors.md`.
    pub code: String,
    /// What happened, beginning with the documents' words.
    pub summary: String,
    /// The whole text for a model: what, where, `[CODE]`, next move.
    pub message: String,
    /// The next move.
    pub hint: String,
    /// Facts for programs, by name.
    pub details: Map<String, Value>,
}

impl NativeError {
    /// `text` is the summary with the place; `hint` the next move.
    pub(crate) fn new(code: &str, summary: String, text: &str, hint: &str) -> Self {
        let mut message = format!("{text} [{code}]");
        if !hint.is_empty() {
            message.push(' ');
            message.push_str(hint);
        }
        Self { code: code.to_owned(), summary, message, hint: hint.to_owned(), details: Map::new() }
    }

    /// The same with another next move.
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        self.message.truncate(self.message.len() - self.hint.len());
        self.message.push_str(hint);
        hint.clone_into(&mut self.hint);
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// A panic in native work: a defect of ours, told without taking the process along.
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let said = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let summary = format!("Internal error in native code ({said})");
        Self::new(
            "INTERNAL_ERROR",
            summary.clone(),
            &summary,
            "This is a defect of toolwright, not of the call; please report it.",
        )
    }
}

/// A file that was to be read as text, and is none.
pub(crate) fn binary_file(shown: &str, bytes: u64) -> NativeError {
    let summary = format!("Binary file ({bytes} bytes)");
    let place = format!("{summary}: `{shown}`");
    let hint = "Only text can be read; look at it with a command that knows its format.";
    NativeError::new("TOOL_FILE_BINARY", summary, &place, hint)
        .with("path", shown)
        .with("bytes", bytes)
}

/// `None` for a cancellation, which is no error: the caller knows why it cancelled.
pub(crate) fn from_fs(error: &FsError) -> Option<NativeError> {
    if matches!(error, FsError::Cancelled) {
        return None;
    }
    let mut native =
        NativeError::new(error.code(), error.summary(), &error.to_string(), error.hint());
    if let Some(path) = error.path() {
        native = native.with("path", path);
    }
    if let Some(errno) = error.errno() {
        native = native.with("errno", errno);
    }
    match error {
        FsError::TooLarge { bytes, limit, .. } => {
            native = native.with("bytes", *bytes).with("limitBytes", *limit);
        }
        FsError::Protected { protected, .. } => {
            native = native.with("protected", protected.as_str());
        }
        FsError::RootChanged { grant, .. } => native = native.with("grant", grant.as_str()),
        FsError::NotAFile { kind, .. } => native = native.with("kind", kind.word()),
        _ => {}
    }
    Some(native)
}
