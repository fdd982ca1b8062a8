//! `write`: a whole file.

use std::sync::atomic::AtomicBool;

use toolwright_patch::{KeptForm, keep_form};

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
    /// It got the byte order mark of the file before.
    pub has_mark: bool,
    /// Its lines got the CRLF of the file before.
    pub has_crlf: bool,
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
        Ok(Written { created, bytes, has_mark: false, has_crlf: false })
    }

    /// As [`Self::run`], and the new content gets the byte order mark and the CRLF of the file before, unless it
    /// shows that it means others.
    pub fn run_in_form(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let Some(old) = self.file.beginning(cancel) else { return self.run(cancel) };
        let KeptForm { content, has_mark, has_crlf } = keep_form(&old, self.content);
        // The limit is one of what the caller gives.
        let added = content.len() - self.content.len();
        let limit_bytes = self.limit_bytes.saturating_add(added as u64);
        let written = WriteInput { content: &content, limit_bytes, ..*self }.run(cancel)?;
        Ok(Written { has_mark, has_crlf, ..written })
    }
}
