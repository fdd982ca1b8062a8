//! Which entries a search ignores, for walks of other crates.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;

use crate::ignore_files::Markers;
use crate::ignore_rules::{ActiveRules, IgnoreRules};
use crate::name_filter::NameFilter;
use crate::query::OpenFile;

/// The rules of the ignore files in and above a tree, as a search obeys them.
///
/// A hidden name is an entry like any other here: `rg --hidden`.
pub struct Ignores<'a>(IgnoreRules<'a>);

/// The rules that apply in one directory.
#[derive(Clone)]
pub struct ActiveIgnores(Arc<ActiveRules>);

/// The names in a directory that are those of ignore files or repositories.
#[derive(Debug, Default, Clone, Copy)]
pub struct IgnoreMarkers(Markers);

impl IgnoreMarkers {
    /// Takes note of an entry, whatever it is.
    pub fn note(&mut self, name: &OsStr) {
        self.0.note(name.as_encoded_bytes());
    }
}

impl<'a> Ignores<'a> {
    /// The rules of a tree at `root`, whose files `open` opens.
    #[must_use]
    pub fn new(root: &'a Path, open: &'a OpenFile<'a>) -> Self {
        Self(IgnoreRules::new(root, open, NameFilter::none()))
    }

    /// The rules in the root, which has `markers`.
    #[must_use]
    pub fn begin(&self, markers: IgnoreMarkers) -> ActiveIgnores {
        ActiveIgnores(self.0.begin(Path::new(""), markers.0))
    }

    /// The rules in `directory`, which has `markers`, where `above` are those of its parent.
    #[must_use]
    pub fn enter(
        &self,
        above: &ActiveIgnores,
        directory: &Path,
        markers: IgnoreMarkers,
    ) -> ActiveIgnores {
        ActiveIgnores(self.0.enter(&above.0, directory, markers.0))
    }

    /// Whether the rules of a directory ignore `path`, an entry of it.
    #[must_use]
    pub fn ignores(&self, active: &ActiveIgnores, path: &Path, is_directory: bool) -> bool {
        matches!(self.0.matched(&active.0, path, is_directory), Match::Ignore(()))
    }
}
