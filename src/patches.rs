//! `apply_patch`: a patch over files below a granted root, or over opened files.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::apply_patch::{
    self, AppliedPatch, ApplyPatchInput, FileOperation, FileOperationInput, Files, PatchedFile,
    Undo,
};
use toolwright_core::failure::Failure;
use toolwright_core::file::Publish;

use crate::cancel::CancelHandle;
use crate::contract::target::OpenedTarget;
use crate::grants::GrantedRoot;
use crate::job::{self, Promised};
use crate::options::{self, PublishOptions};
use crate::outcome::Outcome;
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
}

impl From<PatchedFile> for FileOfPatch {
    fn from(PatchedFile { path, kind, moved_to }: PatchedFile) -> Self {
        Self { path, change: kind.word(), moved_to }
    }
}

/// The files of a patch, in its order. No file is looked at.
#[napi(catch_unwind, ts_return_type = "Array<FileOfPatch> | Unfinished")]
pub fn plan_patch(
    #[napi(ts_arg_type = "string")] patch: TextArgument,
    limit_bytes: f64,
) -> Outcome<Vec<FileOfPatch>> {
    let files =
        patch.encoded().and_then(|patch| apply_patch::plan(&patch, options::bytes(limit_bytes)));
    Outcome::from(files.map(|files| files.into_iter().map(FileOfPatch::from).collect()))
}

/// A patch that was applied. It holds the contents of its files before and after.
#[napi]
pub struct PatchResult {
    /// What happened, for a model: a line for each file.
    #[napi(readonly)]
    pub summary: String,
    undo: Arc<Undo>,
}

impl From<AppliedPatch> for PatchResult {
    fn from(applied: AppliedPatch) -> Self {
        Self { summary: applied.summary(), undo: Arc::new(applied.undo) }
    }
}

#[napi]
impl PatchResult {
    /// Puts every file below `root` back to what it was, or none.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn undo(
        &self,
        root: &GrantedRoot,
        publish: PublishOptions,
        cancel: &CancelHandle,
    ) -> Promised<bool> {
        let (undo, root, cancel) = (Arc::clone(&self.undo), Arc::clone(&root.0), cancel.flag());
        job::long(move || {
            let publish = Publish::from(publish);
            Outcome::from(undo.run(&root, &publish, &cancel).map(|()| true))
        })
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
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        Outcome::from(patch.encoded().map_err(Into::into).and_then(|patch| {
            let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
            let files = Files::Below(&root);
            let input = ApplyPatchInput { files, patch: &patch, limit_bytes, publish };
            input.run(&cancel).map(PatchResult::from)
        }))
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
    let cancel = cancel.flag();
    job::long(move || {
        let given = targets.and_then(|targets| Ok((targets, patch.encoded()?)));
        Outcome::from(given.map_err(Into::into).and_then(|(targets, patch)| {
            let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
            let files = Files::Opened(&targets);
            let input = ApplyPatchInput { files, patch: &patch, limit_bytes, publish };
            input.run(&cancel).map(PatchResult::from)
        }))
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
    let (root, cancel) = (Arc::clone(&root.0), cancel.flag());
    job::long(move || {
        let DiffOfFile { change, diff } = change;
        Outcome::from(diff.encoded().map_err(Into::into).and_then(|diff| {
            let operation = FileOperation::of(&change, &diff)?;
            let (limit_bytes, publish) = (options::bytes(limit_bytes), &Publish::from(publish));
            let (root, path) = (&root, &*path);
            let input = FileOperationInput { root, path, operation, limit_bytes, publish };
            input.run(&cancel).map(PatchResult::from)
        }))
    })
}
