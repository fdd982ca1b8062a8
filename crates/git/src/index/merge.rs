//! What a command has staged, beside what a person has staged meanwhile.
//!
//! All stages of a path are one value. A path that the person has not touched becomes the command's, one
//! that both have changed stays the person's and is named. What is taken is the value alone: git has
//! never seen the file, so it reads it at the next `git status`.

use std::collections::HashSet;
use std::fmt;

use super::entry::{Flags, Record, Stat};
use super::{Entry, Index, Mode, cache_tree, check, untracked};

/// How often files are left out that another index has as directories, before everything is.
const MAX_ROUNDS: usize = 4;

/// Which entries may have git expect no file.
#[derive(Clone, Copy)]
pub enum SkipWorktree<'t> {
    /// None of those of the command: the person's checkout is not sparse.
    Refused,
    /// Those of paths of which this is true: no file is there, and the checkout is sparse.
    Allowed(&'t dyn Fn(&[u8]) -> bool),
}

/// What of a command's index is taken.
#[derive(Clone, Copy)]
pub struct Terms<'t> {
    /// Whether an entry may be staged. Its object has to be there, but for an intent to add
    /// ([`EMPTY_BLOB`]), and a gitlink needs a repository that the host has written.
    ///
    /// [`EMPTY_BLOB`]: super::EMPTY_BLOB
    pub accept: &'t dyn Fn(&Entry<'_>) -> bool,
    /// Which entries may skip the work tree.
    pub skip_worktree: SkipWorktree<'t>,
    /// When the person's index was written: the seconds of its file's time of modification.
    pub written_at: i64,
}

impl fmt::Debug for Terms<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Terms").finish_non_exhaustive()
    }
}

impl Terms<'_> {
    fn may_skip(&self, path: &[u8]) -> bool {
        match self.skip_worktree {
            SkipWorktree::Refused => false,
            SkipWorktree::Allowed(may) => may(path),
        }
    }

    /// The person's stat data of an entry, in an index that is written now.
    ///
    /// Times count by seconds. A file that changed in the second in which the index was written may have
    /// changed after it, so git reads such a file, which it knows by the time of the index. A new index
    /// has another time: what says that the file is to be read is a size of zero, as git itself writes
    /// it.
    fn still_true(&self, record: &Record) -> Stat {
        let Stat(mut stat) = record.stat;
        let seconds = |at: usize| {
            let bytes = stat.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            i64::from(u32::from_be_bytes(bytes.unwrap_or_default()))
        };
        let latest = seconds(CHANGED).max(seconds(MODIFIED));
        if latest >= self.written_at && record.mode != Mode::Gitlink.number() {
            stat[SIZE..].fill(0);
        }
        Stat(stat)
    }
}

/// The index of the person with what a command has staged.
#[derive(Debug, Default)]
pub struct Merged {
    /// The whole index. It is that of the person if nothing is changed.
    pub index: Index,
    /// Whether a path has another value. Stat data alone is no reason to write an index.
    pub is_changed: bool,
    /// Paths that both have changed, and paths that are a directory for the one and a file for the other.
    /// The person's value stays.
    pub conflicts: Vec<Vec<u8>>,
    /// Paths of which an entry was not accepted. The person's value stays.
    pub refused: Vec<Vec<u8>>,
}

/// Merges what a command has changed (`snapshot` to `view`) into the person's index of now.
#[must_use]
pub fn merge(snapshot: &Index, view: &Index, host: &Index, terms: &Terms<'_>) -> Merged {
    let mut left_out: HashSet<Vec<u8>> = HashSet::new();
    for round in 0..=MAX_ROUNDS {
        let is_last = round == MAX_ROUNDS;
        let mut merge = Merge::new(snapshot, view, host, terms, &left_out, is_last);
        if merge.run().is_none() {
            continue;
        }
        let clashing = merge.clashing();
        if clashing.is_empty() || is_last {
            return merge.finish();
        }
        left_out.extend(clashing);
    }
    Merged { index: host.clone(), ..Merged::default() }
}

/// The entries of one path: the range of their records.
#[derive(Clone, Copy)]
struct Group<'i> {
    path: &'i [u8],
    records: &'i [Record],
}

/// Goes through an index path by path.
struct Groups<'i> {
    index: &'i Index,
    rest: &'i [Record],
    next: Option<Group<'i>>,
}

impl<'i> Groups<'i> {
    fn new(index: &'i Index) -> Self {
        let mut groups = Self { index, rest: &index.records, next: None };
        groups.advance();
        groups
    }

    fn advance(&mut self) {
        let Some(first) = self.rest.first() else {
            self.next = None;
            return;
        };
        let path = self.index.path(first);
        let is_conflict = first.flags.stage != 0;
        let same = |record: &&Record| self.index.path(record) == path;
        // Most paths have one entry of stage 0, and nothing is compared.
        let count = if is_conflict { self.rest.iter().take(3).take_while(same).count() } else { 1 };
        let (records, rest) = self.rest.split_at(count);
        self.next = Some(Group { path, records });
        self.rest = rest;
    }

    /// The records of a path, if it is the next one.
    fn take(&mut self, path: &[u8]) -> &'i [Record] {
        match self.next {
            Some(group) if group.path == path => {
                self.advance();
                group.records
            }
            _ => &[],
        }
    }
}

struct Merge<'m> {
    sources: [&'m Index; 3],
    terms: &'m Terms<'m>,
    left_out: &'m HashSet<Vec<u8>>,
    /// Whether nothing of the command is taken any more.
    takes_nothing: bool,
    merged: Merged,
    changed: Vec<&'m [u8]>,
    /// Whether a path is staged that was not, or no longer.
    has_other_paths: bool,
    has_new_paths: bool,
}

impl<'m> Merge<'m> {
    fn new(
        snapshot: &'m Index,
        view: &'m Index,
        host: &'m Index,
        terms: &'m Terms<'m>,
        left_out: &'m HashSet<Vec<u8>>,
        takes_nothing: bool,
    ) -> Self {
        let mut index = Index { layout: host.layout, ..Index::default() };
        index.records.reserve(host.records.len() + 64);
        index.paths.reserve(host.paths.len() + 4096);
        Self {
            sources: [snapshot, view, host],
            terms,
            left_out,
            takes_nothing,
            merged: Merged { index, ..Merged::default() },
            changed: Vec::new(),
            has_other_paths: false,
            has_new_paths: false,
        }
    }

    /// `None`: the paths have too many bytes for one file.
    fn run(&mut self) -> Option<()> {
        let [mut snapshot, mut view, mut host] = self.sources.map(Groups::new);
        loop {
            let heads = [&snapshot.next, &view.next, &host.next];
            let Some(path) = heads.into_iter().flatten().map(|group| group.path).min() else {
                return Some(());
            };
            let groups = [snapshot.take(path), view.take(path), host.take(path)];
            self.path(path, groups)?;
        }
    }

    fn path(&mut self, path: &'m [u8], [snapshot, view, host]: [&[Record]; 3]) -> Option<()> {
        let taken = self.taken(path, snapshot, view, host);
        let Some((count, records)) = taken else {
            return host.iter().try_for_each(|record| {
                let record = Record { stat: self.terms.still_true(record), ..*record };
                self.merged.index.push(path, &record)
            });
        };
        self.changed.push(path);
        self.has_new_paths |= host.is_empty();
        self.has_other_paths |= host.is_empty() != (count == 0);
        records.iter().take(count).try_for_each(|record| self.merged.index.push(path, record))
    }

    /// The records that a path gets from the view. `None`: the host's stay as they are.
    fn taken(
        &mut self,
        path: &[u8],
        snapshot: &[Record],
        view: &[Record],
        host: &[Record],
    ) -> Option<(usize, [Record; 3])> {
        if same(view, snapshot) && skips(view) == skips(snapshot) {
            return None;
        }
        if same(view, host) && skips(view) == skips(host) {
            return None;
        }
        if !same(host, snapshot) && !same(view, host) {
            // What only the person has changed is no conflict.
            if !same(view, snapshot) {
                self.merged.conflicts.push(path.to_vec());
            }
            return None;
        }
        if self.takes_nothing || self.left_out.contains(path) {
            self.merged.conflicts.push(path.to_vec());
            return None;
        }
        let may_skip = !skips(view) || self.terms.may_skip(path);
        let mut records = [EMPTY; 3];
        for (place, record) in records.iter_mut().zip(view) {
            let known = host.iter().find(|known| known.says_same(record));
            let skips_worktree = record.flags.skips_worktree && may_skip;
            if let Some(known) = known {
                let flags = Flags { skips_worktree, ..known.flags };
                *place = Record { flags, stat: self.terms.still_true(known), ..*known };
                continue;
            }
            if !(self.terms.accept)(&Entry::new(path, record)) {
                self.merged.refused.push(path.to_vec());
                return None;
            }
            let flags = Flags { skips_worktree, is_assumed_valid: false, ..record.flags };
            *place = Record { flags, stat: Stat::NONE, ..*record };
        }
        let count = view.len().min(records.len());
        let result = records.get(..count).unwrap_or_default();
        if same(result, host) && skips(result) == skips(host) {
            self.merged.refused.push(path.to_vec());
            return None;
        }
        Some((count, records))
    }

    /// Paths of the command that are a file where the person has a directory, or the other way round.
    fn clashing(&self) -> Vec<Vec<u8>> {
        if !self.has_new_paths {
            return Vec::new();
        }
        let index = &self.merged.index;
        let path = |number: usize| index.records.get(number).map(|record| index.path(record));
        // The person's own index is not judged.
        let is_taken = |path: &&[u8]| self.changed.binary_search(path).is_ok();
        let pairs = check::clashes(index, usize::MAX).into_iter();
        let taken = pairs.filter_map(|(above, below)| {
            [path(below), path(above)].into_iter().flatten().find(is_taken)
        });
        taken.map(<[u8]>::to_vec).collect()
    }

    fn finish(mut self) -> Merged {
        let [_, _, host] = self.sources;
        self.merged.is_changed = !self.changed.is_empty();
        if !self.merged.is_changed {
            self.merged.index = host.clone();
            return self.merged;
        }
        let kept = &mut self.merged.index.extensions;
        let mut directories = HashSet::new();
        for path in &self.changed {
            cache_tree::add_above(path, &mut directories);
        }
        let cache_tree = host.extensions.cache_tree.as_deref();
        kept.cache_tree = cache_tree.and_then(|it| cache_tree::invalidated(it, &directories));
        kept.resolve_undo.clone_from(&host.extensions.resolve_undo);
        kept.untracked = if self.has_other_paths {
            host.extensions.untracked.as_deref().and_then(untracked::emptied)
        } else {
            host.extensions.untracked.clone()
        };
        // It counts entries by their numbers, and would have git pass over a changed one. Git makes it
        // anew.
        kept.monitor = None;
        self.merged
    }
}

/// Where the seconds of two times and the size stand among stat data.
const CHANGED: usize = 0;
const MODIFIED: usize = 8;
const SIZE: usize = 32;

const EMPTY: Record = Record {
    start: 0,
    length: 0,
    flags: Flags {
        stage: 0,
        is_assumed_valid: false,
        skips_worktree: false,
        is_intent_to_add: false,
    },
    mode: 0,
    id: crate::object::Id::NONE,
    stat: Stat::NONE,
};

fn same(one: &[Record], other: &[Record]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.says_same(other))
}

fn skips(records: &[Record]) -> bool {
    records.iter().any(|record| record.flags.skips_worktree)
}
