//! `read`: the text of a file, whole or by lines. A session reads the files that it has opened: see
//! [`Target::read_range`](crate::access::target::Target::read_range).

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use toolwright_encoding::utf16::{ByteOrder, text_of};
use toolwright_fs::{DirectoryGrant, FsErrorKind, LineRange, Lines, is_binary};
use toolwright_ledger::Shown;

use crate::failure::{Unfinished, files};
use crate::seen::SeenFiles;

/// A whole file below a root.
#[derive(Debug, Clone, Copy)]
pub struct ReadInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// The largest file that is read.
    pub limit_bytes: u64,
    /// Refuse a binary file, and take UTF-16 with a byte order mark for text.
    pub text_only: bool,
}

impl ReadInput<'_> {
    /// Reads the file.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Vec<u8>, Unfinished> {
        let root = self.root.open()?;
        let bytes = toolwright_fs::read(&root, self.path, self.limit_bytes, cancel)?;
        self.text_of(bytes)
    }

    /// What a reader gets of the bytes of a file.
    fn text_of(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Unfinished> {
        if !self.text_only {
            return Ok(bytes);
        }
        if is_binary(&bytes) {
            return Err(files::binary_file(self.path, bytes.len() as u64, &bytes).into());
        }
        let Some(order) = ByteOrder::of(&bytes) else { return Ok(bytes) };
        let text = text_of(&bytes, order);
        let (bytes, limit) = (text.len() as u64, self.limit_bytes);
        if bytes > limit {
            return Err(FsErrorKind::TooLarge { bytes, limit, result: false }.at(self.path).into());
        }
        Ok(text)
    }

    /// As [`Self::run`], for a model that is shown all of it.
    pub fn run_seen(&self, seen: &SeenFiles, cancel: &AtomicBool) -> Result<Vec<u8>, Unfinished> {
        let since = seen.now();
        let root = self.root.open()?;
        let (bytes, path) = toolwright_fs::read_named(&root, self.path, self.limit_bytes, cancel)?;
        let text = self.text_of(bytes)?;
        seen.shown(path.as_deref(), since, Shown::Whole(&text));
        Ok(text)
    }

    /// Gives the file to `take` when it can be read without waiting. `None` says nothing about the
    /// file.
    pub fn try_cached<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let take = |bytes: &[u8]| self.is_as_it_is(bytes).then(|| take(bytes));
        toolwright_fs::try_read_cached(self.root, self.path, self.limit_bytes, take).flatten()
    }

    /// Whether a reader gets the bytes of the file themselves.
    fn is_as_it_is(&self, bytes: &[u8]) -> bool {
        !self.text_only || (!is_binary(bytes) && ByteOrder::of(bytes).is_none())
    }

    /// As [`Self::try_cached`], for a model that is shown all of it.
    pub fn try_cached_seen<T>(&self, seen: &SeenFiles, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let since = seen.now();
        let take = |bytes: &[u8], path: Option<PathBuf>| {
            if !self.is_as_it_is(bytes) {
                return None;
            }
            seen.shown(path.as_deref(), since, Shown::Whole(bytes));
            Some(take(bytes))
        };
        toolwright_fs::try_read_cached_named(self.root, self.path, self.limit_bytes, take).flatten()
    }
}

/// Some lines of a file below a root, which may be of any size.
#[derive(Debug, Clone, Copy)]
pub struct ReadLinesInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The path, relative to the root or absolute.
    pub path: &'a str,
    /// Which lines.
    pub lines: LineRange,
}

impl ReadLinesInput<'_> {
    /// Reads the lines.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Lines, Unfinished> {
        let root = self.root.open()?;
        let lines = toolwright_fs::read_lines(&root, self.path, self.lines, cancel)?;
        if lines.is_binary {
            return Err(files::binary_file(self.path, lines.file_bytes, &[]).into());
        }
        Ok(lines)
    }

    /// As [`Self::run`], for a model that is shown them.
    pub fn run_seen(&self, seen: &SeenFiles, cancel: &AtomicBool) -> Result<Lines, Unfinished> {
        let since = seen.now();
        let lines = self.run(cancel)?;
        // The beginning of a line is none.
        if !lines.is_cut {
            let (first, text) = (self.lines.first.max(1), &lines.bytes);
            let shown = Shown::Lines { first, text, is_end: !lines.has_more };
            seen.shown(lines.real_path.as_deref(), since, shown);
        }
        Ok(lines)
    }
}
