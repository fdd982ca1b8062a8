//! Finds out why no file matched a pattern for names: files that match and are left out, a directory of that
//! name, and what similar patterns would find. Reads names only, and a bounded number of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::GrepError;
use crate::glob_text::unescaped;
use crate::ignore_rules::{ActiveRules, IgnoreRules};
use crate::left_out::{LeftOut, Why};
use crate::listing::Listing;
use crate::name_filter::{Decision, NameFilter};
use crate::query::{OpenFile, Scope};
use crate::stop_signal::StopSignal;

/// So many names are looked at among the files that a search shows, and as many among the others.
const MAX_NAMES: usize = 50_000;
/// So many files that are left out are named.
const MAX_NAMED: usize = 3;

/// A look for what a pattern without a match may have meant.
#[derive(Clone, Copy)]
pub struct SecondLook<'a> {
    /// Where the search looked.
    pub scope: &'a Scope<'a>,
    /// The pattern that matched nothing.
    pub pattern: &'a str,
    /// Other patterns that it may have meant.
    pub ways: &'a [Way],
}

/// Another pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The pattern, relative to the start.
    pub glob: String,
    /// Whether it matches names in any case.
    pub any_case: bool,
}

/// What there is beside what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nearby {
    /// The first files that match and are left out, each with the directory from which a search shows it, if
    /// there is one.
    pub left_out: Vec<(LeftOut, Option<PathBuf>)>,
    /// How many there are, as far as they were counted.
    pub left_out_total: u64,
    /// The directory whose name the pattern is, and why it is left out, if it is.
    pub directory: Option<(PathBuf, Option<Why>)>,
    /// The first file that each of the ways finds.
    pub found: Vec<Option<PathBuf>>,
}

impl SecondLook<'_> {
    /// Looks. It says what it has seen until the search has to end.
    pub fn look(&self, open: &OpenFile<'_>) -> Result<Nearby, GrepError> {
        let SecondLook { scope, pattern, ways } = *self;
        let filter = |way: &Way| NameFilter::with_case(scope.start, &[&way.glob], way.any_case);
        let halt = AtomicBool::new(false);
        let mut look = Look {
            scope,
            open,
            stop_signal: StopSignal { deadline: scope.deadline, cancel: scope.cancel, halt: &halt },
            rules: IgnoreRules::new(scope.root, open, NameFilter::none()).freeing_start(true),
            pattern: NameFilter::new(scope.start, &[pattern])?,
            ways: ways.iter().map(filter).collect::<Result<_, _>>()?,
            directory: {
                let name = pattern.trim_matches('/');
                PathBuf::from(unescaped(name).unwrap_or_else(|| name.to_owned()))
            },
            names_left: MAX_NAMES,
            outside: Vec::new(),
            nearby: Nearby { found: vec![None; ways.len()], ..Nearby::default() },
        };
        look.look_at_shown();
        look.names_left = MAX_NAMES;
        look.look_at_left_out();
        Ok(look.nearby)
    }
}

struct Look<'a> {
    scope: &'a Scope<'a>,
    open: &'a OpenFile<'a>,
    stop_signal: StopSignal<'a>,
    rules: IgnoreRules<'a>,
    pattern: NameFilter,
    ways: Vec<NameFilter>,
    /// The name of a directory that the pattern may be.
    directory: PathBuf,
    names_left: usize,
    outside: Vec<LeftOut>,
    nearby: Nearby,
}

impl Look<'_> {
    fn list(&mut self, dir: &Path) -> Option<Listing> {
        let listing = Listing::read(dir.to_owned(), self.open, false, self.stop_signal).ok()?;
        self.names_left = self.names_left.checked_sub(listing.len())?;
        Some(listing)
    }

    fn look_at_shown(&mut self) {
        let mut dirs: Vec<(PathBuf, Option<Arc<ActiveRules>>)> =
            vec![(self.scope.start.to_owned(), None)];
        while let Some((dir, above)) = dirs.pop() {
            let Some(listing) = self.list(&dir) else { continue };
            let rules = match above {
                None => self.rules.begin(&dir, listing.markers),
                Some(above) => self.rules.enter(&above, &dir, listing.markers),
            };
            for index in (0..listing.len()).rev() {
                let (path, is_directory) = (listing.path(index), listing.is_dir(index));
                if let Some(why) =
                    self.rules.left_out(&rules, &path, listing.name(index), is_directory)
                {
                    self.outside.push(LeftOut { path, why, is_directory });
                } else if is_directory {
                    self.note_directory(&path, None);
                    dirs.push((path, Some(Arc::clone(&rules))));
                } else {
                    self.try_ways(&path);
                }
            }
        }
    }

    fn try_ways(&mut self, path: &Path) {
        let is_asked = |way: &NameFilter| way.decide(path, false) != Decision::Unasked;
        for (way, found) in self.ways.iter().zip(&mut self.nearby.found) {
            let is_first = found.as_deref().is_none_or(|first| path < first);
            if is_first && is_asked(way) && (self.scope.filter)(path) {
                *found = Some(path.to_owned());
            }
        }
    }

    fn note_directory(&mut self, path: &Path, why: Option<Why>) {
        let wanted = &self.directory;
        let relative = path.strip_prefix(self.scope.start).unwrap_or(path);
        let is_it = relative == wanted
            || wanted.components().count() == 1 && path.file_name() == Some(wanted.as_os_str());
        let is_first = self.nearby.directory.as_ref().is_none_or(|(first, _)| path < first);
        if is_it && is_first && (self.scope.filter)(path) {
            self.nearby.directory = Some((path.to_owned(), why));
        }
    }

    /// Whatever is left out at one place, and everything below it.
    fn look_at_left_out(&mut self) {
        let mut outside = std::mem::take(&mut self.outside);
        outside.retain(|one| one.why != Why::Git);
        outside.sort_unstable();
        let has_directory = self.nearby.directory.is_some();
        for top in outside {
            if !top.is_directory {
                self.note_file(top, None);
                continue;
            }
            if !has_directory {
                self.note_directory(&top.path, Some(top.why));
            }
            let mut dirs: Vec<(PathBuf, Option<Arc<ActiveRules>>, bool)> =
                vec![(top.path.clone(), None, true)];
            while let Some((dir, above, is_shown)) = dirs.pop() {
                let Some(listing) = self.list(&dir) else { continue };
                let rules = match above {
                    None => self.rules.begin(&dir, listing.markers),
                    Some(above) => self.rules.enter(&above, &dir, listing.markers),
                };
                for index in (0..listing.len()).rev() {
                    let (path, is_directory) = (listing.path(index), listing.is_dir(index));
                    let why = self.rules.left_out(&rules, &path, listing.name(index), is_directory);
                    let is_shown = is_shown && why.is_none();
                    if why == Some(Why::Git) {
                        continue;
                    }
                    if is_directory {
                        dirs.push((path, Some(Arc::clone(&rules)), is_shown));
                    } else {
                        let from = is_shown.then(|| top.path.clone());
                        self.note_file(LeftOut { path, why: top.why, is_directory }, from);
                    }
                }
            }
        }
    }

    fn note_file(&mut self, file: LeftOut, from: Option<PathBuf>) {
        let is_asked = self.pattern.decide(&file.path, false) != Decision::Unasked;
        if !is_asked || !(self.scope.filter)(&file.path) {
            return;
        }
        let all = &mut self.nearby.left_out;
        self.nearby.left_out_total += 1;
        let at = all.partition_point(|(one, _)| one.path < file.path);
        all.insert(at, (file, from));
        all.truncate(MAX_NAMED);
    }
}
