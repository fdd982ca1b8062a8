//! How many files there are in the directories near the start, in bounded memory.
//!
//! A directory keeps the first of its names in order, so a tally does not depend on the order in
//! which files are counted, and the tallies of several threads can be merged.

use std::collections::{BTreeMap, BTreeSet};

/// A file or directory name.
pub(super) type Name = Box<[u8]>;

/// How many subdirectories, and how many files, a directory keeps by name: the start, a directory in
/// it, and so on. Together they bound a tally to some hundred thousand names.
const MAX_NAMES: [usize; 4] = [80, 30, 15, 8];

/// The most levels below the start that are kept by name.
pub const MAX_DEPTH: usize = MAX_NAMES.len();

/// A directory, and what is below it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct DirectoryTally {
    /// The number of files in it, at any depth.
    pub files: u64,
    /// Their total size.
    pub bytes: u64,
    /// The first of its subdirectories, in order.
    pub directories: BTreeMap<Name, DirectoryTally>,
    /// The first of its files, in order.
    pub names: BTreeSet<Name>,
}

impl DirectoryTally {
    /// Counts the file at `path`, whose first `depth` levels are kept by name.
    pub(super) fn add(&mut self, path: &[u8], bytes: u64, depth: usize) {
        let mut path = path;
        let mut here = self;
        for max in MAX_NAMES.into_iter().take(depth) {
            here.count(1, bytes);
            let Some(slash) = path.iter().position(|&byte| byte == b'/') else {
                keep_name(&mut here.names, path, max);
                return;
            };
            let Some(next) = keep(&mut here.directories, &path[..slash], max) else { return };
            here = next;
            path = &path[slash + 1..];
        }
        here.count(1, bytes);
    }

    fn count(&mut self, files: u64, bytes: u64) {
        self.files += files;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.merge_level(other, &MAX_NAMES);
    }

    fn merge_level(&mut self, other: Self, max: &[usize]) {
        self.count(other.files, other.bytes);
        let Some((&max, below)) = max.split_first() else { return };
        for name in other.names {
            keep_name(&mut self.names, &name, max);
        }
        for (name, directory) in other.directories {
            if let Some(own) = keep(&mut self.directories, &name, max) {
                own.merge_level(directory, below);
            }
        }
    }
}

/// As [`keep`], for the name of a file, which is counted once.
fn keep_name(names: &mut BTreeSet<Name>, name: &[u8], limit: usize) {
    if names.len() < limit || names.last().is_some_and(|last| name < &**last) {
        names.insert(name.into());
        if names.len() > limit {
            names.pop_last();
        }
    }
}

/// Keeps a directory if its name is among the first `limit`. A name that is not can never become one of them.
fn keep<'m>(
    names: &'m mut BTreeMap<Name, DirectoryTally>,
    name: &[u8],
    limit: usize,
) -> Option<&'m mut DirectoryTally> {
    if !names.contains_key(name) {
        if names.len() >= limit {
            let (last, _) = names.last_key_value()?;
            if name > &**last {
                return None;
            }
            names.pop_last();
        }
        names.insert(name.into(), DirectoryTally::default());
    }
    names.get_mut(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(paths: &[String], depth: usize) -> DirectoryTally {
        let mut tally = DirectoryTally::default();
        for path in paths {
            tally.add(path.as_bytes(), path.len() as u64, depth);
        }
        tally
    }

    proptest! {
        #[test]
        fn order_and_threads_change_nothing(
            mut paths in proptest::collection::hash_set("([a-p]{1,2}/){0,5}[a-z]{1,2}", 0..300)
                .prop_map(|paths| paths.into_iter().collect::<Vec<_>>()),
            at in 0.0..1.0,
            depth in 0..=MAX_DEPTH,
        ) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short list")]
            let (one, other) = paths.split_at((paths.len() as f64 * at) as usize);
            let mut merged = tally(other, depth);
            merged.merge(tally(one, depth));
            paths.sort();
            prop_assert_eq!(&merged, &tally(&paths, depth));
            prop_assert_eq!(merged.files, paths.len() as u64);
            prop_assert_eq!(merged.bytes, paths.iter().map(|path| path.len() as u64).sum::<u64>());
        }

        #[test]
        fn what_is_kept_has_exact_counts(
            paths in proptest::collection::hash_set("[a-z]{1,2}/[a-z]{1,3}", 0..300)
                .prop_map(|paths| paths.into_iter().collect::<Vec<_>>()),
        ) {
            let tally = tally(&paths, 2);
            prop_assert!(tally.directories.len() <= MAX_NAMES[0]);
            for (name, directory) in &tally.directories {
                let prefix = [name, &b"/"[..]].concat();
                let below = paths.iter().filter(|path| path.as_bytes().starts_with(&prefix)).count();
                prop_assert_eq!(directory.files, below as u64);
                prop_assert!(directory.names.len() <= MAX_NAMES[1]);
            }
        }
    }
}
