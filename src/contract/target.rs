//! Opened files and directories, and the operations on them: reading a part, writing, replacing a text.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::access::target::{self, Target};
use toolwright_core::edit::{Change, EditInput};
use toolwright_core::failure::Failure;
use toolwright_core::failure::access::target_closed;
use toolwright_core::file::File;
use toolwright_core::write::WriteInput;
use toolwright_fs::Range;

use super::policy::ContractPolicy;
use crate::call::{self, CancelHandle, Job, Promised};
use crate::cross::{Cross, cross, same};
use crate::files::{EditedFile, NotebookCells, PublishOptions, WrittenFile};
use crate::seen::SeenFiles;
use crate::text::{CachedText, FileText, TextArgument, cached_text};

/// A file or directory, or none, held open.
#[napi]
pub struct OpenedTarget {
    target: Option<Arc<Target>>,
    /// Absolute and without links: the path that rules judge. A model reads `displayPath`.
    #[napi(readonly)]
    pub real_path: String,
    /// As the model wrote it.
    #[napi(readonly)]
    pub requested_path: String,
    /// For output: relative to the first root of the workspace, or absolute.
    #[napi(readonly)]
    pub display_path: String,
    /// `file`, `directory`, `link` for one that is not followed, or `missing` for a file that can be made.
    #[napi(readonly, ts_type = "'file' | 'directory' | 'link' | 'missing'")]
    pub kind: String,
    /// The size of a file when it was opened.
    #[napi(readonly, ts_type = "number | null")]
    pub bytes: Option<f64>,
    /// It lies in one of the session's own directories and needs no rule.
    #[napi(readonly)]
    pub implicit: bool,
}

/// Opens what `path` names, takes the real path of what was opened, and asks the policy about that.
#[napi(catch_unwind, ts_return_type = "Promise<OpenedTarget | Unfinished>")]
pub fn open_target(
    policy: &ContractPolicy,
    path: String,
    #[napi(ts_arg_type = "'read' | 'write' | 'edit' | 'remove' | 'place' | 'search' | 'workdir'")]
    access: String,
    cancel: &CancelHandle,
) -> AsyncTask<Job<OpenedTarget>> {
    let policy = Arc::clone(&policy.0);
    call::short(cancel, move |cancel| {
        let opened = target::open(&policy, &path, access.parse()?, cancel)?;
        Ok(OpenedTarget::new(opened, path))
    })
}

/// The same for `read`, when nothing has to be waited for; else nothing, and `openTarget` says why.
/// For the JavaScript thread: the way to another one takes longer than this.
#[napi(catch_unwind)]
pub fn try_open_target_cached(policy: &ContractPolicy, path: String) -> Option<OpenedTarget> {
    target::try_open_cached(&policy.0, &path).map(|target| OpenedTarget::new(target, path))
}

impl OpenedTarget {
    fn new(target: Target, requested_path: String) -> Self {
        let (kind, real_path) = (target.file.kind(), target.file.real_path().to_owned());
        Self {
            requested_path,
            display_path: target.policy.display_path(&real_path).cross(),
            kind: kind.word().to_owned(),
            bytes: kind.bytes().cross(),
            implicit: target.is_implicit,
            real_path: real_path.cross(),
            target: Some(Arc::new(target)),
        }
    }

    pub(crate) fn target(&self) -> std::result::Result<Arc<Target>, Failure> {
        self.target.clone().ok_or_else(|| target_closed(&self.requested_path))
    }
}

#[napi]
impl OpenedTarget {
    /// Lets go of it. Calls that run go on.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.target = None;
    }
}

/// A part of a file.
#[napi(object, object_from_js = false)]
pub struct FileRange {
    /// Its text. Bytes that are no UTF-8 are U+FFFD.
    #[napi(ts_type = "string | Buffer")]
    pub text: FileText,
    /// Where it begins in the file: at the requested byte, or at the beginning of its character.
    pub offset: f64,
    /// Where the rest begins; none at the end of the file.
    pub next_offset: Option<f64>,
    /// The size of the file.
    pub file_bytes: f64,
    /// Some bytes are no UTF-8.
    pub lossy: bool,
}

cross! {
    Range => FileRange { text: bytes, offset, next_offset, file_bytes, lossy: is_lossy; .. }
}

same!(OpenedTarget);

/// A text to be replaced by another, literally.
#[napi(object, object_to_js = false)]
pub struct ContractEdit {
    /// What to look for.
    #[napi(ts_type = "string")]
    pub old_string: TextArgument,
    /// What to put in its place.
    #[napi(ts_type = "string")]
    pub new_string: TextArgument,
    /// Wherever it is, and not only where it is the only one.
    pub replace_all: bool,
}

#[napi]
impl OpenedTarget {
    /// Reads a part of the file that was opened.
    #[napi(catch_unwind, ts_return_type = "Promise<FileRange | Unfinished>")]
    pub fn read_range(
        &self,
        offset: f64,
        limit_bytes: f64,
        cancel: &CancelHandle,
        seen: Option<&SeenFiles>,
    ) -> AsyncTask<Job<FileRange>> {
        let (target, seen) = (self.target(), seen.map(SeenFiles::shared));
        call::short(cancel, move |cancel| {
            let (target, offset, limit_bytes) = (target?, offset.cross(), limit_bytes.cross());
            match seen {
                Some(seen) => target.read_range_seen(&seen, offset, limit_bytes, cancel),
                None => target.read_range(offset, limit_bytes, cancel),
            }
        })
    }

    /// Reads the bytes of the file, at most `limit_bytes`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Buffer | Unfinished>")]
    pub fn read_whole(&self, limit_bytes: f64, cancel: &CancelHandle) -> Promised<FileText> {
        let target = self.target();
        call::long(cancel, move |cancel| target?.read_whole(limit_bytes.cross(), cancel))
    }

    /// Reads the file as the cells of a notebook, without media. `seen`: of the model that is shown them, if they have at most
    /// `shown_bytes`.
    #[napi(catch_unwind, ts_return_type = "Promise<NotebookCells | Unfinished>")]
    pub fn read_notebook(
        &self,
        shown_bytes: f64,
        cancel: &CancelHandle,
        seen: Option<&SeenFiles>,
    ) -> Promised<NotebookCells> {
        let (target, seen) = (self.target(), seen.map(SeenFiles::shared));
        call::long(cancel, move |cancel| {
            target?.read_notebook(shown_bytes.cross(), seen.as_deref(), cancel)
        })
    }

    /// All of the file, if it is text of at most `limit_bytes` and nothing has to be waited for; else
    /// nothing, and `readRange` says why.
    #[napi(catch_unwind, ts_return_type = "string | Buffer | null")]
    pub fn try_read_cached<'env>(
        &self,
        env: &'env Env,
        limit_bytes: f64,
        seen: Option<&SeenFiles>,
    ) -> Result<Option<CachedText<'env>>> {
        let Ok(target) = self.target() else { return Ok(None) };
        let text = match seen {
            Some(seen) => target.try_read_cached_seen(&seen.shared(), limit_bytes.cross()),
            None => target.file.try_read_cached(limit_bytes.cross()),
        };
        text.map(|text| cached_text(env, &text)).transpose()
    }

    /// Makes `content` the text of the file.
    #[napi(catch_unwind, ts_return_type = "Promise<WrittenFile | Unfinished>")]
    pub fn write(
        &self,
        #[napi(ts_arg_type = "string")] content: TextArgument,
        limit_bytes: f64,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<WrittenFile> {
        let target = self.target();
        call::long(cancel, move |cancel| {
            let (target, content) = (&target?, &content.encoded()?);
            let (limit_bytes, (publish, seen)) = (limit_bytes.cross(), publish.split());
            let file = File::Opened(target);
            let input = WriteInput { file, content, limit_bytes, publish: &publish };
            match seen {
                Some(seen) => input.run_seen(&seen, cancel),
                None => input.run_in_form(cancel),
            }
        })
    }

    /// Replaces a text in the file by another.
    #[napi(catch_unwind, ts_return_type = "Promise<EditedFile | Unfinished>")]
    pub fn edit(
        &self,
        edit: ContractEdit,
        limit_bytes: f64,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<EditedFile> {
        let target = self.target();
        call::long(cancel, move |cancel| {
            let (target, (publish, seen)) = (&*target?, publish.split());
            let (old, new) = (&edit.old_string.encoded()?, &edit.new_string.encoded()?);
            let change = Change::Replacement { old, new, all: edit.replace_all };
            let (file, limit_bytes) = (File::Opened(target), limit_bytes.cross());
            let input = EditInput { file, change, limit_bytes, publish: &publish };
            match seen {
                Some(seen) => input.run_seen(&seen, cancel),
                None => input.run(cancel),
            }
        })
    }
}
