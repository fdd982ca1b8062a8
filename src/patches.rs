//! `apply_patch`: a patch over files below a granted root, or over opened files.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::apply_patch::{
    self, AppliedPatch, ApplyPatchInput, FileOperation, FileOperationInput, Files, PatchKind,
    PatchedFile, Undo,
};
use toolwright_core::command::patches::{self, PatchInCommand, PatchStatus};
use toolwright_core::failure::Failure;
use toolwright_exec::PatchReports as Reports;

use crate::call::{self, CancelHandle, Outcome, Promised};
use crate::contract::OpenedTarget;
use crate::cross::{Cross, cross, words};
use crate::files::PublishOptions;
use crate::grants::GrantedRoot;
use crate::text::TextArgument;

/// What a patch does to a file.
#[napi(object, object_from_js = false)]
pub struct FileOfPatch {
    /// The file, as the patch names it.
    pub path: String,
    /// What happens to it.
    #[napi(ts_type = "'add' | 'update' | 'delete' | 'move'")]
    pub change: &'static str,
    /// Its new path, if it is moved.
    pub moved_to: Option<String>,
    /// It was a symbolic link, which was deleted or moved itself.
    pub is_link: Option<bool>,
    /// A file or a link stood in its place.
    pub is_replaced: Option<bool>,
    /// What else a model should know, such as fits that were not exact.
    pub notes: Option<Vec<String>>,
}

words!(PatchKind);
impl Cross<FileOfPatch> for PatchedFile {
    fn cross(self) -> FileOfPatch {
        let Self { path, kind, moved_to, is_link, replaced, notes } = self;
        let is_link = is_link.then_some(true);
        let is_replaced = replaced.map(|_| true);
        let notes = Some(notes).filter(|notes| !notes.is_empty());
        FileOfPatch { path, change: kind.cross(), moved_to, is_link, is_replaced, notes }
    }
}

/// The files of a patch, in its order. No file is looked at.
#[napi(catch_unwind, ts_return_type = "Array<FileOfPatch> | Unfinished")]
pub fn plan_patch(
    #[napi(ts_arg_type = "string")] patch: TextArgument,
    limit_bytes: f64,
) -> Outcome<Vec<FileOfPatch>> {
    patch.encoded().and_then(|patch| apply_patch::plan(&patch, limit_bytes.cross())).into()
}

/// A patch that was applied. It holds the contents of its files before and after.
#[napi]
pub struct PatchResult {
    /// What happened, for a model: a line for each file.
    #[napi(readonly)]
    pub summary: String,
    files: Vec<PatchedFile>,
    undo: Arc<Undo>,
}

impl Cross<PatchResult> for AppliedPatch {
    fn cross(self) -> PatchResult {
        PatchResult { summary: self.summary(), files: self.files, undo: Arc::new(self.undo) }
    }
}

#[napi]
impl PatchResult {
    /// Its files, in its order, and what was found at their names.
    #[napi(catch_unwind)]
    pub fn files(&self) -> Vec<FileOfPatch> {
        self.files.clone().cross()
    }

    /// Puts every file below `root` back to what it was, or none.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Unfinished>")]
    pub fn undo(
        &self,
        root: &GrantedRoot,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<()> {
        let (undo, root) = (Arc::clone(&self.undo), root.shared());
        call::long(cancel, move |cancel| undo.run(&root, &publish.cross(), cancel))
    }
}

/// Makes all changes of `patch` (the envelope of `apply_patch`, or a unified diff) below `root`, or none.
#[napi(catch_unwind, ts_return_type = "Promise<PatchResult | Unfinished>")]
pub fn apply_patch(
    root: &GrantedRoot,
    #[napi(ts_arg_type = "string")] patch: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<PatchResult> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let (patch, limit_bytes) = (&patch.encoded()?, limit_bytes.cross());
        let (publish, seen) = publish.split();
        let files = Files::Below(&root);
        ApplyPatchInput { files, patch, limit_bytes, publish: &publish }
            .run_for(seen.as_deref(), cancel)
    })
}

/// The same for opened files: those of `planPatch` in its order, each followed by the place that it is
/// moved to.
#[napi(catch_unwind, ts_return_type = "Promise<PatchResult | Unfinished>")]
pub fn apply_patch_to_targets(
    targets: Vec<ClassInstance<'_, OpenedTarget>>,
    #[napi(ts_arg_type = "string")] patch: TextArgument,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<PatchResult> {
    let targets: Result<Vec<_>, Failure> = targets.iter().map(|target| target.target()).collect();
    call::long(cancel, move |cancel| {
        let (targets, patch) = (targets?, &patch.encoded()?);
        let (files, limit_bytes) = (Files::Opened(&targets), limit_bytes.cross());
        let (publish, seen) = publish.split();
        ApplyPatchInput { files, patch, limit_bytes, publish: &publish }
            .run_for(seen.as_deref(), cancel)
    })
}

/// A change of one file by a diff that does not name it.
#[napi(object, object_to_js = false)]
pub struct DiffOfFile {
    /// What happens to the file.
    #[napi(ts_type = "'create' | 'update' | 'delete'")]
    pub change: String,
    /// The diff; empty for a deletion.
    #[napi(ts_type = "string")]
    pub diff: TextArgument,
}

/// Creates, changes or deletes the file at `path` below `root`.
#[napi(catch_unwind, ts_return_type = "Promise<PatchResult | Unfinished>")]
pub fn change_file(
    root: &GrantedRoot,
    path: String,
    change: DiffOfFile,
    limit_bytes: f64,
    publish: PublishOptions,
    cancel: &CancelHandle,
) -> Promised<PatchResult> {
    let root = root.shared();
    call::long(cancel, move |cancel| {
        let (root, path, diff) = (&root, &*path, change.diff.encoded()?);
        let operation = FileOperation::of(&change.change, &diff)?;
        let (limit_bytes, (publish, seen)) = (limit_bytes.cross(), publish.split());
        FileOperationInput { root, path, operation, limit_bytes, publish: &publish }
            .run_for(seen.as_deref(), cancel)
    })
}

/// Collects what the program `apply_patch` reports of the patches of one command.
#[napi]
#[derive(Default)]
pub struct PatchReports(Arc<Reports>);

#[napi]
impl PatchReports {
    /// For one command.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the reports, once the command has ended in whichever way.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<ReportedPatch> {
        patches::of_command(&self.0).cross()
    }
}

impl PatchReports {
    pub(crate) fn shared(&self) -> Arc<Reports> {
        Arc::clone(&self.0)
    }
}

/// A patch that a command has applied, or has tried to. This is what the command says of itself.
#[napi(object, object_from_js = false)]
pub struct ReportedPatch {
    /// Where its paths begin; empty if that is not known.
    pub directory: String,
    /// The first of its files, in its order.
    pub files: Vec<FileOfPatch>,
    /// How many files it has.
    pub total: u32,
    /// Its size.
    pub bytes: f64,
    /// Its SHA-256, in hexadecimal digits; empty if that is not known.
    pub sha256: String,
    /// In milliseconds since 1970.
    pub began_ms: f64,
    /// In milliseconds since 1970; none if it was killed.
    pub ended_ms: Option<f64>,
    /// `unknown` if it was killed.
    #[napi(ts_type = "'success' | 'error' | 'unknown'")]
    pub status: &'static str,
    /// Whether the patch makes no sense or does not fit its files.
    pub is_mismatch: bool,
    /// A line for each file, or what happened.
    pub text: String,
    /// The next move after a failure.
    pub hint: Option<String>,
}

words!(PatchStatus);
cross! {
    PatchInCommand => ReportedPatch {
        directory, files, total, bytes, sha256, began_ms, ended_ms, status, is_mismatch, text, hint,
    }
}

/// Why a text of an editor is not in a file, and what to do. `name` is what the editor calls the text.
#[napi(catch_unwind)]
pub fn missing_text(content: String, old: String, name: String) -> Option<String> {
    toolwright_core::edit::missing_text(&content, &old, &name)
}
