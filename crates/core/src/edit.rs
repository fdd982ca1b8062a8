//! `edit`: a change of one existing file, as a unified diff or as a text replaced by another.

use std::sync::atomic::AtomicBool;

use toolwright_fs::{FsError, UpdateError};
use toolwright_patch::{PatchError, ReplaceError};

use crate::failure::{Unfinished, changes};
use crate::file::{File, Publish};

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
    /// The line of the first one, from one.
    pub line: usize,
}

/// Why a change cannot be made.
enum Refused {
    Patch(PatchError),
    Replacement(ReplaceError),
}

impl Change<'_> {
    /// Refuses a change that is too large, before the file is looked at.
    fn check_size(self, limit_bytes: u64) -> Result<(), Unfinished> {
        let is_too_large = |text: &str| text.len() as u64 > limit_bytes;
        match self {
            Self::Patch { diff, .. } if is_too_large(diff) => {
                Err(changes::patch_too_large(diff, limit_bytes).into())
            }
            Self::Patch { .. } => Ok(()),
            Self::Replacement { old, new, .. } => {
                let texts = [("old_string", old), ("new_string", new)];
                match texts.into_iter().find(|(_, text)| is_too_large(text)) {
                    Some((name, text)) => {
                        Err(changes::content_too_large(name, text, limit_bytes).into())
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn apply(self, old_bytes: &[u8], limit_bytes: u64) -> Result<(Vec<u8>, Edited), Refused> {
        match self {
            Self::Patch { diff, by_content } => {
                let apply = if by_content {
                    toolwright_patch::apply_by_content
                } else {
                    toolwright_patch::apply
                };
                let applied = apply(old_bytes, diff).map_err(Refused::Patch)?;
                let edited = Edited { summary: Some(applied.summary()), ..Edited::default() };
                Ok((applied.bytes, edited))
            }
            Self::Replacement { old, new, all } => {
                let replaced = toolwright_patch::replace(old_bytes, old, new, all, limit_bytes)
                    .map_err(Refused::Replacement)?;
                let (replacements, line) = (replaced.replacements, replaced.line);
                Ok((replaced.bytes, Edited { summary: None, replacements, line }))
            }
        }
    }
}

impl EditInput<'_> {
    /// Changes the file. The size of the change is judged before the path is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Edited, Unfinished> {
        let Self { file, change, limit_bytes, publish } = *self;
        change.check_size(limit_bytes).map_err(|error| file.unfinished(error))?;
        let mut edited = Edited::default();
        let updated = file.update(limit_bytes, publish, cancel, |old| {
            let (bytes, what) = change.apply(old, limit_bytes)?;
            edited = what;
            Ok::<_, Refused>(bytes)
        });
        match updated {
            Ok(()) => Ok(edited),
            Err(UpdateError::Fs(error)) => Err(file.unfinished(error)),
            Err(UpdateError::Refused(refused)) => {
                Err(file.unfinished(refused.unfinished(file.display_path())))
            }
        }
    }
}

impl Refused {
    fn unfinished(self, path: &str) -> Unfinished {
        let path = || path.to_owned();
        match self {
            Self::Patch(error) => changes::patch_failed(&path(), &error).into(),
            // A result that cannot be made fails like a file that is too large to hold.
            Self::Replacement(ReplaceError::TooLarge { bytes, limit }) => {
                FsError::TooLarge { path: path(), bytes, limit, result: true }.into()
            }
            Self::Replacement(ReplaceError::NoMemory { .. }) => {
                let source = std::io::ErrorKind::OutOfMemory.into();
                FsError::Io { path: path(), operation: "making the new content", source }.into()
            }
            Self::Replacement(error) => changes::not_replaced(&path(), &error).into(),
        }
    }
}
