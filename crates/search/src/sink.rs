//! What the searcher finds, line by line, printed as `rg -n --no-heading` prints it.
//!
//! ripgrep's own printer asks the file system for the full path of every file that has a match, below
//! the host's working directory, in case somebody wants a hyperlink.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};

use crate::desk::Desk;
use crate::file::Form;

/// The lines of one file. Ends the search when nothing more is wanted.
pub(crate) struct Printing<'a> {
    desk: &'a Desk<'a>,
    path: &'a [u8],
    form: Form,
    matched: bool,
    /// Where the first NUL byte is.
    binary: Option<u64>,
}

impl<'a> Printing<'a> {
    pub(crate) fn new(desk: &'a Desk<'a>, path: &'a Path, form: Form) -> Self {
        Self { desk, path: path.as_os_str().as_bytes(), form, matched: false, binary: None }
    }
}

impl Sink for Printing<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.matched = true;
        // Of a binary file that was asked for by name it is only said that it matches.
        let number = line.line_number().unwrap_or(0);
        Ok(self.binary.is_none()
            && match self.form {
                Form::Text => self.desk.found(self.path, number, line.bytes()),
                Form::Record => self.desk.record(self.path, number, line.bytes()),
            })
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, _: &SinkFinish) -> io::Result<()> {
        if let (true, Some(offset), Form::Text) = (self.matched, self.binary, self.form) {
            let said = if searcher.binary_detection().quit_byte().is_some() {
                "WARNING: stopped searching binary file after match"
            } else {
                "binary file matches"
            };
            let said = format!("{said} (found \"\\0\" byte around offset {offset})");
            self.desk.say(self.path, &said);
        }
        Ok(())
    }
}
