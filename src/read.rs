//! `read`: a file's text.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::Env;
use napi::JsString;
use napi::Result;
use napi::bindgen_prelude::AsyncTask;
use napi::bindgen_prelude::Buffer;
use napi::bindgen_prelude::Either;
use napi_derive::napi;
use toolwright_fs::FsError;

use crate::cancel::CancelHandle;
use crate::error;
use crate::error::NativeError;
use crate::grants::GrantedRoot;
use crate::job;
use crate::job::Job;
use crate::job::Outcome;
use crate::options;
use crate::text::Text;

/// What became of a `read`.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct ReadOutcome {
    /// The text, when all of it is ASCII.
    #[napi(ts_type = "string")]
    pub text: Option<Text>,
    /// The bytes otherwise: JavaScript engines decode other UTF-8 faster than they take it.
    pub bytes: Option<Buffer>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for ReadOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Reads the regular file at `path` below `root`, at most `limit_bytes` of it.
#[napi(catch_unwind, ts_return_type = "Promise<ReadOutcome>")]
pub fn read(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    cancel: &CancelHandle,
) -> AsyncTask<Job<ReadOutcome>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::short(move || {
        let bytes = root.open().and_then(|root| {
            toolwright_fs::read(&root, &path, options::bytes(limit_bytes), &cancel)
        });
        match bytes {
            Ok(bytes) => told(bytes),
            Err(error) => refused(&error),
        }
    })
}

/// The text of the same file when it can be had without waiting for anything; else nothing, and
/// `read` says why. For the JavaScript thread: the way to another one takes longer than this.
#[napi(catch_unwind)]
pub fn read_at_once<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
) -> Result<Option<Either<JsString<'env>, Buffer>>> {
    let limit = options::bytes(limit_bytes);
    toolwright_fs::read_cached(&root.0, &path, limit, |bytes| {
        if bytes.is_ascii() {
            // As it is: ASCII is Latin-1, too.
            env.create_string_latin1(bytes).map(Either::A)
        } else {
            Ok(Either::B(bytes.to_vec().into()))
        }
    })
    .transpose()
}

fn told(bytes: Vec<u8>) -> ReadOutcome {
    if bytes.is_ascii() {
        // ASCII is UTF-8, so the error arm cannot be reached; it is right all the same.
        match String::from_utf8(bytes) {
            Ok(text) => ReadOutcome { text: Some(Text(text)), ..ReadOutcome::default() },
            Err(error) => {
                let bytes = Some(error.into_bytes().into());
                ReadOutcome { bytes, ..ReadOutcome::default() }
            }
        }
    } else {
        ReadOutcome { bytes: Some(bytes.into()), ..ReadOutcome::default() }
    }
}

fn refused(error: &FsError) -> ReadOutcome {
    let native = error::from_fs(error);
    ReadOutcome { cancelled: native.is_none(), error: native, ..ReadOutcome::default() }
}
