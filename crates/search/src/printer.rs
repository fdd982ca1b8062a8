//! Writes the matching lines of a file, as `rg -n --no-heading` prints them or as records.
//!
//! ripgrep's own printer asks the file system for the full path of every file with a match, to make
//! hyperlinks, and resolves it against the working directory of the host.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::line_window::{WHOLE_LINE, Window};
use crate::query::Prints;
use crate::worker_output::WorkerOutput;

/// How a matching line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As ripgrep prints it, with its notes on binary files.
    Text,
    /// As a record, without notes.
    Record,
}

/// What is written of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    pub(crate) prints: Prints,
    /// Long lines are cut to a window.
    pub(crate) has_windows: bool,
}

/// Writes the lines of one file. Ends the search of the file when the output takes no more.
pub(crate) struct LinePrinter<'a> {
    output: &'a WorkerOutput<'a>,
    path: &'a [u8],
    layout: Layout,
    matcher: &'a RegexMatcher,
    matched: u64,
    /// The offset of the first NUL byte.
    binary: Option<u64>,
}

impl<'a> LinePrinter<'a> {
    pub(crate) fn new(
        output: &'a WorkerOutput<'a>,
        path: &'a Path,
        layout: Layout,
        matcher: &'a RegexMatcher,
    ) -> Self {
        let path = path.as_os_str().as_bytes();
        Self { output, path, layout, matcher, matched: 0, binary: None }
    }

    /// Writes a line: one that matches, or one of the context.
    fn print(&self, number: u64, line: &[u8], matched: bool) -> bool {
        let mut digits = [0; 20];
        let mut rest = &mut digits[..];
        let _ = write!(rest, "{number}"); // no number is longer
        let unused = rest.len();
        let number = &digits[..digits.len() - unused];
        let separator: &[u8] = match (self.layout.format, matched) {
            (Format::Record, _) => b"\0",
            (Format::Text, true) => b":",
            (Format::Text, false) => b"-",
        };
        if self.layout.has_windows && line.len() > WHOLE_LINE {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let window = if matched {
                Window::around_match(text, self.matcher)
            } else {
                Window::beginning(text)
            };
            if let Some(window) = window {
                return self.print_window(number, separator, text, &window, matched);
            }
        }
        // A record has no column where the line is whole.
        let no_column: &[u8] = match self.layout.format {
            Format::Record => b"\0",
            Format::Text => b"",
        };
        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        let pieces = [self.path, separator, number, separator, no_column, line, end];
        self.output.push_line(&pieces, matched)
    }

    fn print_window(
        &self,
        number: &[u8],
        separator: &[u8],
        text: &[u8],
        window: &Window,
        matched: bool,
    ) -> bool {
        let (column, note) = match self.layout.format {
            Format::Record => (format!("{}\0", window.column), String::new()),
            Format::Text => (String::new(), window.note(text)),
        };
        let [head, text, tail] = window.pieces(text);
        let (column, note) = (column.as_bytes(), note.as_bytes());
        let pieces =
            [self.path, separator, number, separator, column, head, text, tail, note, b"\n"];
        self.output.push_line(&pieces, matched)
    }

    fn print_matches(&self, lines: &SinkMatch<'_>) -> bool {
        let first = lines.line_number().unwrap_or(0);
        let mut numbers = first..;
        lines.lines().all(|line| self.print(numbers.next().unwrap_or(first), line, true))
    }
}

impl Sink for LinePrinter<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, lines: &SinkMatch<'_>) -> io::Result<bool> {
        self.matched += 1;
        // The lines of a binary file are not printed. A note says that it matches.
        Ok(match self.layout.prints {
            Prints::Lines => self.binary.is_none() && self.print_matches(lines),
            Prints::Counts => true,
            Prints::Files => false,
        })
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.binary.is_none()
            && self.print(line.line_number().unwrap_or(0), line.bytes(), false))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.output.push_line(&[b"--\n"], false))
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, _: &SinkFinish) -> io::Result<()> {
        match (self.matched, self.layout.prints) {
            (0, _) => {}
            (count, Prints::Counts) => {
                self.output.push_line(&[self.path, format!(":{count}\n").as_bytes()], true);
            }
            (_, Prints::Files) => {
                self.output.push_line(&[self.path, b"\n"], true);
            }
            (_, Prints::Lines) => self.note_binary(searcher),
        }
        Ok(())
    }
}

impl LinePrinter<'_> {
    fn note_binary(&self, searcher: &Searcher) {
        if let (Some(offset), Format::Text) = (self.binary, self.layout.format) {
            let note = if searcher.binary_detection().quit_byte().is_some() {
                "WARNING: stopped searching binary file after match"
            } else {
                "binary file matches"
            };
            let note = format!("{note} (found \"\\0\" byte around offset {offset})\n");
            self.output.push_line(&[self.path, b": ", note.as_bytes()], false);
        }
    }
}
