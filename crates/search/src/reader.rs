//! A reader that a cancellation or a deadline interrupts.

use std::cell::Cell;
use std::io::{self, Read};

use crate::stop_signal::{StopSignal, Stopped};

/// How reading a file ended. The searcher wraps the error it gets from the reader, so the reader
/// records the original here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    #[default]
    Fine,
    Stopped(Stopped),
    Failed,
    /// The file begins with a mark of UTF-16, which only a decoder can read.
    Utf16,
}

/// A reader that fails as soon as the search is stopped. A failing read is the only way out of the
/// searcher in the middle of a file without a match.
///
/// It also fills every buffer to its end, as ripgrep 15.0 does. So the first block decides whether a
/// file counts as binary, and not the way in which reads happen to be split.
///
/// The searcher's decoder first reads three bytes of every file, looks for a byte order mark in them
/// and drops one of UTF-8. This reader hands it such a mark at once, and looks for the file's own
/// mark in the first block, which is read anyway.
pub(crate) struct InterruptibleReader<'a, R> {
    inner: R,
    stop_signal: StopSignal<'a>,
    end: &'a Cell<ReadEnd>,
    /// The bytes left to read where the size is known: a small file takes one call instead of three.
    left: Option<u64>,
    /// The rest of the mark that is handed to the decoder and is not in the file.
    mark: &'static [u8],
    /// Whether the first block, which may begin with a mark, is still to be read.
    at_start: bool,
    ended: bool,
}

const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

impl<'a, R: Read> InterruptibleReader<'a, R> {
    /// A `size` of zero is not trusted: all files of `/proc` report it.
    pub(crate) fn new(
        inner: R,
        size: u64,
        stop_signal: StopSignal<'a>,
        end: &'a Cell<ReadEnd>,
    ) -> Self {
        end.set(ReadEnd::Fine);
        let left = (size > 0).then_some(size);
        Self { inner, stop_signal, end, left, mark: &UTF8_MARK, at_start: true, ended: false }
    }

    /// Passes the bytes through unchanged, for a file known to begin with a mark of UTF-16.
    pub(crate) fn unmarked(inner: R, stop_signal: StopSignal<'a>, end: &'a Cell<ReadEnd>) -> Self {
        Self { mark: &[], at_start: false, ..Self::new(inner, 0, stop_signal, end) }
    }

    /// Reads a whole file into `buf`, which is large enough, and returns its text without a mark.
    pub(crate) fn whole(mut self, buf: &mut [u8]) -> io::Result<&[u8]> {
        let filled = self.fill(buf, 0)?;
        let text = &buf[..filled];
        self.refuse_utf16(text)?;
        Ok(text.strip_prefix(&UTF8_MARK).unwrap_or(text))
    }

    fn refuse_utf16(&self, first: &[u8]) -> io::Result<()> {
        if UTF16_MARKS.iter().any(|mark| first.starts_with(mark)) {
            self.end.set(ReadEnd::Utf16);
            return Err(io::Error::other("UTF-16"));
        }
        Ok(())
    }

    /// Fills `buf` from `filled` on, until it is full or the file ends.
    fn fill(&mut self, buf: &mut [u8], mut filled: usize) -> io::Result<usize> {
        while filled < buf.len() && !self.ended {
            if let Err(stopped) = self.stop_signal.check() {
                self.end.set(ReadEnd::Stopped(stopped));
                return Err(io::Error::other("stopped"));
            }
            match self.inner.read(&mut buf[filled..]) {
                // A signal that the host received does not end the read.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.end.set(ReadEnd::Failed);
                    return Err(error);
                }
                Ok(0) => self.ended = true,
                Ok(count) => {
                    filled += count;
                    self.left = self.left.map(|left| left.saturating_sub(count as u64));
                    self.ended = self.left == Some(0);
                }
            }
        }
        Ok(filled)
    }
}

impl<R: Read> Read for InterruptibleReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.mark.is_empty() {
            let (mark, rest) = self.mark.split_at(buf.len().min(self.mark.len()));
            buf[..mark.len()].copy_from_slice(mark);
            self.mark = rest;
            return Ok(mark.len());
        }
        let mut filled = self.fill(buf, 0)?;
        if std::mem::take(&mut self.at_start) {
            let first = &buf[..filled];
            self.refuse_utf16(first)?;
            if first.starts_with(&UTF8_MARK) {
                buf.copy_within(UTF8_MARK.len()..filled, 0);
                filled = self.fill(buf, filled - UTF8_MARK.len())?;
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn read_in(size: usize, content: &[u8], known: bool) -> io::Result<Vec<u8>> {
        let (off, end) = (AtomicBool::new(false), Cell::new(ReadEnd::Fine));
        let stop_signal = StopSignal { deadline: None, cancel: &off, halt: &off };
        let length = if known { content.len() as u64 } else { 0 };
        let mut reader = InterruptibleReader::new(content, length, stop_signal, &end);
        let (mut all, mut buf) = (Vec::new(), vec![0; size]);
        loop {
            match reader.read(&mut buf)? {
                0 => return Ok(all),
                count => all.extend_from_slice(&buf[..count]),
            }
        }
    }

    #[test]
    fn there_is_one_mark_of_utf8_and_none_of_utf16() {
        for (size, known) in (4..12).flat_map(|size| [(size, false), (size, true)]) {
            for content in [&b""[..], b"a", b"ab", b"abc", b"abcdefghijkl", b"\xef\xbbx", b"\0"] {
                let marked = [&UTF8_MARK, content].concat();
                assert_eq!(read_in(size, content, known).expect("read"), marked, "{size}");
                assert_eq!(read_in(size, &marked, known).expect("read"), marked, "{size}");
            }
            for content in [&b"\xff\xfe"[..], b"\xfe\xffab"] {
                assert!(read_in(size, content, known).is_err());
            }
        }
    }
}
