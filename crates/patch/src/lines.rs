//! The lines of a file, each with its ending on disk.

use std::borrow::Cow;
use std::ops::Range;

use crate::line_feeds;

/// One line of the file: its text without the ending, and the two halves of the ending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'f> {
    pub(crate) text: &'f [u8],
    /// Whether the text ends in a carriage return, before the line feed if there is one.
    pub(crate) cr: bool,
    /// False only for the last line of a file without a final newline.
    pub(crate) lf: bool,
}

impl<'f> Line<'f> {
    /// The text as `read` displays it.
    pub(crate) fn decoded(&self) -> Cow<'f, str> {
        String::from_utf8_lossy(self.text)
    }
}

#[derive(Debug)]
pub(crate) struct Lines<'f> {
    pub(crate) bytes: &'f [u8],
    /// Where each line ends, with its ending.
    ends: Vec<usize>,
    /// Whether the last line has its newline. An empty file counts as having one, so that text added
    /// to it ends with one.
    pub(crate) terminated: bool,
}

impl<'f> Lines<'f> {
    pub(crate) fn new(bytes: &'f [u8]) -> Self {
        let mut ends = line_feeds::positions(bytes);
        for end in &mut ends {
            *end += 1;
        }
        let terminated = bytes.last().is_none_or(|&last| last == b'\n');
        if !terminated {
            ends.push(bytes.len());
        }
        Self { bytes, ends, terminated }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of whole lines with their endings, as far as the file has them.
    pub(crate) fn raw(&self, lines: Range<usize>) -> &'f [u8] {
        self.bytes.get(self.start(lines.start)..self.start(lines.end)).unwrap_or_default()
    }

    pub(crate) fn get(&self, line: usize) -> Option<Line<'f>> {
        if line >= self.len() {
            return None;
        }
        let raw = self.raw(line..line + 1);
        let (raw, lf) = match raw.strip_suffix(b"\n") {
            Some(rest) => (rest, true),
            None => (raw, false),
        };
        Some(match raw.strip_suffix(b"\r") {
            Some(text) => Line { text, cr: true, lf },
            None => Line { text: raw, cr: false, lf },
        })
    }

    /// The offset of line `line` (from 0), or the end of the file for any later line.
    fn start(&self, line: usize) -> usize {
        match line.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or(self.bytes.len()),
        }
    }
}

/// Whether a line of the file equals `expected` once it is decoded as UTF-8 with replacement.
pub(crate) fn reads_as(text: &[u8], expected: &str) -> bool {
    // Decoding yields a replacement character for every broken sequence. If the expected line has
    // none, only equal bytes match it.
    text == expected.as_bytes()
        || (expected.contains(char::REPLACEMENT_CHARACTER)
            && String::from_utf8_lossy(text) == expected)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

    use super::*;

    #[test]
    fn an_empty_file_has_no_line_and_counts_as_terminated() {
        let lines = Lines::new(b"");
        assert_eq!((lines.len(), lines.terminated), (0, true));
        assert!(lines.get(0).is_none());
    }

    #[test]
    fn endings_are_kept_apart_from_the_text() {
        let lines = Lines::new(b"a\r\nb\n\nc\r");
        let seen: Vec<_> = (0..lines.len())
            .map(|at| lines.get(at).map(|line| (line.text.to_vec(), line.cr, line.lf)).unwrap())
            .collect();
        assert_eq!(
            seen,
            [
                (b"a".to_vec(), true, true),
                (b"b".to_vec(), false, true),
                (b"".to_vec(), false, true),
                (b"c".to_vec(), true, false),
            ]
        );
        assert!(!lines.terminated);
        assert_eq!(lines.raw(1..9), b"b\n\nc\r");
    }

    #[test]
    fn broken_utf8_reads_as_its_replacement() {
        assert!(reads_as(b"caf\xe9", "caf\u{fffd}"));
        assert!(!reads_as(b"caf\xe9", "caf\u{e9}"));
        assert!(reads_as("caf\u{fffd}".as_bytes(), "caf\u{fffd}"));
    }
}
