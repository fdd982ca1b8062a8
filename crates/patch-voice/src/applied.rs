//! A patch of several files: what it did, and that it did nothing.

use std::borrow::Cow;

use toolwright_fs::{FsError, FsErrorKind};
use toolwright_patch::{FileChange, FilePatch, PatchError};

use crate::files;

/// What a patch does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// Creates it.
    Add,
    /// Changes its content.
    Update,
    /// Deletes it.
    Delete,
    /// Moves it, and may change its content.
    Move,
}

impl PatchKind {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }

    /// What the line of a file begins with.
    #[must_use]
    pub fn letter(self) -> u8 {
        match self {
            Self::Add => b'A',
            Self::Update => b'M',
            Self::Delete => b'D',
            Self::Move => b'R',
        }
    }

    /// The kind of that letter.
    #[must_use]
    pub fn of_letter(letter: u8) -> Option<Self> {
        let all = [Self::Add, Self::Update, Self::Delete, Self::Move];
        all.into_iter().find(|kind| kind.letter() == letter)
    }
}

/// A file that a patch names, and what it does to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The file, as the patch names it.
    pub path: String,
    /// What happens to it.
    pub kind: PatchKind,
    /// Its new path, if it is moved.
    pub moved_to: Option<String>,
}

impl PatchedFile {
    /// What a part of a patch does.
    #[must_use]
    pub fn of(file: &FilePatch<'_>) -> Self {
        let (kind, moved_to) = match &file.change {
            FileChange::Create { .. } => (PatchKind::Add, None),
            FileChange::Update { move_to: None } => (PatchKind::Update, None),
            FileChange::Update { move_to: Some(to) } => (PatchKind::Move, Some(to.clone())),
            FileChange::Delete => (PatchKind::Delete, None),
        };
        Self { path: file.path.clone(), kind, moved_to }
    }
}

/// What happened: a line for each file.
#[must_use]
pub fn summary(files: &[PatchedFile]) -> String {
    let mut text = String::from("Success. Updated the following files:");
    for PatchedFile { path, kind, moved_to } in files {
        text.push('\n');
        text.push(char::from(kind.letter()));
        text.extend([" ", path]);
        if let Some(to) = moved_to {
            text.extend([" -> ", to]);
        }
    }
    text
}

/// The same where only the first of `total` files are known.
#[must_use]
pub fn summary_of_first(files: &[PatchedFile], total: u32) -> String {
    let mut text = summary(files);
    let more = usize::try_from(total).unwrap_or(usize::MAX).saturating_sub(files.len());
    if more > 0 {
        text.extend(["\nand ", &more.to_string(), " more"]);
    }
    text
}

/// What a patch that was not applied begins with.
pub const FAILED: &str = "Failed to apply patch";

/// A patch that was not applied, the file that it does not fit, and why.
#[must_use]
pub fn failed(path: Option<&str>, error: &PatchError) -> String {
    match path {
        Some(path) => format!("{FAILED}: `{path}`: {error}"),
        None => format!("{FAILED}: {error}"),
    }
}

/// In front of the next move after a patch of several files.
pub const NO_FILE_CHANGED: &str = "No file was changed.";

const NOT_ONE_STEP: &str = "No file was changed. Leave this file out of the patch and change it alone, or have the cause fixed.";

/// That no file was changed, and the next move.
#[must_use]
pub fn after_no_change(hint: &str) -> String {
    format!("{NO_FILE_CHANGED} {hint}").trim_end().to_owned()
}

/// The file of a patch that does not fit, if it is known, and why. `path` is the one that was being
/// changed.
#[must_use]
pub fn failed_file<'a>(
    path: Option<&'a str>,
    error: &'a PatchError,
) -> (Option<&'a str>, &'a PatchError) {
    match error {
        PatchError::InFile { path, error } => (Some(path), error),
        error => (path, error),
    }
}

/// The next move after a file that refused a whole patch; `None` where [`files::hint`] says everything.
#[must_use]
pub fn refused(error: &FsError) -> Option<Cow<'static, str>> {
    Some(match &error.kind {
        FsErrorKind::NotReplaceable { .. } => NOT_ONE_STEP.into(),
        // The other hints say it themselves, or that it is not so.
        FsErrorKind::PathInvalid { .. }
        | FsErrorKind::Escape { .. }
        | FsErrorKind::Protected { .. }
        | FsErrorKind::Git { .. }
        | FsErrorKind::Reserved
        | FsErrorKind::NotFound
        | FsErrorKind::NotAFile { .. }
        | FsErrorKind::NotADirectory
        | FsErrorKind::Permission { .. }
        | FsErrorKind::Busy { .. } => after_no_change(files::hint(error)).into(),
        _ => return None,
    })
}

/// The most files of a patch.
pub const MAX_FILES: usize = 10_000;
