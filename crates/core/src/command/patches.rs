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
    pub status: PatchStatus,
    /// Whether the patch makes no sense or does not fit its files.
    pub is_mismatch: bool,
    /// A line for each file, or what happened.
    pub text: String,
    /// The next move after a failure.
    pub hint: Option<String>,
}

/// How a patch in a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchStatus {
    /// It was applied.
    Success,
    /// Nothing was changed.
    Error,
    /// It was killed, and may have been applied.
    Unknown,
}

impl PatchStatus {
    /// As a record has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
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
    let (status, ended_ms, is_mismatch, text, hint) = match end {
        PatchEnd::Applied { at_ms } => {
            let summary = applied::summary_of_first(&files, total);
            (PatchStatus::Success, Some(at_ms), false, summary, None)
        }
        PatchEnd::Refused { at_ms, refusal } => {
            let is_mismatch = refusal.is_mismatch == 1;
            (PatchStatus::Error, Some(at_ms), is_mismatch, refusal.what, Some(refusal.hint))
        }
        PatchEnd::Unknown => {
            (PatchStatus::Unknown, None, false, KILLED.to_owned(), Some(AFTER_KILL.to_owned()))
        }
    };
    PatchInCommand {
        directory,
        files,
        total,
        bytes,
        sha256,
        began_ms,
        ended_ms,
        status,
        is_mismatch,
        text,
        hint,
    }
}

fn file(NotedFile { path, letter, moved_to }: NotedFile) -> Option<PatchedFile> {
    Some(PatchedFile::new(path, PatchKind::of_letter(letter)?, moved_to))
}
