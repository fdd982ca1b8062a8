//! What is counted of the files of a tree, in bounded memory.
//!
//! Each thread has a tally of its own. What they are merged to does not depend on the order in which
//! files were counted.

use std::collections::{BTreeMap, BTreeSet};

use super::directory_tally::DirectoryTally;
use super::manifest_kinds as kinds;

/// The most manifests that are read, and entry points that are named.
const MAX_MANIFESTS: usize = 40;
const MAX_ENTRY_POINTS: usize = 20;

/// A program does not begin deeper than this in a tree.
const MAX_ENTRY_POINT_DEPTH: usize = 4;

/// The names under which a directory introduces itself, the best first.
const READMES: [&str; 5] = ["readme.md", "readme.markdown", "readme.rst", "readme", "readme.txt"];

/// A number of files and their total size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many there are.
    pub files: u64,
    /// Their total size.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

#[derive(Default)]
pub(super) struct Tally {
    pub(super) tree: DirectoryTally,
    /// Files in a language, without those of dependencies.
    pub(super) languages: BTreeMap<&'static str, Count>,
    /// Files in directories that hold what others wrote.
    pub(super) dependencies: Count,
    pub(super) manifests: Nearest,
    pub(super) entry_points: Nearest,
    /// The best README at the start: its rank and its name.
    pub(super) readme: Option<(usize, Vec<u8>)>,
    /// The last directory, and the level of the directory of dependencies that it is in.
    last_directory: (Vec<u8>, Option<usize>),
}

impl Tally {
    /// Counts the file at `path`, relative to the start. Returns whether it is of a dependency.
    pub(super) fn add(&mut self, path: &[u8], bytes: u64, depth: usize) -> bool {
        let slash = path.iter().rposition(|&byte| byte == b'/');
        let (directory, name) = slash.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let dependency = self.dependency_level(directory);
        // What is in a directory of dependencies is not named.
        self.tree.add(path, bytes, dependency.map_or(depth, |level| depth.min(level)));
        if dependency.is_some() {
            self.dependencies.add(Count { files: 1, bytes });
            return true;
        }
        let levels = path.split(|&byte| byte == b'/').count() - 1;
        if kinds::is_manifest(name) {
            self.manifests.add(levels, path, MAX_MANIFESTS);
        }
        if levels <= MAX_ENTRY_POINT_DEPTH && kinds::is_entry_point(name) {
            self.entry_points.add(levels, path, MAX_ENTRY_POINTS);
        }
        if directory.is_empty()
            && let Some(rank) = readme_rank(name)
            && self.readme.as_ref().is_none_or(|best| (rank, name) < (best.0, &best.1))
        {
            self.readme = Some((rank, name.to_owned()));
        }
        false
    }

    pub(super) fn add_language(&mut self, language: &'static str, bytes: u64) {
        self.languages.entry(language).or_default().add(Count { files: 1, bytes });
    }

    fn dependency_level(&mut self, directory: &[u8]) -> Option<usize> {
        if self.last_directory.0 != directory {
            let mut names = directory.split(|&byte| byte == b'/');
            let level = names.position(kinds::holds_dependencies).map(|index| index + 1);
            self.last_directory = (directory.to_owned(), level);
        }
        self.last_directory.1
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.tree.merge(other.tree);
        for (language, count) in other.languages {
            self.languages.entry(language).or_default().add(count);
        }
        self.dependencies.add(other.dependencies);
        self.manifests.merge(other.manifests, MAX_MANIFESTS);
        self.entry_points.merge(other.entry_points, MAX_ENTRY_POINTS);
        self.readme = [self.readme.take(), other.readme].into_iter().flatten().min();
    }
}

fn readme_rank(name: &[u8]) -> Option<usize> {
    READMES.iter().position(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

/// The paths nearest to the start, then first in order, and how many there are.
#[derive(Default)]
pub(super) struct Nearest {
    pub(super) total: u64,
    paths: BTreeSet<(usize, Vec<u8>)>,
}

impl Nearest {
    fn add(&mut self, levels: usize, path: &[u8], limit: usize) {
        self.total += 1;
        let is_later = |last: &(usize, Vec<u8>)| (levels, path) > (last.0, &last.1);
        if self.paths.len() < limit || !self.paths.last().is_some_and(is_later) {
            self.keep((levels, path.to_owned()), limit);
        }
    }

    fn keep(&mut self, path: (usize, Vec<u8>), limit: usize) {
        self.paths.insert(path);
        if self.paths.len() > limit {
            self.paths.pop_last();
        }
    }

    fn merge(&mut self, other: Self, limit: usize) {
        self.total += other.total;
        for path in other.paths {
            self.keep(path, limit);
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.paths.iter().map(|(_, path)| path.as_slice())
    }
}
