//! What a model has seen of files: noted when it reads and changes them, and asked before it replaces one.

mod patch;
mod placeholder;
mod witness;

use std::path::{Path, PathBuf};

pub(crate) use patch::SeenPatch;
use toolwright_fs::DirectoryGrant;
use toolwright_ledger::{Edited, Ledger, Moment, Replaced, Shown};
pub(crate) use witness::{Context, EditWitness, WriteWitness};

use crate::code::Code;
use crate::failure::{Failure, Unfinished, changes};
use crate::voice::seen as voice;

/// What happens to a call that would undo changes which the model has not been shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnseenChanges {
    /// It is refused, and shows them.
    Refuse,
    /// It is made, and shows what it has undone.
    Tell,
}

impl UnseenChanges {
    /// The choice with a name; the careful one for any other.
    #[must_use]
    pub fn of(word: &str) -> Self {
        if word == "tell" { Self::Tell } else { Self::Refuse }
    }
}

/// The files that one conversation has seen.
#[derive(Debug)]
pub struct SeenFiles {
    ledger: Ledger,
    unseen: UnseenChanges,
    has_checkpoints: bool,
    limit_bytes: usize,
}

impl SeenFiles {
    /// Of a conversation that has seen nothing. A text shows at most `limit_bytes` of a difference.
    #[must_use]
    pub fn new(unseen: UnseenChanges, has_checkpoints: bool, limit_bytes: usize) -> Self {
        Self { ledger: Ledger::default(), unseen, has_checkpoints, limit_bytes }
    }

    /// Notes that a door has shown some lines of the file at `path` below `root`.
    pub fn note_lines(
        &self,
        root: &DirectoryGrant,
        path: &str,
        text: &str,
        first: u64,
        is_end: bool,
    ) {
        let since = self.now();
        let found = root.open().ok().and_then(|root| root.locate(path).ok());
        let path = found.map(|found| found.root.join(found.relative));
        let shown = Shown::Lines { first, text: text.as_bytes(), is_end };
        self.shown(path.as_deref(), since, shown);
    }

    /// What it knows.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The moment before a file is read.
    pub(crate) fn now(&self) -> Moment {
        self.ledger.now()
    }

    /// Notes what a read has shown.
    pub(crate) fn shown(&self, path: Option<&Path>, since: Moment, shown: Shown<'_>) {
        if let Some(path) = path {
            self.ledger.shown(path, since, shown);
        }
    }

    /// Before `new` takes the place of `now`, or, without `new`, the file is removed: what a model reads about it.
    fn replace(
        &self,
        path: &Path,
        named: &str,
        now: &[u8],
        new: Option<&[u8]>,
    ) -> Result<Note, Failure> {
        Ok(match self.ledger.judge(path, now, new, self.limit_bytes) {
            Replaced::Known => Note::Nothing,
            Replaced::Never => Note::NeverRead,
            Replaced::Partly { unseen, lines } => {
                Note::Text(voice::partly_read(named, (unseen, lines), self.has_checkpoints))
            }
            Replaced::Changed(change) if self.unseen == UnseenChanges::Refuse => {
                let failure = changes::file_changed(named, &change);
                self.ledger.difference_shown(path, change);
                return Err(failure);
            }
            Replaced::Changed(change) => {
                Note::Text(voice::undone(named, change.difference.as_ref()))
            }
        })
    }

    /// Before an edit makes `after` of `before`: what it does to what is known, and what a model reads about it.
    fn edit(
        &self,
        path: &Path,
        named: &str,
        before: &[u8],
        after: &[u8],
    ) -> (Edited, Option<String>) {
        let edited = self.ledger.judge_edit(path, before, after, self.limit_bytes);
        let note = match &edited.near {
            Some(near) => Some(voice::near(named, near)),
            None => edited.is_outdated.then(|| voice::outdated(named)),
        };
        (edited, with_placeholder(note, before, after))
    }

    /// The same failure, which says that the file is not as it was read, where the text to change was looked for.
    fn of_an_old_reading(
        &self,
        path: Option<&Path>,
        now: &[u8],
        unfinished: Unfinished,
    ) -> Unfinished {
        let has_changed = |path| {
            matches!(self.ledger.judge(path, now, None, self.limit_bytes), Replaced::Changed(_))
        };
        unfinished.map(|failure| {
            let is_unfit = matches!(failure.code, Code::EditNoMatch | Code::PatchFailed);
            if !is_unfit || !path.is_some_and(has_changed) {
                return failure;
            }
            let hint = format!("{} {}", voice::CHANGED_SINCE, failure.hint);
            failure.with_hint(hint)
        })
    }

    /// Refuses an edit whose place is not certain: directly beside lines of others, or below them.
    fn check_context(
        &self,
        path: &Path,
        named: &str,
        context: Context,
        edited: &mut Edited,
    ) -> Result<(), Failure> {
        let is_uncertain = match context {
            Context::Around => false,
            Context::Text => edited.is_beside,
            Context::Line => edited.is_beside || edited.is_below,
        };
        match edited.change.take().filter(|_| is_uncertain) {
            Some(change) if self.unseen == UnseenChanges::Refuse => {
                let failure = changes::file_changed(named, &change);
                self.ledger.difference_shown(path, change);
                Err(failure)
            }
            _ => Ok(()),
        }
    }

    fn written(&self, path: Option<&PathBuf>, new: &[u8]) {
        if let Some(path) = path {
            self.ledger.written(path, new);
        }
    }
}

/// What a model reads after it has replaced a file.
enum Note {
    Nothing,
    /// It has never read what was there.
    NeverRead,
    Text(String),
}

/// A note, and that a line of the new content stands for others.
fn with_placeholder(note: Option<String>, now: &[u8], new: &[u8]) -> Option<String> {
    let placeholder = placeholder::added(now, new).map(voice::placeholder);
    match (note, placeholder) {
        (Some(note), Some(placeholder)) => Some(format!("{note}\n{placeholder}")),
        (note, placeholder) => note.or(placeholder),
    }
}
