//! Results that were found ahead of their turn, put back into path order.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::match_buffer::MatchBuffer;
use crate::output::{Output, Unsearched};

/// The results that wait for their turn take at most this many bytes, and a little per thread.
const MAX_BUFFERED_BYTES: usize = 4 << 20;
/// At most this many files and directories are opened ahead of the output.
const MAX_OPENED_AHEAD: usize = 4096;

/// Identifies a task by its path. The separators are zero bytes, so that a comparison by bytes gives
/// the order of a walk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    pub(crate) fn new(path: &Path) -> Self {
        let bytes = path.as_os_str().as_bytes().iter();
        Self(bytes.map(|&byte| if byte == b'/' { 0 } else { byte }).collect())
    }
}

pub(crate) struct ReorderBuffer {
    /// The results of finished tasks that are not first in order yet.
    finished: BTreeMap<Key, Finished>,
    /// The results of the tasks that were interrupted when the search ended, and where each was.
    interrupted: BTreeMap<Key, (MatchBuffer, PathBuf)>,
    size: Size,
    pub(crate) output: Output,
    pub(crate) unsearched: Unsearched,
}

struct Finished {
    results: MatchBuffer,
    size: Size,
}

/// How much is ahead of the output.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    output: usize,
    lines: u64,
    opened: usize,
}

impl ReorderBuffer {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            finished: BTreeMap::new(),
            interrupted: BTreeMap::new(),
            size: Size::default(),
            output,
            unsearched: Unsearched::default(),
        }
    }

    /// Whether another task may run ahead of the output.
    pub(crate) fn has_room(&self) -> bool {
        let (bytes, lines) = self.output.remaining();
        self.size.bytes < MAX_BUFFERED_BYTES
            && self.size.output <= bytes
            && self.size.lines <= lines
            && self.size.opened < MAX_OPENED_AHEAD
    }

    /// Takes the results of a finished task, for which `opened` files and directories were opened.
    pub(crate) fn insert(&mut self, key: Key, results: MatchBuffer, opened: usize) {
        let size = Size {
            bytes: results.size(),
            output: results.output_size(),
            lines: results.lines(),
            opened,
        };
        self.size.add(size);
        self.finished.insert(key, Finished { results, size });
    }

    /// Takes the results of a task that did not finish.
    pub(crate) fn insert_interrupted(&mut self, key: Key, results: MatchBuffer) {
        let at = results.current().to_owned();
        self.interrupted.insert(key, (results, at));
    }

    /// Appends results that are first in order.
    pub(crate) fn append(&mut self, results: &mut MatchBuffer) {
        results.drain_into(&mut self.output, &mut self.unsearched);
    }

    /// Moves the results before `unfinished`, the first task that is not done, to the output.
    pub(crate) fn flush_before(&mut self, unfinished: Option<&Key>) {
        while let Some(first) = self.finished.first_entry() {
            if self.output.full || unfinished.is_some_and(|other| other < first.key()) {
                return;
            }
            let Finished { mut results, size } = first.remove();
            self.size.remove(size);
            self.append(&mut results);
        }
    }

    /// Ends the output of a stopped search at the first gap, and returns the path there. `waiting`
    /// is the first task that was not begun.
    pub(crate) fn end_at_gap(&mut self, waiting: Option<(&Key, PathBuf)>) -> PathBuf {
        match (self.interrupted.pop_first(), waiting) {
            (Some((key, _)), Some((waiting, path))) if *waiting < key => path,
            (Some((_, (mut results, at))), _) => {
                self.append(&mut results);
                at
            }
            (None, Some((_, path))) => path,
            (None, None) => PathBuf::new(),
        }
    }
}

impl Size {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.output += other.output;
        self.lines += other.lines;
        self.opened += other.opened;
    }

    fn remove(&mut self, other: Self) {
        self.bytes -= other.bytes;
        self.output -= other.output;
        self.lines -= other.lines;
        self.opened -= other.opened;
    }
}
