//! `read`, `write` and `edit` of files below a granted root.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Object};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::edit::{Change, EditInput, Edited};
use toolwright_core::file::{File, Publish};
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::write::{WriteInput, Written};
use toolwright_fs::{LineRange, Lines};

use crate::cancel::CancelHandle;
use crate::grants::GrantedRoot;
use crate::job::Job;
use crate::options::PublishOptions;
use crate::outcome::Outcome;
use crate::text::{CachedText, FileText, GivenText, cached_text};
use crate::{job, options};

/// Reads the regular file at `path` below `root`, at most `limit_bytes` of it. `text_only`: a binary file
/// is refused.
#[napi(catch_unwind, ts_return_type = "Promise<string | Buffer | Unfinished>")]
pub fn read(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    text_only: bool,
    cancel: &CancelHandle,
) -> AsyncTask<Job<Outcome<FileText>>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::short(move || {
        let limit_bytes = options::bytes(limit_bytes);
        let input = ReadInput { root: &root, path: &path, limit_bytes, text_only };
        input.run(&cancel).map(FileText::from).into()
    })
}

/// As `read`, when nothing has to be waited for; else nothing, and `read` says why. For the JavaScript
/// thread: the way to another one takes longer than this.
#[napi(catch_unwind, ts_return_type = "string | Buffer | null")]
pub fn try_read_cached<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    text_only: bool,
) -> Result<Option<CachedText<'env>>> {
    let limit_bytes = options::bytes(limit_bytes);
    let input = ReadInput { root: &root.0, path: &path, limit_bytes, text_only };
    input.try_cached(|bytes| cached_text(env, bytes)).transpose()
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

impl From<WantedLines> for LineRange {
    fn from(lines: WantedLines) -> Self {
        Self {
            first: options::bytes(lines.first),
            count: options::bytes(lines.count),
            limit: options::bytes(lines.limit_bytes),
        }
    }
}

/// Some lines of a file.
#[napi(object, object_from_js = false)]
pub struct FileLines {
    /// Their text.
    #[napi(ts_type = "string | Buffer")]
    pub text: FileText,
    /// How many there are.
    pub count: f64,
    /// There are more behind them.
    pub has_more: bool,
    /// The last one is longer than the limit: only its beginning is there.
    pub is_cut: bool,
    /// How many the file has, where its end was seen.
    pub total: Option<f64>,
}

impl From<Lines> for FileLines {
    #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 lines")]
    fn from(lines: Lines) -> Self {
        Self {
            text: lines.bytes.into(),
            count: lines.count as f64,
            has_more: lines.has_more,
            is_cut: lines.is_cut,
            total: lines.total.map(|total| total as f64),
        }
    }
}

/// Reads some lines of the regular file at `path` below `root`, which may be of any size.
#[napi(catch_unwind, ts_return_type = "Promise<FileLines | Unfinished>")]
pub fn read_lines<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    wanted: WantedLines,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || {
        let input = ReadLinesInput { root: &root, path: &path, lines: wanted.into() };
        Outcome::from(input.run(&cancel).map(FileLines::from))
    })
}

/// A file that was written.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct WrittenFile {
    /// There was no such file before; known of an opened target alone.
    pub created: bool,
    /// How long the file is now.
    pub bytes: f64,
}

impl From<Written> for WrittenFile {
    #[expect(clippy::cast_precision_loss, reason = "no text has 2^53 bytes")]
    fn from(written: Written) -> Self {
        Self { created: written.created, bytes: written.bytes as f64 }
    }
}

/// Makes `content` the text of the file at `path` below `root`.
#[napi(catch_unwind, ts_return_type = "Promise<WrittenFile | Unfinished>")]
pub fn write<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: GivenText,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || {
        let file = File::Below { root: &root, path: &path };
        Outcome::from(content.encoded().map_err(Into::into).and_then(|content| {
            let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
            let input = WriteInput { file, content: &content, limit_bytes, publish };
            input.run(&cancel).map(WrittenFile::from)
        }))
    })
}

/// How a patch is taken.
#[napi(object)]
#[derive(Debug)]
pub struct PatchTerms {
    /// The most bytes of the patch, and of the file before and after it.
    pub limit_bytes: f64,
    /// A hunk whose header has no line numbers or wrong counts goes where it fits.
    pub by_content: bool,
}

/// A file that was edited.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct EditedFile {
    /// Where the hunks of a patch landed, for a model.
    pub summary: Option<String>,
    /// How many places were replaced.
    pub replacements: u32,
    /// The line of the first one, from one.
    pub line: u32,
}

impl From<Edited> for EditedFile {
    fn from(edited: Edited) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            summary: edited.summary,
            replacements: number(edited.replacements),
            line: number(edited.line),
        }
    }
}

/// Applies `diff` (a unified diff) to the existing file at `path` below `root`.
#[napi(catch_unwind, ts_return_type = "Promise<EditedFile | Unfinished>")]
pub fn edit<'env>(
    env: &'env Env,
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] diff: GivenText,
    terms: PatchTerms,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(env, move || {
        let file = File::Below { root: &root, path: &path };
        Outcome::from(diff.encoded().map_err(Into::into).and_then(|diff| {
            let change = Change::Patch { diff: &diff, by_content: terms.by_content };
            let limit_bytes = options::bytes(terms.limit_bytes);
            let publish = &Publish::from(publish);
            EditInput { file, change, limit_bytes, publish }.run(&cancel).map(EditedFile::from)
        }))
    })
}
