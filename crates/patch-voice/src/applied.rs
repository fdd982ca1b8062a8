//! A patch of several files: what it did, and that it did nothing.

use std::borrow::Cow;

use toolwright_fs::{ChangedFile, ChangedFiles, FsError, FsErrorKind};
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

/// What stood where a patch added a file, or moved one to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// A file.
    File {
        /// Its lines.
        lines: usize,
        /// Its size.
        bytes: usize,
    },
    /// A symbolic link, and not what it led to.
    Link,
}

impl Replaced {
    fn of(file: &ChangedFile) -> Option<Self> {
        let old = file.old.as_ref()?;
        if file.was_link {
            return Some(Self::Link);
        }
        let parts = old.split(|byte| *byte == b'\n');
        let lines = parts.count() - usize::from(old.is_empty() || old.ends_with(b"\n"));
        Some(Self::File { lines, bytes: old.len() })
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
    /// Whether it was a symbolic link, which was deleted or moved itself.
    pub is_link: bool,
    /// What stood in its place, if anything did.
    pub replaced: Option<Replaced>,
    /// What else there is to tell.
    pub notes: Vec<String>,
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
        Self::new(file.path.clone(), kind, moved_to)
    }

    /// As a patch says, before it is known what is there.
    #[must_use]
    pub fn new(path: String, kind: PatchKind, moved_to: Option<String>) -> Self {
        Self { path, kind, moved_to, is_link: false, replaced: None, notes: Vec::new() }
    }

    /// Takes over what was found at the names of the patch, and what there is to tell of its files.
    pub fn tell(files: &mut [Self], done: &ChangedFiles, notes: Vec<Vec<String>>) {
        for (file, notes) in files.iter_mut().zip(notes) {
            file.notes = notes;
        }
        for changed in &done.files {
            let Some(file) = files.get_mut(changed.change) else { continue };
            if changed.is_replaced || file.kind == PatchKind::Add {
                file.replaced = Replaced::of(changed);
            } else {
                file.is_link = changed.was_link;
            }
        }
    }

    fn line(&self, text: &mut String) {
        let Self { path, kind, moved_to, is_link, replaced, notes: _ } = self;
        text.push(char::from(kind.letter()));
        text.extend([" ", path]);
        if let Some(to) = moved_to {
            text.extend([" -> ", to]);
        }
        match (is_link, kind) {
            (true, PatchKind::Delete) => text.push_str(" (the link; what it led to stays)"),
            (true, _) => text.push_str(" (the link itself)"),
            _ => {}
        }
        match replaced {
            Some(Replaced::File { lines, bytes }) => {
                let (line, byte) = (plural(*lines, "line"), plural(*bytes, "byte"));
                text.extend([" (replaced a file of ", &line, ", ", &byte, ")"]);
            }
            Some(Replaced::Link) => text.push_str(" (replaced a link)"),
            None => {}
        }
    }
}

/// What happened: a line for each file.
#[must_use]
pub fn summary(files: &[PatchedFile]) -> String {
    let mut text = String::from("Success. Updated the following files:");
    for file in files {
        text.push('\n');
        file.line(&mut text);
    }
    for file in files {
        for note in &file.notes {
            text.extend(["\n", file.moved_to.as_ref().unwrap_or(&file.path), ": ", note]);
        }
    }
    text
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
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
