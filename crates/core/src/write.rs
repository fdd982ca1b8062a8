//! `write`: a whole file.

use std::sync::atomic::AtomicBool;

use crate::failure::{Unfinished, changes};
use crate::file::{File, Publish};

/// A file and the text that it is to hold.
#[derive(Debug, Clone, Copy)]
pub struct WriteInput<'a> {
    /// The file.
    pub file: File<'a>,
    /// The text.
    pub content: &'a str,
    /// The longest text that is written.
    pub limit_bytes: u64,
    /// How the file is published.
    pub publish: &'a Publish,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// An opened file did not exist before.
    pub created: bool,
    /// The size of the file.
    pub bytes: u64,
}

impl WriteInput<'_> {
    /// Writes the file. The size of the content is judged before the path is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let Self { file, content, limit_bytes, publish } = *self;
        let bytes = content.len() as u64;
        if bytes > limit_bytes {
            return Err(file.unfinished(changes::content_too_large(
                "Content",
                content,
                limit_bytes,
            )));
        }
        let created = file
            .write(content.as_bytes(), publish, cancel)
            .map_err(|error| file.unfinished(error))?;
        Ok(Written { created, bytes })
    }
}
