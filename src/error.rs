//! Errors as plain data, with the text a model will read.

use std::any::Any;

use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_core::failure::{Failure, Unfinished};

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
    /// A panic in native work: a defect of toolwright, reported without ending the process.
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        Failure::from_panic(panic).into()
    }
}

impl From<Failure> for NativeError {
    fn from(failure: Failure) -> Self {
        let message = failure.message();
        let Failure { code, summary, hint, details, .. } = failure;
        Self { code: code.as_str().to_owned(), summary, message, hint: hint.into_owned(), details }
    }
}

/// `None` for a cancellation, which is no error: the caller knows why it cancelled.
pub(crate) fn to_error(unfinished: Unfinished) -> Option<NativeError> {
    match unfinished {
        Unfinished::Cancelled => None,
        Unfinished::Failed(failure) => Some(failure.into()),
    }
}
