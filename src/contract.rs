//! The native half of `toolwright/contract`: policy, opened targets, structured searches, and
//! command lines.
#![expect(clippy::needless_pass_by_value, reason = "napi hands owned values over")]

mod bash;
mod file_error;
mod policy;
mod rules;
mod search;
mod sidecar;
mod target;
mod target_operations;

use napi::bindgen_prelude::{ToNapiValue, TypeName};

use crate::error::NativeError;
use crate::job::Outcome;

/// An outcome that may be without a result: for an error, or, without one, for a cancellation.
trait Unfinished: ToNapiValue + TypeName + Send + 'static {
    fn unfinished(error: Option<NativeError>) -> Self;
}

impl<T: Unfinished> Outcome for T {
    fn failed(error: NativeError) -> Self {
        Self::unfinished(Some(error))
    }
}
