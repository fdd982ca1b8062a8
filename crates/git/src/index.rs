//! Git's index: read as git reads it, merged path by path, and written anew.
//!
//! An index tells more than which versions of files are staged. Stat data has git take a file for
//! unchanged without reading it, a cache tree has it commit a tree without looking at the entries, and
//! some bits hide files from `git status`. A command chooses all of these freely in its own index, so
//! none of them is believed: an [`Index`] of a command has paths, modes, names of objects and stages, and
//! nothing else.

mod cache_tree;
mod check;
mod entry;
mod ewah;
mod merge;
mod parse;
mod sparse;
mod split;
mod untracked;
mod write;

use std::fmt;

pub use self::entry::{Entry, Mode};
pub use self::merge::{Merged, SkipWorktree, Terms, merge};
pub use self::parse::{IndexError, Limits, Reading, Source};

use self::entry::Record;
use crate::object::Id;

/// The name of an empty file. Git knows it without having it, and an entry that only intends to add a
/// file has it.
pub const EMPTY_BLOB: Id = Id::new([
    0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2,
    0xe4, 0x8c, 0x53, 0x91,
]);

/// What is staged: entries in the order of their paths and stages.
///
/// The default is an index without entries, which git does not distinguish from a missing file.
#[derive(Clone, Default)]
pub struct Index {
    /// All paths one behind the other: one allocation in the place of one for each entry.
    paths: Vec<u8>,
    records: Vec<Record>,
    extensions: Extensions,
    layout: Layout,
}

/// How a person's index is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Layout {
    /// Each path shares its beginning with the one before it.
    is_prefixed: bool,
    /// With `index.skipHash`, zeros are in the place of the checksum.
    is_without_checksum: bool,
}

/// The extensions that are kept, as git wrote them for a person.
#[derive(Clone, Default)]
struct Extensions {
    /// `TREE`: the names of trees that the entries would make.
    cache_tree: Option<Vec<u8>>,
    /// `REUC`: the stages of conflicts that have been resolved.
    resolve_undo: Option<Vec<u8>>,
    /// `UNTR`: untracked files, and the stat data of their directories.
    untracked: Option<Vec<u8>>,
    /// `FSMN`: which entries are to be looked at, by their numbers.
    monitor: Option<Vec<u8>>,
}

impl Index {
    /// Its entries, in their order.
    #[must_use]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.records.iter().map(|record| self.entry(record))
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The entries of one path: one of stage 0, or up to three of the stages of a conflict.
    pub fn stages<'i>(&'i self, path: &'i [u8]) -> impl Iterator<Item = Entry<'i>> {
        let first = self.records.partition_point(|record| self.path(record) < path);
        let rest = self.records.get(first..).unwrap_or_default();
        rest.iter().map(|record| self.entry(record)).take_while(move |entry| entry.path() == path)
    }

    fn entry<'i>(&'i self, record: &'i Record) -> Entry<'i> {
        Entry::new(self.path(record), record)
    }

    fn path(&self, record: &Record) -> &[u8] {
        let start = record.start as usize;
        self.paths.get(start..start + usize::from(record.length)).unwrap_or_default()
    }

    /// Adds an entry with the path of another index. `None`: there are too many bytes of paths for one
    /// file.
    fn push(&mut self, path: &[u8], record: &Record) -> Option<()> {
        let is_last_path = |last: &&Record| self.path(last) == path;
        let start = if let Some(last) = self.records.last().filter(is_last_path) {
            last.start
        } else {
            let start = u32::try_from(self.paths.len()).ok()?;
            self.paths.extend_from_slice(path);
            start
        };
        let length = u16::try_from(path.len()).ok()?;
        self.records.push(Record { start, length, ..*record });
        Some(())
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.entries()).finish()
    }
}
