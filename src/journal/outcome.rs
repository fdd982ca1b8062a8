//! What became of a question to the journal.

use napi_derive::napi;
use serde_json::Value;
use toolwright_journal::JournalError;

use crate::error::NativeError;
use crate::job::Outcome;

/// What became of a question to the journal: rows, a value, or an error.
#[napi(object)]
#[derive(Debug, Default)]
pub struct JournalOutcome {
    /// Rows, in order: JSON texts of arrays of rows, so that a long list can be taken in parts.
    pub rows: Option<Vec<String>>,
    /// What else there is to say.
    pub value: Option<Value>,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for JournalOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl JournalOutcome {
    pub(crate) fn of<T>(
        result: Result<T, JournalError>,
        tell: impl FnOnce(T) -> JournalOutcome,
    ) -> Self {
        match result {
            Ok(value) => tell(value),
            Err(error) => Self::failed(from_journal(&error)),
        }
    }

    pub(crate) fn value(value: impl Into<Value>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }
}

/// The error with its code, as a tool's caller will see it.
pub(crate) fn from_journal(error: &JournalError) -> NativeError {
    let native = NativeError::new(
        error.code(),
        error.summary().to_owned(),
        &error.to_string(),
        error.hint(),
    );
    match error.path() {
        Some(path) => native.with("path", path.to_string_lossy()),
        None => native,
    }
}
