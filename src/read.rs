//! `read`: a file's text.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Buffer, Either};
use napi::{Env, JsString, Result};
use napi_derive::napi;
use toolwright_fs::{FsError, LineRange};

use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::grants::GrantedRoot;
use crate::job::{Job, Outcome};
use crate::text::Text;
use crate::{error, job, options};

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

/// Reads the regular file at `path` below `root`, at most `limit_bytes` of it. `text_only`: a file that
/// is no text is refused.
#[napi(catch_unwind, ts_return_type = "Promise<ReadOutcome>")]
pub fn read(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    text_only: bool,
    cancel: &CancelHandle,
) -> AsyncTask<Job<ReadOutcome>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::short(move || {
        let bytes = root.open().and_then(|root| {
            toolwright_fs::read(&root, &path, options::bytes(limit_bytes), &cancel)
        });
        match bytes {
            Ok(bytes) if text_only && toolwright_fs::is_binary(&bytes) => {
                ReadOutcome::failed(error::binary_file(&path, bytes.len() as u64))
            }
            Ok(bytes) => told(bytes),
            Err(error) => refused(&error),
        }
    })
}

/// Which lines of a file.
#[napi(object)]
#[derive(Debug)]
pub struct WantedLines {
    /// The number of the first one, from 1.
    pub first: f64,
    /// How many.
    pub count: f64,
    /// The most bytes.
    pub limit_bytes: f64,
}

/// What became of a `readLines`.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct LinesOutcome {
    /// The lines, when all of them are ASCII.
    #[napi(ts_type = "string")]
    pub text: Option<Text>,
    /// Their bytes otherwise.
    pub bytes: Option<Buffer>,
    /// How many there are.
    pub count: f64,
    /// There are more behind them.
    pub has_more: bool,
    /// The last one is longer than the limit: only its beginning is there.
    pub is_cut: bool,
    /// How many the file has, where its end was seen.
    pub total: Option<f64>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for LinesOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Reads some lines of the regular file at `path` below `root`, which may be of any size.
#[napi(catch_unwind, ts_return_type = "Promise<LinesOutcome>")]
pub fn read_lines(
    root: &GrantedRoot,
    path: String,
    wanted: WantedLines,
    cancel: &CancelHandle,
) -> AsyncTask<Job<LinesOutcome>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    let range = LineRange {
        first: options::bytes(wanted.first),
        count: options::bytes(wanted.count),
        limit: options::bytes(wanted.limit_bytes),
    };
    job::short(move || {
        let lines =
            root.open().and_then(|root| toolwright_fs::read_lines(&root, &path, range, &cancel));
        match lines {
            Ok(lines) if lines.is_binary => {
                LinesOutcome::failed(error::binary_file(&path, lines.file_bytes))
            }
            #[expect(clippy::cast_precision_loss, reason = "no file has so many lines")]
            Ok(lines) => {
                let ReadOutcome { text, bytes, .. } = told(lines.bytes);
                LinesOutcome {
                    text,
                    bytes,
                    count: lines.count as f64,
                    has_more: lines.has_more,
                    is_cut: lines.is_cut,
                    total: lines.total.map(|total| total as f64),
                    ..LinesOutcome::default()
                }
            }
            Err(error) => {
                let native = error::from_fs(&error);
                LinesOutcome {
                    cancelled: native.is_none(),
                    error: native,
                    ..LinesOutcome::default()
                }
            }
        }
    })
}

/// The text of the same file when it can be had without waiting for anything; else nothing, and
/// `read` says why. For the JavaScript thread: the way to another one takes longer than this.
#[napi(catch_unwind)]
pub fn try_read_cached<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
) -> Result<Option<Either<JsString<'env>, Buffer>>> {
    let limit = options::bytes(limit_bytes);
    toolwright_fs::try_read_cached(&root.0, &path, limit, |bytes| {
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
