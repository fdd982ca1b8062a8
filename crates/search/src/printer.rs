//! Writes the matching lines of a file, as `rg -n --no-heading` prints them or as records.
//!
//! ripgrep's own printer asks the file system for the full path of every file with a match, to make
//! hyperlinks, and resolves it against the working directory of the host.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};

use crate::worker_output::WorkerOutput;

/// How a matching line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As ripgrep prints it, with its notes on binary files.
    Text,
    /// As a record, without notes.
    Record,
}

/// Writes the lines of one file. Ends the search of the file when the output takes no more.
pub(crate) struct LinePrinter<'a> {
    output: &'a WorkerOutput<'a>,
    path: &'a [u8],
    format: Format,
    matched: bool,
    /// The offset of the first NUL byte.
    binary: Option<u64>,
}

impl<'a> LinePrinter<'a> {
    pub(crate) fn new(output: &'a WorkerOutput<'a>, path: &'a Path, format: Format) -> Self {
        let path = path.as_os_str().as_bytes();
        Self { output, path, format, matched: false, binary: None }
    }

    fn print(&self, number: u64, line: &[u8]) -> bool {
        let mut digits = [0; 20];
        let mut rest = &mut digits[..];
        let _ = write!(rest, "{number}"); // no number is longer
        let unused = rest.len();
        let number = &digits[..digits.len() - unused];
        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        match self.format {
            Format::Text => {
                self.output.push_line(&[self.path, b":", number, b":", line, end], true)
            }
            Format::Record => {
                self.output.push_line(&[self.path, b"\0", number, b"\0", line, end], true)
            }
        }
    }
}

impl Sink for LinePrinter<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.matched = true;
        // The lines of a binary file are not printed. A note says that it matches.
        let number = line.line_number().unwrap_or(0);
        Ok(self.binary.is_none() && self.print(number, line.bytes()))
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, _: &SinkFinish) -> io::Result<()> {
        if let (true, Some(offset), Format::Text) = (self.matched, self.binary, self.format) {
            let note = if searcher.binary_detection().quit_byte().is_some() {
                "WARNING: stopped searching binary file after match"
            } else {
                "binary file matches"
            };
            let note = format!("{note} (found \"\\0\" byte around offset {offset})\n");
            self.output.push_line(&[self.path, b": ", note.as_bytes()], false);
        }
        Ok(())
    }
}
