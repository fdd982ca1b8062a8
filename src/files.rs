//! `read`, `write`, `edit`, `grep` and `glob` of files below a granted root.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::edit::{Change, EditInput, Edited};
use toolwright_core::file::{File, Publish};
use toolwright_core::glob::ListInput;
use toolwright_core::grep::{GrepInput, GrepOptions, Prints, SearchText};
use toolwright_core::notebook::{NotebookText, ReadNotebookInput};
use toolwright_core::read::{ReadInput, ReadLinesInput};
use toolwright_core::seen::SeenFiles;
use toolwright_core::write::{WriteInput, Written};
use toolwright_fs::{LineRange, Lines};

use crate::call::{self, CancelHandle, Job, Promised};
use crate::cross::{Cross, cross};
use crate::grants::GrantedRoot;
use crate::seen::{SeenArgument, SeenFiles as Seen};
use crate::text::{CachedText, FileText, Text, TextArgument, cached_text};

/// How a changed file is published.
#[napi(object, object_to_js = false)]
pub struct PublishOptions {
    /// Wait until file and directory are on the disk.
    pub fsync: bool,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait_ms: f64,
    /// Paths below the root that are not to be written, if not the usual ones. An opened target was checked
    /// when it was opened.
    pub deny_write: Option<Vec<String>>,
    /// What the model that changes it has seen.
    #[napi(ts_type = "SeenFiles")]
    pub seen: Option<SeenArgument>,
    /// That model is shown notebooks as cells.
    pub notebooks: Option<bool>,
}

cross! { PublishOptions => Publish { fsync, allow_in_place, wait: wait_ms, deny_write, notebooks; .. } }

impl PublishOptions {
    /// The two parts of it.
    pub(crate) fn split(mut self) -> (Publish, Option<Arc<SeenFiles>>) {
        let seen = self.seen.take().map(|seen| seen.0);
        (self.cross(), seen)
    }
}

/// Reads the regular file at `path` below `root`, at most `limit_bytes` of it. `text_only`: a binary file
/// is refused. `seen`: of the model that is shown all of it.
#[napi(catch_unwind, ts_return_type = "Promise<string | Buffer | Unfinished>")]
pub fn read(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    text_only: bool,
    cancel: &CancelHandle,
    seen: Option<&Seen>,
) -> AsyncTask<Job<FileText>> {
    let (root, seen) = (root.shared(), seen.map(Seen::shared));
    call::short(cancel, move |cancel| {
        let limit_bytes = limit_bytes.cross();
        let input = ReadInput { root: &root, path: &path, limit_bytes, text_only };
        match seen {
            Some(seen) => input.run_seen(&seen, cancel),
            None => input.run(cancel),
        }
    })
}

/// A notebook as text.
#[napi(object, object_from_js = false)]
pub struct NotebookCells {
    /// The cells; none if the file is no notebook.
    pub text: Option<String>,
}

cross! { NotebookText => NotebookCells { text } }

/// Reads the notebook at `path` below `root` as cells, without media: at most `limit_bytes` of text. `seen`: of the model that is
/// shown them.
#[napi(catch_unwind, ts_return_type = "Promise<NotebookCells | Unfinished>")]
pub fn read_notebook(
    root: &GrantedRoot,
    path: String,
    limit_bytes: f64,
    cancel: &CancelHandle,
    seen: Option<&Seen>,
) -> Promised<NotebookCells> {
    let (root, seen) = (root.shared(), seen.map(Seen::shared));
    call::long(cancel, move |cancel| {
        let input =
            ReadNotebookInput { root: &root, path: &path, limit_bytes: limit_bytes.cross() };
        input.run(seen.as_deref(), cancel)
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
    seen: Option<&Seen>,
) -> Result<Option<CachedText<'env>>> {
    let limit_bytes = limit_bytes.cross();
    let input = ReadInput { root: &root.0, path: &path, limit_bytes, text_only };
    let take = |bytes: &[u8]| cached_text(env, bytes);
    match seen {
        Some(seen) => input.try_cached_seen(&seen.shared(), take),
        None => input.try_cached(take),
    }
    .transpose()
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

cross! { WantedLines => LineRange { first, count, limit: limit_bytes } }

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

cross! { Lines => FileLines { text: bytes, count, has_more, is_cut, total; .. } }

/// Reads some lines of the regular file at `path` below `root`, which may be of any size.
#[napi(catch_unwind, ts_return_type = "Promise<FileLines | Unfinished>")]
pub fn read_lines(
    root: &GrantedRoot,
    path: String,
    lines: WantedLines,
    cancel: &CancelHandle,
    seen: Option<&Seen>,
) -> Promised<FileLines> {
    let (root, seen) = (root.shared(), seen.map(Seen::shared));
    call::long(cancel, move |cancel| {
        let input = ReadLinesInput { root: &root, path: &path, lines: lines.cross() };
        match seen {
            Some(seen) => input.run_seen(&seen, cancel),
            None => input.run(cancel),
        }
    })
}

/// A file that was written.
#[napi(object, object_from_js = false)]
pub struct WrittenFile {
    /// There was no such file before. Only an opened target says so.
    pub created: bool,
    /// How long the file is now.
    pub bytes: f64,
    /// It got the byte order mark of the file before.
    pub has_mark: bool,
    /// Its lines got the CRLF of the file before.
    pub has_crlf: bool,
    /// It got the encoding of the file before, which is not UTF-8.
    pub encoding: Option<&'static str>,
    /// What a model should know of the file before.
    pub note: Option<String>,
}

cross! { Written => WrittenFile { created, bytes, has_mark, has_crlf, encoding, note } }

/// Makes `content` the text of the file at `path` below `root`. With `keeps_form` it gets the byte order mark, the
/// CRLF and the encoding of the file before; it always does for a model that has seen something.
#[napi(catch_unwind, ts_return_type = "Promise<WrittenFile | Unfinished>")]
pub fn write(
    root: &GrantedRoot,
    path: String,
    #[napi(ts_arg_type = "string")] content: TextArgument,
    limit_bytes: f64,
    keeps_form: bool,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<WrittenFile> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let file = File::Below { root: &root, path: &path };
        let (content, limit_bytes) = (&content.encoded()?, limit_bytes.cross());
        let (publish, seen) = publish.split();
        let input = WriteInput { file, content, limit_bytes, publish: &publish };
        match seen {
            Some(seen) => input.run_seen(&seen, cancel),
            None if keeps_form => input.run_in_form(cancel),
            None => input.run(cancel),
        }
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
    /// What a model should know of changes of others.
    pub note: Option<String>,
}

cross! { Edited => EditedFile { summary, replacements, note } }

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
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let file = File::Below { root: &root, path: &path };
        let diff = diff.encoded()?;
        let change = Change::Patch { diff: &diff, by_content: terms.by_content };
        let (limit_bytes, (publish, seen)) = (terms.limit_bytes.cross(), publish.split());
        let input = EditInput { file, change, limit_bytes, publish: &publish };
        match seen {
            Some(seen) => input.run_seen(&seen, cancel),
            None => input.run(cancel),
        }
    })
}

/// What is searched for below a root, and how much is given.
#[napi(object)]
pub struct FileSearch {
    /// For `grep` a regular expression; for `glob` a pattern relative to `path`.
    pub pattern: String,
    /// Where: for `grep` a file or a directory, for `glob` a directory.
    pub path: String,
    /// The most bytes of the text.
    pub limit_bytes: f64,
    /// When to give up.
    pub timeout_ms: f64,
}

/// What a model may ask of `grep`.
#[napi(object)]
pub struct GrepForModel {
    /// What is printed of a file that matches: `lines`, `counts` or `files`.
    pub prints: String,
    /// So many lines around each match are printed too.
    pub context: f64,
    /// A match may go over the ends of lines.
    pub multiline: bool,
}

/// The text of a search.
#[napi(object, object_from_js = false)]
pub struct FoundText {
    /// Lines, or nothing.
    #[napi(ts_type = "string")]
    pub text: Text,
    /// What the text does not say, for a model.
    pub note: Option<String>,
}

cross! { SearchText => FoundText { text, note } }

/// Searches files for a pattern: `file:line:text` lines, or nothing where nothing matches. Without `model` they are
/// what ripgrep prints. After a timeout, `details.output` of the error has the lines found until then.
#[napi(catch_unwind, ts_return_type = "Promise<FoundText | Unfinished>")]
pub fn grep(
    root: &GrantedRoot,
    search: FileSearch,
    model: Option<GrepForModel>,
    cancel: &CancelHandle,
) -> Promised<FoundText> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let FileSearch { pattern, path, limit_bytes, timeout_ms } = &search;
        let options = model.map_or_else(GrepOptions::default, |model| GrepOptions {
            prints: match &*model.prints {
                "counts" => Prints::Counts,
                "files" => Prints::Files,
                _ => Prints::Lines,
            },
            context: model.context.cross(),
            multiline: model.multiline,
            is_for_model: true,
            ..GrepOptions::default()
        });
        let (limit_bytes, timeout) = ((*limit_bytes).cross(), (*timeout_ms).cross());
        GrepInput { root: &root, path, pattern, limit_bytes, timeout, options }.run(cancel)
    })
}

/// Lists the files below a directory that match a pattern: a path on each line.
#[napi(catch_unwind, ts_return_type = "Promise<FoundText | Unfinished>")]
pub fn glob(root: &GrantedRoot, search: FileSearch, cancel: &CancelHandle) -> Promised<FoundText> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let FileSearch { pattern, path, limit_bytes, timeout_ms } = &search;
        let (limit_bytes, timeout) = ((*limit_bytes).cross(), (*timeout_ms).cross());
        ListInput { root: &root, path, pattern, limit_bytes, timeout }.run(cancel)
    })
}
