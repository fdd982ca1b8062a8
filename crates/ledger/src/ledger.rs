//! The ledger of one conversation.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::edit::Edited;
use crate::entry::{Entry, Shown};
use crate::judge::{Change, Replaced};
use crate::known::Known;
use crate::lines::shown_text;
use crate::record;

/// The most files. Those that were used longest ago are forgotten.
const MAX_FILES: usize = 4096;
/// The most bytes of texts. Of files that were used longest ago only a hash is kept.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// What one conversation has been shown. Every path is a real path: absolute, without links.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Files>);

/// A moment in the life of a ledger.
#[derive(Debug, Clone, Copy)]
pub struct Moment(u64);

#[derive(Debug, Default)]
struct Files {
    entries: HashMap<PathBuf, Entry>,
    /// Counts what is noted.
    clock: u64,
    text_bytes: usize,
    /// The files that [`Ledger::take_record`] has not named yet.
    unrecorded: BTreeSet<PathBuf>,
}

impl Ledger {
    /// The moment before a file is read.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.files().clock)
    }

    /// Notes what a read has shown. A change that the model has made since the read began is newer.
    pub fn shown(&self, path: &Path, since: Moment, shown: Shown<'_>) {
        let mut files = self.files();
        if files.entries.get(path).is_some_and(|entry| entry.changed > since.0) {
            return;
        }
        let mut entry = files.take(path).unwrap_or_default();
        entry.add(shown);
        files.put(path, entry, false);
    }

    /// What is lost when `new` takes the place of `now`, or, without `new`, when the file is removed.
    #[must_use]
    pub fn judge(
        &self,
        path: &Path,
        now: &[u8],
        new: Option<&[u8]>,
        limit_bytes: usize,
    ) -> Replaced {
        let entry = self.known(path);
        // Without the lock: comparing texts takes its time.
        entry.map_or(Replaced::Never, |entry| {
            entry.judge(&shown_text(now), new.map(shown_text).as_deref(), limit_bytes)
        })
    }

    /// Notes that a difference was shown. Of one that is not complete nothing is noted.
    pub fn difference_shown(&self, path: &Path, change: Change) {
        if change.is_shown() {
            let mut files = self.files();
            files.take(path);
            files.put(path, change.then, false);
        }
    }

    /// What others have changed around an edit that makes `after` of `before`.
    #[must_use]
    pub fn judge_edit(
        &self,
        path: &Path,
        before: &[u8],
        after: &[u8],
        limit_bytes: usize,
    ) -> Edited {
        let entry = self.known(path);
        entry.map_or_else(Edited::default, |entry| {
            entry.edit(&shown_text(before), &shown_text(after), limit_bytes)
        })
    }

    /// Notes an edit that was made.
    pub fn edited(&self, path: &Path, edited: Edited) {
        let Some(entry) = edited.then else { return };
        let mut files = self.files();
        files.take(path);
        files.put(path, entry, true);
    }

    /// Notes that the model has made `new` the content of a file. What it has removed is empty.
    pub fn written(&self, path: &Path, new: &[u8]) {
        let mut files = self.files();
        files.take(path);
        files.put(path, Entry::of(&shown_text(new)), true);
    }

    /// Forgets a file: it is as one that was never read.
    pub fn forget(&self, path: &Path) {
        let mut files = self.files();
        if files.take(path).is_some() {
            files.put(path, Entry::default(), true);
        }
    }

    /// What was noted since the last call, for a journal; `None` if that is nothing.
    #[must_use]
    pub fn take_record(&self) -> Option<String> {
        let mut files = self.files();
        let paths = std::mem::take(&mut files.unrecorded);
        let noted = paths.iter().filter_map(|path| {
            let entry = files.entries.get(path)?;
            Some((path, entry.used, entry.whole.as_ref().and_then(Known::hash)))
        });
        record::write(noted)
    }

    /// Takes what earlier calls of [`Self::take_record`] gave, in any order. Files that are known already stay as they are.
    pub fn restore<'a>(&self, records: impl IntoIterator<Item = &'a str>) {
        let mut files = self.files();
        for (path, (used, hash)) in record::read(records) {
            files.clock = files.clock.max(used);
            if let Some(hash) = hash
                && !files.entries.contains_key(&path)
            {
                let whole = Some(Known::Hash(hash));
                files.entries.insert(path, Entry { whole, used, ..Entry::default() });
            }
        }
        files.forget();
    }

    /// How many files it knows, and how many bytes of their texts it keeps.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let files = self.files();
        (files.entries.len(), files.text_bytes)
    }

    fn known(&self, path: &Path) -> Option<Entry> {
        self.files().entries.get(path).filter(|entry| !entry.is_empty()).cloned()
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn take(&mut self, path: &Path) -> Option<Entry> {
        let entry = self.entries.remove(path)?;
        self.text_bytes -= entry.bytes();
        Some(entry)
    }

    fn put(&mut self, path: &Path, mut entry: Entry, is_own: bool) {
        self.clock += 1;
        entry.used = self.clock;
        if is_own {
            entry.changed = self.clock;
        }
        self.text_bytes += entry.bytes();
        self.entries.insert(path.to_owned(), entry);
        self.unrecorded.insert(path.to_owned());
        self.forget();
    }

    /// Keeps within the limits, with some room for what comes next.
    fn forget(&mut self) {
        if self.text_bytes <= MAX_TEXT_BYTES && self.entries.len() <= MAX_FILES {
            return;
        }
        let mut oldest: Vec<(u64, PathBuf)> =
            self.entries.iter().map(|(path, entry)| (entry.used, path.clone())).collect();
        oldest.sort_unstable();
        let too_many = self.entries.len() > MAX_FILES;
        let surplus = if too_many { self.entries.len() - MAX_FILES * 3 / 4 } else { 0 };
        for (index, (_, path)) in oldest.iter().enumerate() {
            if index < surplus {
                self.take(path);
                self.unrecorded.remove(path);
            } else if self.text_bytes > MAX_TEXT_BYTES * 3 / 4 {
                if let Some(mut entry) = self.take(path) {
                    entry.shorten();
                    self.entries.insert(path.clone(), entry);
                }
            } else {
                break;
            }
        }
    }
}
