//! Commands that are refused before they run.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::path::PathBuf;

use napi_derive::napi;
use toolwright_core::failure::network_need::refusal;

use crate::call::NativeError;

/// Why a program with these arguments is refused while commands have no network, if it can do nothing without
/// one. `directory` is where it runs, if that is known, and `path` where programs are looked up.
#[napi(catch_unwind)]
pub fn network_refusal(
    program: String,
    arguments: Vec<String>,
    directory: Option<String>,
    path: Option<String>,
) -> Option<NativeError> {
    let directory = directory.map(PathBuf::from);
    refusal(&program, &arguments, directory.as_deref(), path.as_deref()).map(NativeError::from)
}
