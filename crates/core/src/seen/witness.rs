//! Writes and edits of one file by a model that has seen something of it.

use std::path::{Path, PathBuf};

use toolwright_fs::{Present, Witness};
use toolwright_ledger::Edited;

use super::{Note, SeenFiles, with_placeholder};
use crate::failure::Unfinished;
use crate::voice::seen as voice;

/// A whole-file write.
pub(crate) struct WriteWitness<'a, M> {
    seen: &'a SeenFiles,
    named: &'a str,
    /// Makes the content, from what is there.
    make: M,
    path: Option<PathBuf>,
    new: Vec<u8>,
    /// What a model reads after the write.
    pub(crate) note: Option<String>,
}

impl<'a, M: FnMut(Present<'_>) -> Vec<u8>> WriteWitness<'a, M> {
    pub(crate) fn new(seen: &'a SeenFiles, named: &'a str, make: M) -> Self {
        Self { seen, named, make, path: None, new: Vec::new(), note: None }
    }
}

impl<M: FnMut(Present<'_>) -> Vec<u8>> Witness for WriteWitness<'_, M> {
    type Refusal = Unfinished;

    fn decide(&mut self, path: Option<&Path>, present: Present<'_>) -> Result<Vec<u8>, Unfinished> {
        let new = (self.make)(present);
        let Self { seen, named, .. } = *self;
        self.note = match (path, present) {
            (Some(path), Present::Content(now)) => {
                let note = match seen.replace(path, named, now, Some(&new))? {
                    Note::Nothing => None,
                    Note::NeverRead => voice::never_read(named, now, seen.has_checkpoints),
                    Note::Text(text) => Some(text),
                };
                with_placeholder(note, now, &new)
            }
            (_, Present::Unread { bytes }) => {
                Some(voice::not_compared(named, bytes, seen.has_checkpoints))
            }
            _ => None,
        };
        self.path = path.map(Path::to_owned);
        self.new.clone_from(&new);
        Ok(new)
    }

    fn published(&mut self) {
        self.seen.written(self.path.as_ref(), &self.new);
    }
}

/// What ties an edit to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// Lines around it, or a text that the model chose to be unique.
    Around,
    /// Nothing but the text that it replaces.
    Text,
    /// The number of a line.
    Line,
}

/// A change of a part of an existing file.
pub(crate) struct EditWitness<'a, T> {
    seen: &'a SeenFiles,
    named: &'a str,
    transform: Option<T>,
    context: Context,
    edited: Option<(PathBuf, Edited)>,
    /// What a model reads after the edit.
    pub(crate) note: Option<String>,
}

impl<'a, T> EditWitness<'a, T> {
    pub(crate) fn new(seen: &'a SeenFiles, named: &'a str, context: Context, transform: T) -> Self {
        Self { seen, named, transform: Some(transform), context, edited: None, note: None }
    }
}

impl<T: FnOnce(&[u8]) -> Result<Vec<u8>, Unfinished>> Witness for EditWitness<'_, T> {
    type Refusal = Unfinished;

    fn decide(&mut self, path: Option<&Path>, present: Present<'_>) -> Result<Vec<u8>, Unfinished> {
        let now = match present {
            Present::Content(now) => now,
            Present::Missing | Present::Unread { .. } => &[],
        };
        let Some(transform) = self.transform.take() else { return Ok(now.to_vec()) };
        let new = transform(now).map_err(|error| self.seen.of_an_old_reading(path, now, error))?;
        if let Some(path) = path {
            let (mut edited, note) = self.seen.edit(path, self.named, now, &new);
            self.seen.check_context(path, self.named, self.context, &mut edited)?;
            self.note = note;
            self.edited = Some((path.to_owned(), edited));
        }
        Ok(new)
    }

    fn published(&mut self) {
        if let Some((path, edited)) = self.edited.take() {
            self.seen.ledger.edited(&path, edited);
        }
    }
}
