//! `grep`: a regular expression searched for below the root.

use std::sync::Arc;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::grep::GrepInput;

use crate::cancel::CancelHandle;
use crate::grants::GrantedRoot;
use crate::outcome::Outcome;
use crate::text::Text;
use crate::{job, options};

/// Searches the files below `path` (a file or a directory below `root`) for `pattern`: `file:line:text`
/// lines, or nothing where nothing matches. After a timeout, `details.output` of the error has the lines
/// found until then.
#[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
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
        let input = GrepInput {
            root: &root,
            path: &path,
            pattern: &pattern,
            limit_bytes: options::size(limit_bytes),
            timeout: options::milliseconds(timeout_ms),
        };
        Outcome::from(input.run(&cancel).map(Text))
    })
}
