//! `edit`: a unified diff applied to one file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{AsyncTask, Object};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::voice;
use toolwright_fs::{FsError, Granted, UpdateError, WriteOptions};
use toolwright_patch::{Detail, PatchError};

use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::grants::GrantedRoot;
use crate::job::{Job, Outcome};
use crate::options::PublishOptions;
use crate::text::GivenText;
use crate::write::{ChangeOutcome, sha256_hex};
use crate::{error, job, options};

/// How a patch is taken.
#[napi(object)]
#[derive(Debug)]
pub struct PatchTerms {
    /// The most bytes of the patch, and of the file before and after it.
    pub limit_bytes: f64,
    /// A hunk whose header has no line numbers or wrong counts goes where it fits.
    pub by_content: bool,
}

/// Applies `diff` (a unified diff) to the existing file at `path` below `root`.
///
/// Waits for other calls on the file for `publish.waitMs`, on a pool of few threads: keep it short,
/// and call `editWaiting` when the answer is `TOOL_FILE_BUSY`.
#[napi(catch_unwind, ts_return_type = "Promise<ChangeOutcome>")]
pub fn edit(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] diff: GivenText,
    terms: PatchTerms,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> AsyncTask<Job<ChangeOutcome>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::short(move || match diff.encoded() {
        Ok(diff) => edit_impl(&root, &path, &diff, &terms, &publish, &cancel),
        Err(error) => ChangeOutcome::failed(error),
    })
}

/// As `edit`, on a thread of its own, which may wait for long.
#[napi(catch_unwind, ts_return_type = "Promise<ChangeOutcome>")]
pub fn edit_waiting<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] diff: GivenText,
    terms: PatchTerms,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || match diff.encoded() {
        Ok(diff) => edit_impl(&root, &path, &diff, &terms, &publish, &cancel),
        Err(error) => ChangeOutcome::failed(error),
    })
}

fn edit_impl(
    root: &Granted,
    path: &str,
    diff: &str,
    terms: &PatchTerms,
    publish: &PublishOptions,
    cancel: &AtomicBool,
) -> ChangeOutcome {
    let limit = options::bytes(terms.limit_bytes);
    if diff.len() as u64 > limit {
        return ChangeOutcome::failed(patch_too_large(diff, limit));
    }
    let root = match root.open() {
        Ok(root) => root,
        Err(error) => return refused(&error),
    };
    let options = WriteOptions::from(publish);
    let apply =
        if terms.by_content { toolwright_patch::apply_by_content } else { toolwright_patch::apply };
    let mut summary = None;
    let updated = toolwright_fs::update(&root, path, limit, &options, cancel, |old| {
        let applied = apply(old, diff)?;
        summary = Some(applied.summary());
        Ok(applied.bytes)
    });
    match updated {
        Ok(_) => ChangeOutcome { summary, ..ChangeOutcome::default() },
        Err(UpdateError::Fs(error)) => refused(&error),
        Err(UpdateError::Refused(error)) => ChangeOutcome::failed(patch_failed(path, &error)),
    }
}

fn refused(error: &FsError) -> ChangeOutcome {
    ChangeOutcome::from_error(error::from_fs(error))
}

fn patch_too_large(diff: &str, limit: u64) -> NativeError {
    let bytes = diff.len();
    let summary = format!("Patch too large ({bytes} bytes)");
    NativeError::new(
        "TOOL_PATCH_TOO_LARGE",
        summary.clone(),
        &format!("{summary}: limit {limit} bytes"),
        "Send the hunks in several smaller patches; the limit is the host's.",
    )
    .with("patchBytes", bytes)
    .with("patchHash", sha256_hex(diff))
    .with("limitBytes", limit)
}

fn patch_failed(path: &str, error: &PatchError) -> NativeError {
    let native = NativeError::new(
        "TOOL_PATCH_FAILED",
        "Failed to apply patch".to_owned(),
        &format!("Failed to apply patch: `{path}`: {error}"),
        &voice::patches::hint(error),
    );
    error.details().into_iter().fold(native.with("path", path), |native, (name, detail)| {
        match detail {
            Detail::Number(number) => native.with(name, number),
            Detail::Text(text) => native.with(name, text),
        }
    })
}
