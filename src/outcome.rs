//! What comes back from a call: its result, or why there is none.

use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{ValueType, sys};
use napi_derive::napi;
use toolwright_core::failure::{self, Failure};

use crate::error::NativeError;
use crate::job;

/// Why a call has no result.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct Unfinished {
    /// Tells it from every result.
    #[napi(ts_type = "true")]
    pub is_unfinished: bool,
    /// What went wrong; absent when the caller has cancelled.
    pub error: Option<NativeError>,
}

impl From<failure::Unfinished> for Unfinished {
    fn from(unfinished: failure::Unfinished) -> Self {
        let error = match unfinished {
            failure::Unfinished::Cancelled => None,
            failure::Unfinished::Failed(failure) => Some(failure.into()),
        };
        Self { is_unfinished: true, error }
    }
}

/// The result of a call as it is, or an [`Unfinished`]. In TypeScript it is `T | Unfinished`.
#[derive(Debug)]
pub struct Outcome<T>(Result<T, Unfinished>);

impl<T> Outcome<T> {
    /// The outcome of a call that cannot fail.
    pub(crate) fn done(value: T) -> Self {
        Self(Ok(value))
    }
}

impl<T> From<Result<T, failure::Unfinished>> for Outcome<T> {
    fn from(result: Result<T, failure::Unfinished>) -> Self {
        Self(result.map_err(Unfinished::from))
    }
}

impl<T> From<Result<T, Failure>> for Outcome<T> {
    fn from(result: Result<T, Failure>) -> Self {
        result.map_err(failure::Unfinished::from).into()
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

impl<T: ToNapiValue + Send + 'static> job::Outcome for Outcome<T> {
    fn failed(error: NativeError) -> Self {
        Self(Err(Unfinished { is_unfinished: true, error: Some(error) }))
    }
}
