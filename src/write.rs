//! `write`: a whole file.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{AsyncTask, Object};
use napi::{Env, Result};
use napi_derive::napi;
use sha2::{Digest, Sha256};
use toolwright_fs::{Granted, WriteOptions};

use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::grants::GrantedRoot;
use crate::job::{Job, Outcome};
use crate::options::PublishOptions;
use crate::text::GivenText;
use crate::{error, job, options};

/// What became of a `write` or an `edit`.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ChangeOutcome {
    /// True when the call was cancelled before anything changed.
    pub cancelled: bool,
    /// What went wrong; nothing was changed.
    pub error: Option<NativeError>,
    /// Where an edit landed, for a model.
    pub summary: Option<String>,
}

impl Outcome for ChangeOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl ChangeOutcome {
    /// No error given is a cancellation.
    pub(crate) fn from_error(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}

/// Makes `content` the text of the file at `path` below `root`.
///
/// Waits for other calls on the file for `publish.waitMs`, on a pool of few threads: keep it short,
/// and call `writeWaiting` when the answer is `TOOL_FILE_BUSY`.
#[napi(catch_unwind, ts_return_type = "Promise<ChangeOutcome>")]
pub fn write(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: GivenText,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> AsyncTask<Job<ChangeOutcome>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::short(move || match content.encoded() {
        Ok(content) => write_impl(&root, &path, &content, limit_bytes, &publish, &cancel),
        Err(error) => ChangeOutcome::failed(error),
    })
}

/// As `write`, on a thread of its own, which may wait for long.
#[napi(catch_unwind, ts_return_type = "Promise<ChangeOutcome>")]
pub fn write_waiting<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: GivenText,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || match content.encoded() {
        Ok(content) => write_impl(&root, &path, &content, limit_bytes, &publish, &cancel),
        Err(error) => ChangeOutcome::failed(error),
    })
}

fn write_impl(
    root: &Granted,
    path: &str,
    content: &str,
    limit_bytes: f64,
    publish: &PublishOptions,
    cancel: &AtomicBool,
) -> ChangeOutcome {
    if content.len() as u64 > options::bytes(limit_bytes) {
        return ChangeOutcome::failed(content_too_large(content, limit_bytes));
    }
    let written = root.open().and_then(|root| {
        let options = WriteOptions::from(publish);
        toolwright_fs::write(&root, path, content.as_bytes(), &options, cancel)
    });
    match written {
        Ok(()) => ChangeOutcome::default(),
        Err(error) => ChangeOutcome::from_error(error::from_fs(&error)),
    }
}

fn content_too_large(content: &str, limit_bytes: f64) -> NativeError {
    let bytes = content.len();
    let limit = options::bytes(limit_bytes);
    let summary = format!("Content too large ({bytes} bytes)");
    NativeError::new(
        "TOOL_CONTENT_TOO_LARGE",
        summary.clone(),
        &format!("{summary}: limit {limit} bytes"),
        "Write the file in parts (a first part with write, the rest with edit); the limit is the host's.",
    )
    .with("contentBytes", bytes)
    .with("contentHash", sha256_hex(content))
    .with("limitBytes", limit)
}

/// The hash by which large inputs are named in errors: their text is not repeated.
pub(crate) fn sha256_hex(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
