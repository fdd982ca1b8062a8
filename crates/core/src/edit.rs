//! `edit`: a change of one existing file, as a unified diff or as a text replaced by another.

use std::sync::atomic::AtomicBool;

use toolwright_fs::is_binary;
use toolwright_patch::{PatchError, ReplaceError};

use crate::failure::{Failure, Unfinished, changes, files};
use crate::file::{File, Publish};
use crate::notebook;
use crate::seen::{Context, EditWitness, SeenFiles};
use crate::voice::patches;

/// A file and how it is to be changed.
#[derive(Debug, Clone, Copy)]
pub struct EditInput<'a> {
    /// The file, which has to exist.
    pub file: File<'a>,
    /// The change.
    pub change: Change<'a>,
    /// The most bytes of the change, and of the file before and after it.
    pub limit_bytes: u64,
    /// How the file is published.
    pub publish: &'a Publish,
}

/// A change of a file.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// A unified diff is applied.
    Patch {
        /// The diff.
        diff: &'a str,
        /// A hunk whose header has no line numbers or wrong counts goes where it fits.
        by_content: bool,
    },
    /// A text is replaced by another, literally.
    Replacement {
        /// The text to look for.
        old: &'a str,
        /// The text to put in its place.
        new: &'a str,
        /// Every occurrence, and not only a single one.
        all: bool,
    },
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edited {
    /// Where the hunks of a patch landed, for a model.
    pub summary: Option<String>,
    /// How many places were replaced.
    pub replacements: usize,
    /// What a model should know of changes of others.
    pub note: Option<String>,
}

impl Change<'_> {
    /// Refuses a change that is too large, before the file is looked at.
    fn check_size(self, limit_bytes: u64) -> Result<(), Failure> {
        let is_too_large = |text: &str| text.len() as u64 > limit_bytes;
        let texts = match self {
            Self::Patch { diff, .. } if is_too_large(diff) => {
                return Err(changes::patch_too_large(diff, limit_bytes));
            }
            Self::Patch { .. } => return Ok(()),
            Self::Replacement { old, new, .. } => [("old_string", old), ("new_string", new)],
        };
        match texts.into_iter().find(|(_, text)| is_too_large(text)) {
            Some((name, text)) => Err(changes::content_too_large(name, text, limit_bytes)),
            None => Ok(()),
        }
    }

    /// Applies the change to what a model is shown of the file at `path`.
    fn apply(
        self,
        content: &[u8],
        path: &str,
        limit_bytes: u64,
    ) -> Result<(Vec<u8>, Edited), Unfinished> {
        match self {
            Self::Patch { diff, by_content } => {
                let apply = if by_content {
                    toolwright_patch::apply_by_content
                } else {
                    toolwright_patch::apply
                };
                let applied =
                    apply(content, diff).map_err(|error| not_applied(path, diff, &error))?;
                let summary = Some(applied.summary());
                Ok((applied.bytes, Edited { summary, ..Edited::default() }))
            }
            Self::Replacement { old, new, all } => {
                let replaced = toolwright_patch::replace(content, old, new, all, limit_bytes)
                    .map_err(|error| match error {
                        ReplaceError::NotFound { .. } if is_binary(content) => {
                            files::binary_file(path, content.len() as u64, content).into()
                        }
                        error => changes::not_replaced(path, &error),
                    })?;
                let replacements = replaced.replacements;
                Ok((replaced.bytes, Edited { replacements, ..Edited::default() }))
            }
        }
    }
}

fn not_applied(path: &str, diff: &str, error: &PatchError) -> Failure {
    let failure = changes::patch_failed(path, error);
    let escaped = patches::escaped_hint(diff).map(str::to_owned);
    let hint = escaped.or_else(|| patches::other_file_hint(diff, path, error));
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

impl EditInput<'_> {
    /// The most bytes of the file, before and after.
    fn file_limit(&self) -> u64 {
        notebook::file_limit(self.publish, self.file.display_path(), self.limit_bytes)
    }

    /// What the file becomes, and what was changed. The change is one of what a model is shown of the file.
    fn changed(&self, content: &[u8]) -> Result<(Vec<u8>, Edited), Unfinished> {
        let Self { file, change, limit_bytes, publish } = *self;
        let path = file.display_path();
        notebook::changed(publish, path, content, |shown| change.apply(shown, path, limit_bytes))
    }

    /// Changes the file. The size of the change is judged before the path is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Edited, Unfinished> {
        let Self { file, change, limit_bytes, publish } = *self;
        change.check_size(limit_bytes).map_err(|error| file.unfinished(error))?;
        let mut edited = Edited::default();
        file.update(self.file_limit(), publish, cancel, |content| {
            let (bytes, what) = self.changed(content)?;
            edited = what;
            Ok(bytes)
        })?;
        Ok(edited)
    }

    /// As [`Self::run`], by a model that has seen something of the file: it is told of changes of others near its own.
    pub fn run_seen(&self, seen: &SeenFiles, cancel: &AtomicBool) -> Result<Edited, Unfinished> {
        let Self { file, change, limit_bytes, publish } = *self;
        change.check_size(limit_bytes).map_err(|error| file.unfinished(error))?;
        let mut edited = Edited::default();
        let mut witness =
            EditWitness::new(seen, file.display_path(), Context::Around, |content: &[u8]| {
                let (bytes, what) = self.changed(content)?;
                edited = what;
                Ok(bytes)
            });
        file.update_witnessed(self.file_limit(), publish, cancel, &mut witness)?;
        let note = witness.note;
        Ok(Edited { note, ..edited })
    }
}

/// Why a text of an editor is not in a file, and what to do; `None` where nothing in the file is near it. `name` is what
/// the editor calls the text.
#[must_use]
pub fn missing_text(content: &str, old: &str, name: &str) -> Option<String> {
    let limit = content.len() as u64;
    let error = toolwright_patch::replace(content.as_bytes(), old, "", false, limit).err()?;
    let ReplaceError::NotFound { candidates, reading, .. } = &error else { return None };
    if candidates.is_empty() && reading.is_none() {
        return None;
    }
    let (summary, text) = (error.summary(), error.to_string());
    let why = text.strip_prefix(&summary)?.trim_start_matches([':', ';', ' ']);
    let next = patches::replacement_hint(&error);
    Some(format!("{}. {next}", capitalised(why)).replace("old_string", name))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
