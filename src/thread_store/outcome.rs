//! What became of a question to a store of threads.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use serde_json::Value;
use toolwright_threads::{SqliteError, ThreadError};

use crate::error;
use crate::error::NativeError;
use crate::job::Outcome;

/// The longest text of an answer: what a JavaScript engine takes as one string, and a little less.
const LONGEST: usize = 500_000_000;

/// What became of a question to a store of threads.
#[napi(object)]
#[derive(Default)]
pub struct ThreadOutcome {
    /// The answer, as a text in JSON.
    pub json: Option<String>,
    /// The answer, where it is bytes.
    pub bytes: Option<Buffer>,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for ThreadOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl ThreadOutcome {
    pub(crate) fn of<T>(
        result: Result<T, ThreadError>,
        tell: impl FnOnce(T) -> ThreadOutcome,
    ) -> Self {
        match result {
            Ok(value) => tell(value),
            Err(error) => Self::failed(from_threads(&error)),
        }
    }

    /// An answer that is a plain value.
    pub(crate) fn told<T: Into<Value>>(result: Result<T, ThreadError>) -> Self {
        Self::of(result, |value| Self::json(&value.into()))
    }

    pub(crate) fn json(value: &Value) -> Self {
        let json = value.to_string();
        if json.len() > LONGEST {
            let what = format!("an answer of {} bytes", json.len());
            let too_large = ThreadError::TooLarge { what, limit: LONGEST as u64 };
            return Self::failed(from_threads(&too_large));
        }
        Self { json: Some(json), ..Self::default() }
    }

    pub(crate) fn list<T>(rows: &[T], row: impl Fn(&T) -> Value) -> Self {
        Self::json(&rows.iter().map(row).collect())
    }
}

/// The error with its code, as its caller will see it.
pub(crate) fn from_threads(error: &ThreadError) -> NativeError {
    if let ThreadError::Export(error) = error
        && let Some(native) = error::from_fs(error)
    {
        return native;
    }
    let native = NativeError::new(
        error.code(),
        error.summary().to_owned(),
        &error.to_string(),
        error.hint(),
    );
    match error {
        ThreadError::NoThread { thread } | ThreadError::Locked { thread, .. } => {
            native.with("threadId", thread.as_str())
        }
        ThreadError::NoCall { thread, call } => {
            native.with("threadId", thread.as_str()).with("callId", call.as_str())
        }
        ThreadError::CallState { call, status, .. } => {
            native.with("callId", call.as_str()).with("status", status.as_str())
        }
        ThreadError::Duplicate { id, .. } => native.with("id", id.as_str()),
        ThreadError::NoAttachment { path } => native.with("attachment", path.as_str()),
        ThreadError::Base64 { name, offset, .. } => {
            native.with("attachment", name.as_str()).with("offset", *offset)
        }
        ThreadError::TooLarge { limit, .. } => native.with("limitBytes", *limit),
        _ => match error.path() {
            Some(path) => native.with("path", path.to_string_lossy()),
            None => native,
        },
    }
}

/// A store that is closed, or was never opened.
pub(crate) fn not_open() -> ThreadError {
    SqliteError::Closed { path: "thread store".into() }.into()
}
