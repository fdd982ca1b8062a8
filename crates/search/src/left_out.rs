//! What a search passes over because of the rules for names, for a reader who would otherwise take a short
//! answer for the whole one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::query::PathFilter;

/// So many are named. All are counted.
const MAX_NAMED: usize = 3;

/// Why an entry is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A rule of an ignore file is about it.
    Ignored,
    /// Its name begins with a dot.
    Hidden,
    /// It is the `.git` of a repository.
    Git,
}

/// A file or directory that a search has left out. Nothing below a directory was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its path, relative to the root.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Some of what a search has left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOuts {
    /// The first ones by path.
    pub named: Vec<LeftOut>,
    /// How many there are.
    pub total: u64,
}

impl LeftOuts {
    pub(crate) fn add(&mut self, path: &Path, why: Why, is_directory: bool) {
        self.total += 1;
        let is_full = self.named.len() == MAX_NAMED;
        if is_full && self.named.last().is_some_and(|last| *last.path <= *path) {
            return;
        }
        let at = self.named.partition_point(|one| *one.path < *path);
        self.named.insert(at, LeftOut { path: path.to_owned(), why, is_directory });
        self.named.truncate(MAX_NAMED);
    }
}

/// What the threads of a search leave out.
pub(crate) struct LeftOutLog<'a> {
    filter: &'a PathFilter<'a>,
    /// The names that the caller's patterns have in full.
    asked: HashSet<OsString>,
    all: Mutex<SearchLeftOuts>,
}

/// What a search has left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchLeftOuts {
    /// Everything, without `.git`.
    pub any: LeftOuts,
    /// What the caller's patterns name.
    pub asked: LeftOuts,
    /// What is shown because the caller's pattern is its very name.
    pub by_name: LeftOuts,
}

impl<'a> LeftOutLog<'a> {
    pub(crate) fn new(filter: &'a PathFilter<'a>, asked: HashSet<OsString>) -> Self {
        Self { filter, asked, all: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, SearchLeftOuts> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, path: &Path, why: Why, is_directory: bool) {
        if !(self.filter)(path) {
            return;
        }
        if why != Why::Git {
            self.all().any.add(path, why, is_directory);
        }
        if path.file_name().is_some_and(|name| self.asked.contains(name)) {
            self.all().asked.add(path, why, is_directory);
        }
    }

    pub(crate) fn note_shown(&self, path: &Path, why: Why) {
        if (self.filter)(path) {
            self.all().by_name.add(path, why, false);
        }
    }

    pub(crate) fn into_all(self) -> SearchLeftOuts {
        self.all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_by_path_are_named_in_any_order() {
        let mut some = LeftOuts::default();
        for path in ["e", "b", "d", "a", "c"] {
            some.add(Path::new(path), Why::Hidden, false);
        }
        let named: Vec<_> = some.named.iter().map(|one| one.path.to_str()).collect();
        assert_eq!((named, some.total), (vec![Some("a"), Some("b"), Some("c")], 5));
    }
}
