//! What patches in a command have told about themselves.

use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::patches::{self, PatchInCommand, PatchOutcome};
use toolwright_exec::PatchReports as Reports;

use crate::patches::FileOfPatch;

/// Collects what the program `apply_patch` tells of the patches of one command.
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
        patches::of_command(&self.0).into_iter().map(ReportedPatch::from).collect()
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

impl From<PatchInCommand> for ReportedPatch {
    #[expect(clippy::cast_precision_loss, reason = "a size and times, as JavaScript has them")]
    fn from(patch: PatchInCommand) -> Self {
        let (status, is_mismatch, text, hint) = match patch.outcome {
            PatchOutcome::Applied(summary) => ("success", false, summary, None),
            PatchOutcome::Refused { is_mismatch, what, hint } => {
                ("error", is_mismatch, what, Some(hint))
            }
            PatchOutcome::Unknown { what, hint } => {
                ("unknown", false, what.to_owned(), Some(hint.to_owned()))
            }
        };
        Self {
            directory: patch.directory.to_string_lossy().into_owned(),
            files: patch.files.into_iter().map(FileOfPatch::from).collect(),
            total: patch.total,
            bytes: patch.bytes as f64,
            sha256: patch.sha256,
            began_ms: patch.began_ms as f64,
            ended_ms: patch.ended_ms.map(|at| at as f64),
            status,
            is_mismatch,
            text,
            hint,
        }
    }
}
