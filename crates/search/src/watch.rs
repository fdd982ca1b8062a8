//! The cancel flag and the deadline, and a reader that obeys both.

use std::cell::Cell;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why a search ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
    /// Another thread has ended the search: the output is full, or that thread was stopped.
    Halted,
}

/// What is asked between any two pieces of work.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a AtomicBool,
    /// Set by the thread that ends the search of several.
    pub(crate) halt: &'a AtomicBool,
}

impl Watch<'_> {
    pub(crate) fn check(self) -> Result<(), Stopped> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        if self.halt.load(Ordering::Relaxed) {
            return Err(Stopped::Halted);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stopped::TimedOut),
            _ => Ok(()),
        }
    }
}

/// How reading a file ended, where it did not end well. The searcher wraps the error it gets from
/// the reader, so the reader keeps what it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    #[default]
    Fine,
    Stopped(Stopped),
    Failed,
    /// The file begins with a mark of UTF-16, which only a decoder can read.
    Utf16,
}

/// A reader that fails as soon as the watch says stop: the only way out of the searcher in the
/// middle of a file without a match.
///
/// It also fills every buffer to its end, as ripgrep 15.0 does, so that whether a file counts as
/// binary is decided by its first block and not by how reads happen to be split.
///
/// The searcher's decoder reads three bytes first, in every file, to see whether they are a byte
/// order mark, and drops one of UTF-8. So it is given that mark at once, and what the file begins
/// with is looked at here, in the block that is read anyway.
pub(crate) struct Watched<'a, R> {
    inner: R,
    watch: Watch<'a>,
    end: &'a Cell<ReadEnd>,
    /// What is left to read where the size is known: a small file takes one call and not three.
    left: Option<u64>,
    /// How much of the mark that is not in the file is still to be given.
    mark: &'static [u8],
    /// Whether the file's own mark is still to be looked for.
    fresh: bool,
    ended: bool,
}

const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

impl<'a, R: Read> Watched<'a, R> {
    /// Files that say they are empty are asked: those of `/proc` all say so.
    pub(crate) fn new(inner: R, size: u64, watch: Watch<'a>, end: &'a Cell<ReadEnd>) -> Self {
        end.set(ReadEnd::Fine);
        let left = (size > 0).then_some(size);
        Self { inner, watch, end, left, mark: &UTF8_MARK, fresh: true, ended: false }
    }

    /// The bytes as they are, for a file known to begin with a mark of UTF-16.
    pub(crate) fn unmarked(inner: R, watch: Watch<'a>, end: &'a Cell<ReadEnd>) -> Self {
        Self { mark: &[], fresh: false, ..Self::new(inner, 0, watch, end) }
    }

    /// Reads a file for which `buf` has room, in one piece, and gives its text without a mark.
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

    /// Fills `buf` from `filled` on, as far as there is something to read.
    fn fill(&mut self, buf: &mut [u8], mut filled: usize) -> io::Result<usize> {
        while filled < buf.len() && !self.ended {
            if let Err(stopped) = self.watch.check() {
                self.end.set(ReadEnd::Stopped(stopped));
                return Err(io::Error::other("stopped"));
            }
            match self.inner.read(&mut buf[filled..]) {
                // A signal for the host is no reason to give up a file.
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

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.mark.is_empty() {
            let (given, rest) = self.mark.split_at(buf.len().min(self.mark.len()));
            buf[..given.len()].copy_from_slice(given);
            self.mark = rest;
            return Ok(given.len());
        }
        let mut filled = self.fill(buf, 0)?;
        if std::mem::take(&mut self.fresh) {
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
    use super::*;

    fn read_in(size: usize, content: &[u8], known: bool) -> io::Result<Vec<u8>> {
        let (off, end) = (AtomicBool::new(false), Cell::new(ReadEnd::Fine));
        let watch = Watch { deadline: None, cancel: &off, halt: &off };
        let length = if known { content.len() as u64 } else { 0 };
        let mut reader = Watched::new(content, length, watch, &end);
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
