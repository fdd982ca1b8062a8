//! `write`: a whole file.

use std::borrow::Cow;
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
    /// It got the encoding of the file before, which is not UTF-8.
    pub encoding: Option<&'static str>,
}

impl WriteInput<'_> {
    /// Writes the file. The size of the content is judged before the path is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        self.check_size()?;
        let content = Cow::Borrowed(self.content.as_bytes());
        self.write(KeptForm { content, has_mark: false, has_crlf: false, encoding: None }, cancel)
    }

    /// As [`Self::run`], and the new content gets the byte order mark, the CRLF and the encoding of the file before,
    /// unless it shows that it means others.
    pub fn run_in_form(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let Some(old) = self.file.beginning(cancel) else { return self.run(cancel) };
        self.check_size()?;
        self.write(keep_form(&old, self.content), cancel)
    }

    /// The limit is one of what the caller gives.
    fn check_size(&self) -> Result<(), Unfinished> {
        let Self { file, content, limit_bytes, .. } = *self;
        if content.len() as u64 <= limit_bytes {
            return Ok(());
        }
        Err(file.unfinished(changes::content_too_large("Content", content, limit_bytes)))
    }

    fn write(&self, form: KeptForm<'_>, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let KeptForm { content, has_mark, has_crlf, encoding } = form;
        let written = self.file.write(&content, self.publish, cancel);
        let created = written.map_err(|error| self.file.unfinished(error))?;
        Ok(Written { created, bytes: content.len() as u64, has_mark, has_crlf, encoding })
    }
}
