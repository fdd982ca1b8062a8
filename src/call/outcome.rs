//! What comes back from a call: its result, or why there is none.

use std::any::Any;

use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{ValueType, sys};
use napi_derive::napi;
use serde_json::{Map, Value};
use toolwright_core::failure::{self, Failure};

use crate::cross::Cross;
use crate::text::Text;

/// What went wrong, ready to be turned into a `ToolError`.
#[napi(object, object_from_js = false)]
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

impl From<Failure> for NativeError {
    fn from(failure: Failure) -> Self {
        let message = failure.message();
        let Failure { code, summary, hint, details, .. } = failure;
        Self { code: code.as_str().to_owned(), summary, message, hint: hint.into_owned(), details }
    }
}

/// Why a call has no result.
#[napi(object, object_from_js = false)]
#[expect(clippy::struct_field_names, reason = "no result has a field of this name")]
pub struct Unfinished {
    /// Tells it from every result.
    #[napi(ts_type = "true")]
    pub is_unfinished: bool,
    /// What went wrong; absent when the caller has cancelled.
    pub error: Option<NativeError>,
    /// What a command had printed when the caller cancelled it.
    #[napi(ts_type = "string")]
    pub output: Option<Text>,
}

/// The result of a call as it is, or an [`Unfinished`]. In TypeScript it is `T | Unfinished`.
pub struct Outcome<T>(Result<T, Unfinished>);

impl<T> Outcome<T> {
    /// The outcome of work that panicked.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        Self(Err(Failure::from_panic(panic).cross()))
    }
}

impl<T, V: Cross<T>, E: Cross<Unfinished>> From<Result<V, E>> for Outcome<T> {
    fn from(result: Result<V, E>) -> Self {
        Self(result.map(V::cross).map_err(E::cross))
    }
}

impl Cross<Unfinished> for Failure {
    fn cross(self) -> Unfinished {
        Unfinished { is_unfinished: true, error: Some(self.into()), output: None }
    }
}

impl Cross<Unfinished> for failure::Unfinished {
    fn cross(self) -> Unfinished {
        let cancelled = |output| Unfinished { is_unfinished: true, error: None, output };
        match self {
            Self::Failed(failure) => failure.cross(),
            Self::Cancelled => cancelled(None),
            Self::Stopped { output } => cancelled(Some(Text(output))),
        }
    }
}

impl<T, V: Cross<T>> Cross<Outcome<T>> for Result<V, failure::Unfinished> {
    fn cross(self) -> Outcome<T> {
        self.into()
    }
}

impl<T> TypeName for Outcome<T> {
    fn type_name() -> &'static str {
        "Outcome"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl<T: ToNapiValue> ToNapiValue for Outcome<T> {
    unsafe fn to_napi_value(env: sys::napi_env, outcome: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller passes the environment of this thread.
        unsafe {
            match outcome.0 {
                Ok(value) => T::to_napi_value(env, value),
                Err(unfinished) => Unfinished::to_napi_value(env, unfinished),
            }
        }
    }
}
