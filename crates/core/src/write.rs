//! `write`: a whole file.

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;

use toolwright_fs::Present;
use toolwright_patch::{KeptForm, keep_form};

use crate::failure::{Unfinished, changes};
use crate::file::{File, Publish};
use crate::notebook;
use crate::seen::{SeenFiles, WriteWitness};

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What a model should know of the file before.
    pub note: Option<String>,
}

impl WriteInput<'_> {
    /// Writes the file. The size of the content is judged before the path is.
    pub fn run(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        self.check_content()?;
        let content = Cow::Borrowed(self.content.as_bytes());
        self.write(KeptForm { content, has_mark: false, has_crlf: false, encoding: None }, cancel)
    }

    /// As [`Self::run`], and the new content gets the byte order mark, the CRLF and the encoding of the file before,
    /// unless it shows that it means others.
    pub fn run_in_form(&self, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let Some(old) = self.file.beginning(cancel) else { return self.run(cancel) };
        self.check_content()?;
        self.write(keep_form(&old, self.content), cancel)
    }

    /// The limit is one of what the caller gives.
    fn check_content(&self) -> Result<(), Unfinished> {
        let Self { file, content, limit_bytes, publish } = *self;
        if content.len() as u64 > limit_bytes {
            let failure = changes::content_too_large("Content", content, limit_bytes);
            return Err(file.unfinished(failure));
        }
        notebook::check_whole(publish, file.display_path(), content.as_bytes())
            .map_err(|failure| file.unfinished(failure))
    }

    fn write(&self, form: KeptForm<'_>, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        let KeptForm { content, has_mark, has_crlf, encoding } = form;
        let written = self.file.write(&content, self.publish, cancel);
        let created = written.map_err(|error| self.file.unfinished(error))?;
        let bytes = content.len() as u64;
        Ok(Written { created, bytes, has_mark, has_crlf, encoding, note: None })
    }

    /// As [`Self::run_in_form`], by a model that has seen something of the file.
    ///
    /// It is refused where it would undo changes of others that the model has not been shown. What is replaced is what was
    /// compared.
    pub fn run_seen(&self, seen: &SeenFiles, cancel: &AtomicBool) -> Result<Written, Unfinished> {
        self.check_content()?;
        let Self { file, content, publish, .. } = *self;
        let mut form = (content.len(), false, false, None);
        let mut witness = WriteWitness::new(seen, file.display_path(), |present| {
            let unread;
            let old = match present {
                Present::Content(old) => old,
                Present::Missing => &[],
                Present::Unread { .. } => {
                    unread = file.beginning(cancel).unwrap_or_default();
                    &unread
                }
            };
            let KeptForm { content, has_mark, has_crlf, encoding } = keep_form(old, content);
            form = (content.len(), has_mark, has_crlf, encoding);
            content.into_owned()
        });
        let created = file.write_witnessed(publish, cancel, &mut witness)?;
        let note = witness.note;
        let (bytes, has_mark, has_crlf, encoding) = form;
        Ok(Written { created, bytes: bytes as u64, has_mark, has_crlf, encoding, note })
    }
}
