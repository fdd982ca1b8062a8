//! `read`: the text of a file, whole or by lines. A session reads the files that it has opened: see
//! [`Target::read_range`](crate::access::target::Target::read_range).

use std::sync::atomic::AtomicBool;

use toolwright_fs::{DirectoryGrant, LineRange, Lines, is_binary};

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
    /// Refuse a binary file.
    pub text_only: bool,
}

impl ReadInput<'_> {
    /// Reads the file.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Vec<u8>, Unfinished> {
        let root = self.root.open()?;
        let bytes = toolwright_fs::read(&root, self.path, self.limit_bytes, cancel)?;
        if self.text_only && is_binary(&bytes) {
            return Err(files::binary_file(self.path, bytes.len() as u64, &bytes).into());
        }
        Ok(bytes)
    }

    /// Gives the file to `take` when it can be read without waiting. `None` says nothing about the
    /// file.
    pub fn try_cached<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let take = |bytes: &[u8]| (!self.text_only || !is_binary(bytes)).then(|| take(bytes));
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
            return Err(files::binary_file(self.path, lines.file_bytes, &lines.beginning).into());
        }
        Ok(lines)
    }
}
