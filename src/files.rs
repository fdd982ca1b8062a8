//! `read`, `write`, `edit` and `grep` of files below a granted root.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::edit::{Change, EditInput, Edited};
use toolwright_core::file::{File, Publish};
use toolwright_core::grep::GrepInput;
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::write::{WriteInput, Written};
use toolwright_fs::{LineRange, Lines};

use crate::cancel::CancelHandle;
use crate::grants::GrantedRoot;
use crate::job::{self, Job, Promised};
use crate::options::{self, PublishOptions, number};
use crate::outcome::Outcome;
use crate::text::{CachedText, FileText, Text, TextArgument, cached_text};

/// Reads the regular file at `path` below `root`, at most `limit_bytes` of it. `text_only`: a binary file
/// is refused.
#[napi(catch_unwind, ts_return_type = "Promise<string | Buffer | Unfinished>")]
pub fn read(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    text_only: bool,
    cancel: &CancelHandle,
) -> AsyncTask<Job<FileText>> {
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
    fn from(lines: Lines) -> Self {
        Self {
            text: lines.bytes.into(),
            count: number(lines.count),
            has_more: lines.has_more,
            is_cut: lines.is_cut,
            total: lines.total.map(number),
        }
    }
}

/// Reads some lines of the regular file at `path` below `root`, which may be of any size.
#[napi(catch_unwind, ts_return_type = "Promise<FileLines | Unfinished>")]
pub fn read_lines(
    root: &GrantedRoot,
    path: String,
    lines: WantedLines,
    cancel: &CancelHandle,
) -> Promised<FileLines> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let input = ReadLinesInput { root: &root, path: &path, lines: lines.into() };
        Outcome::from(input.run(&cancel).map(FileLines::from))
    })
}

/// A file that was written.
#[napi(object, object_from_js = false)]
pub struct WrittenFile {
    /// There was no such file before. Only an opened target says so.
    pub created: bool,
    /// How long the file is now.
    pub bytes: f64,
}

impl From<Written> for WrittenFile {
    fn from(written: Written) -> Self {
        Self { created: written.created, bytes: number(written.bytes) }
    }
}

/// Makes `content` the text of the file at `path` below `root`.
#[napi(catch_unwind, ts_return_type = "Promise<WrittenFile | Unfinished>")]
pub fn write(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<WrittenFile> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
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
pub struct PatchTerms {
    /// The most bytes of the patch, and of the file before and after it.
    pub limit_bytes: f64,
    /// A hunk whose header has no line numbers or wrong counts goes where it fits.
    pub by_content: bool,
}

/// A file that was edited.
#[napi(object, object_from_js = false)]
pub struct EditedFile {
    /// Where the hunks of a patch landed, for a model.
    pub summary: Option<String>,
    /// How many places were replaced.
    pub replacements: u32,
}

impl From<Edited> for EditedFile {
    fn from(Edited { summary, replacements }: Edited) -> Self {
        Self { summary, replacements: options::count(replacements) }
    }
}

/// Applies `diff` (a unified diff) to the existing file at `path` below `root`.
#[napi(catch_unwind, ts_return_type = "Promise<EditedFile | Unfinished>")]
pub fn edit(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] diff: TextArgument,
    terms: PatchTerms,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<EditedFile> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let file = File::Below { root: &root, path: &path };
        Outcome::from(diff.encoded().map_err(Into::into).and_then(|diff| {
            let change = Change::Patch { diff: &diff, by_content: terms.by_content };
            let limit_bytes = options::bytes(terms.limit_bytes);
            let publish = &Publish::from(publish);
            EditInput { file, change, limit_bytes, publish }.run(&cancel).map(EditedFile::from)
        }))
    })
}

/// Searches the files below `path` (a file or a directory below `root`) for `pattern`: `file:line:text`
/// lines, or nothing where nothing matches. After a timeout, `details.output` of the error has the lines
/// found until then.
#[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
pub fn grep(
    root: &GrantedRoot,
    pattern: String,
    path: String,
    limit_bytes: f64,
    timeout_ms: f64,
    cancel: &CancelHandle,
) -> Promised<Text> {
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
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
