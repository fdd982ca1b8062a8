//! `read`: the text of a file, whole or by lines. A session reads the files that it has opened: see
//! [`Target::read_range`](crate::access::target::Target::read_range).

use std::sync::atomic::AtomicBool;

use toolwright_encoding::utf16::{ByteOrder, text_of};
use toolwright_fs::{DirectoryGrant, FsErrorKind, LineRange, Lines, is_binary};

use crate::failure::{Unfinished, files};

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
        if !self.text_only {
            return Ok(bytes);
        }
        if is_binary(&bytes) {
            return Err(files::binary_file(self.path, bytes.len() as u64).into());
        }
        let Some(order) = ByteOrder::of(&bytes) else { return Ok(bytes) };
        let text = text_of(&bytes, order);
        let (bytes, limit) = (text.len() as u64, self.limit_bytes);
        if bytes > limit {
            return Err(FsErrorKind::TooLarge { bytes, limit, result: false }.at(self.path).into());
        }
        Ok(text)
    }

    /// Gives the file to `take` when it can be read without waiting. `None` says nothing about the
    /// file.
    pub fn try_cached<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let is_as_it_is = |bytes: &[u8]| !is_binary(bytes) && ByteOrder::of(bytes).is_none();
        let take = |bytes: &[u8]| (!self.text_only || is_as_it_is(bytes)).then(|| take(bytes));
        toolwright_fs::try_read_cached(self.root, self.path, self.limit_bytes, take).flatten()
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
            return Err(files::binary_file(self.path, lines.file_bytes).into());
        }
        Ok(lines)
    }
}
