//! What the patches of a command report about themselves, for the record of the call.

use std::path::PathBuf;

use toolwright_exec::{NotedFile, PatchEnd, PatchReport, PatchReports};
use toolwright_patch_voice::applied::{self, PatchKind, PatchedFile};

/// A patch that a command has applied, or has tried to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchInCommand {
    /// Where its paths begin; empty if that is not known.
    pub directory: PathBuf,
    /// The first of its files, in its order.
    pub files: Vec<PatchedFile>,
    /// How many files it has.
    pub total: u32,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256; empty if that is not known.
    pub sha256: String,
    /// In milliseconds since 1970.
    pub began_ms: u64,
    /// In milliseconds since 1970; `None` if it was killed.
    pub ended_ms: Option<u64>,
    /// How it ended.
    pub outcome: PatchOutcome,
}

/// How a patch in a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchOutcome {
    /// It was applied: a line for each file.
    Applied(String),
    /// Nothing was changed.
    Refused {
        /// Whether the patch makes no sense or does not fit its files.
        is_mismatch: bool,
        /// What happened.
        what: String,
        /// The next move.
        hint: String,
    },
    /// It was killed, and may have been applied.
    Unknown {
        /// What happened.
        what: &'static str,
        /// The next move.
        hint: &'static str,
    },
}

const KILLED: &str = "The patch was stopped before it was known how far it had come";
const AFTER_KILL: &str = "The next change of a file in that directory finishes or undoes it. Look at the files before applying it again.";

/// Takes the reports of a command that has ended.
#[must_use]
pub fn of_command(reports: &PatchReports) -> Vec<PatchInCommand> {
    reports.take().into_iter().map(patch).collect()
}

fn patch(report: PatchReport) -> PatchInCommand {
    let PatchReport { directory, bytes, sha256, files, total, began_ms, end } = report;
    let files: Vec<PatchedFile> = files.into_iter().filter_map(file).collect();
    let (ended_ms, outcome) = match end {
        PatchEnd::Applied { at_ms } => {
            (Some(at_ms), PatchOutcome::Applied(applied::summary_of_first(&files, total)))
        }
        PatchEnd::Refused { at_ms, refusal } => {
            let is_mismatch = refusal.is_mismatch == 1;
            let outcome =
                PatchOutcome::Refused { is_mismatch, what: refusal.what, hint: refusal.hint };
            (Some(at_ms), outcome)
        }
        PatchEnd::Unknown => (None, PatchOutcome::Unknown { what: KILLED, hint: AFTER_KILL }),
    };
    PatchInCommand { directory, files, total, bytes, sha256, began_ms, ended_ms, outcome }
}

fn file(NotedFile { path, letter, moved_to }: NotedFile) -> Option<PatchedFile> {
    Some(PatchedFile { path, kind: PatchKind::of_letter(letter)?, moved_to })
}
