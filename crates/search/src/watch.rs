//! The cancel flag and the deadline, and a reader that obeys both.

use std::{
    cell::Cell,
    io::{self, Read},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// Why a search ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
}

/// What is asked between any two pieces of work.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a AtomicBool,
}

impl Watch<'_> {
    pub(crate) fn check(self) -> Result<(), Stopped> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
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
}

/// A reader that fails as soon as the watch says stop: the only way out of the searcher in the
/// middle of a file without a match.
///
/// It also fills every buffer to its end, as ripgrep 15.0 does, so that whether a file counts as
/// binary is decided by its first block and not by how reads happen to be split. The searcher's
/// decoder hands on three bytes first, to see whether they are a byte order mark, unless they are
/// one of UTF-8, which it drops. So a file without a mark gets this one.
pub(crate) struct Watched<'a, R> {
    inner: R,
    watch: Watch<'a>,
    end: &'a Cell<ReadEnd>,
    /// What comes before the rest of `inner`; `None` until the first read.
    pending: Option<(([u8; 6], usize), usize)>,
}

const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

impl<'a, R: Read> Watched<'a, R> {
    pub(crate) fn new(inner: R, watch: Watch<'a>, end: &'a Cell<ReadEnd>) -> Self {
        Self { inner, watch, end, pending: None }
    }

    /// Fills `buf` as far as there is something to read.
    fn fill(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
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
                Ok(0) => break,
                Ok(count) => filled += count,
            }
        }
        Ok(filled)
    }

    /// The first bytes, after a mark that says UTF-8 where there is none.
    fn begin(&mut self) -> io::Result<([u8; 6], usize)> {
        let mut first = [0; 3];
        let count = self.fill(&mut first)?;
        let first = &first[..count];
        let marked = first == UTF8_MARK
            || first.starts_with(&[0xff, 0xfe])
            || first.starts_with(&[0xfe, 0xff]);
        let mark: &[u8] = if marked || first.is_empty() { &[] } else { &UTF8_MARK };
        let mut bytes = [0; 6];
        bytes[..mark.len()].copy_from_slice(mark);
        bytes[mark.len()..mark.len() + count].copy_from_slice(first);
        Ok((bytes, mark.len() + count))
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let ((bytes, len), done) = match self.pending {
            Some(pending) => pending,
            None => (self.begin()?, 0),
        };
        let count = buf.len().min(len - done);
        buf[..count].copy_from_slice(&bytes[done..done + count]);
        self.pending = Some(((bytes, len), done + count));
        Ok(count + self.fill(&mut buf[count..])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in(size: usize, content: &[u8]) -> Vec<u8> {
        let (cancel, end) = (AtomicBool::new(false), Cell::new(ReadEnd::Fine));
        let watch = Watch { deadline: None, cancel: &cancel };
        let mut reader = Watched::new(content, watch, &end);
        let (mut all, mut buf) = (Vec::new(), vec![0; size]);
        loop {
            match reader.read(&mut buf).expect("read") {
                0 => return all,
                count => all.extend_from_slice(&buf[..count]),
            }
        }
    }

    #[test]
    fn a_mark_is_put_before_what_has_none() {
        for size in 1..12 {
            for content in [&b"a"[..], b"ab", b"abc", b"abcdefghijkl", b"\xef\xbbx", b"\0"] {
                assert_eq!(read_in(size, content), [&UTF8_MARK, content].concat(), "{size}");
            }
            for content in
                [&b""[..], b"\xef\xbb\xbf", b"\xef\xbb\xbfabc", b"\xff\xfe", b"\xfe\xffab"]
            {
                assert_eq!(read_in(size, content), content, "{size}");
            }
        }
    }
}
