//! A range of lines of a file of any length.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use memchr::{memchr_iter, memrchr};
use rustix::io::Errno;
use toolwright_encoding::utf16::{ByteOrder, Decoder};

use crate::cancel::checkpoint;
use crate::location::real_path_of_file;
use crate::range::{is_binary, whole_characters};
use crate::{FsError, Root};

/// Bytes read between two checks of the cancel flag.
const STRIDE: usize = 256 << 10;

/// The lines to read. Lines are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The number of the first line. Zero is taken as 1.
    pub first: u64,
    /// The number of lines. Zero is taken as 1.
    pub count: u64,
    /// The most bytes to return.
    pub limit: u64,
}

/// The lines that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// The lines, unchanged, with their line ends. UTF-16 with a byte order mark has become UTF-8.
    pub bytes: Vec<u8>,
    /// The number of lines in `bytes`.
    pub count: u64,
    /// Whether more lines follow.
    pub has_more: bool,
    /// Whether the last line is longer than the limit, so that only its beginning is here.
    pub is_cut: bool,
    /// The number of lines in the file, if its end was reached.
    pub total: Option<u64>,
    /// The size of the file, as `stat` reports it.
    pub file_bytes: u64,
    /// Whether there is a NUL byte near the beginning of the file.
    pub is_binary: bool,
    /// The real path of the file, where the system tells it.
    pub real_path: Option<PathBuf>,
}

/// Reads whole lines of the regular file at `path`, and nothing behind them.
pub fn read_lines(
    root: &Root,
    path: &str,
    range: LineRange,
    cancel: &AtomicBool,
) -> Result<Lines, FsError> {
    checkpoint(cancel)?;
    let file = root.open_file(path)?;
    let lines = lines_of(&file, path, range, cancel)?;
    Ok(Lines { real_path: real_path_of_file(file.as_fd()), ..lines })
}

fn lines_of(
    file: &File,
    display_path: &str,
    range: LineRange,
    cancel: &AtomicBool,
) -> Result<Lines, FsError> {
    let failed = |errno: Errno| FsError::at(display_path, "reading", errno);
    let limit = usize::try_from(range.limit).unwrap_or(usize::MAX);
    let mut chunk = Vec::new();
    chunk.try_reserve_exact(STRIDE).map_err(|_| failed(Errno::NOMEM))?;
    let size = rustix::fs::fstat(file).map_err(failed)?.st_size;
    let mut lines = Lines { file_bytes: u64::try_from(size).unwrap_or(0), ..Lines::default() };
    let mut scan = Scan {
        skipped: range.first.max(1) - 1,
        remaining: range.count.max(1),
        ends: 0,
        is_open: false,
    };
    let (mut offset, mut decoder, mut text) = (0_u64, None::<Decoder>, Vec::new());
    loop {
        checkpoint(cancel)?;
        chunk.resize(STRIDE, 0);
        let read = match rustix::io::pread(file, &mut chunk[..], offset) {
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        chunk.truncate(read);
        if offset == 0 {
            lines.is_binary = is_binary(&chunk);
            decoder = ByteOrder::of(&chunk).map(Decoder::new);
        }
        text.clear();
        match &mut decoder {
            Some(decoder) if read > 0 => decoder.push(&chunk, &mut text),
            Some(decoder) => decoder.end(&mut text),
            None => {}
        }
        let is_decoded = decoder.is_some();
        if lines.is_binary || read == 0 && text.is_empty() {
            scan.end(&mut lines);
            return Ok(lines);
        }
        offset += read as u64;
        let chunk = if is_decoded { &text } else { &chunk };
        if chunk.is_empty() {
            continue; // the first byte of a unit
        }
        let (part, is_done) = scan.part_of(chunk, &mut lines);
        // One byte beyond the limit shows that more follows.
        let room = limit.saturating_add(1).saturating_sub(lines.bytes.len());
        let taken = &part[..part.len().min(room)];
        lines.bytes.try_reserve(taken.len()).map_err(|_| failed(Errno::NOMEM))?;
        lines.bytes.extend_from_slice(taken);
        if lines.bytes.len() > limit {
            cut(&mut lines, limit);
            return Ok(lines);
        }
        if is_done {
            return Ok(lines);
        }
    }
}

/// The position of the scan in the file.
struct Scan {
    /// The lines still to skip.
    skipped: u64,
    /// The lines still to take.
    remaining: u64,
    /// The line ends passed.
    ends: u64,
    /// Whether the last byte passed is not a line end.
    is_open: bool,
}

impl Scan {
    /// The part of a chunk that belongs to the range, and whether more lines follow it.
    fn part_of<'a>(&mut self, chunk: &'a [u8], lines: &mut Lines) -> (&'a [u8], bool) {
        if self.remaining == 0 {
            lines.has_more = true;
            return (&[], true);
        }
        self.is_open = chunk.last().is_some_and(|last| *last != b'\n');
        let (mut begin, mut end) = (if self.skipped == 0 { 0 } else { chunk.len() }, chunk.len());
        for at in memchr_iter(b'\n', chunk) {
            if self.skipped > 0 {
                self.ends += 1;
                self.skipped -= 1;
                if self.skipped == 0 {
                    begin = at + 1;
                }
            } else if self.remaining > 0 {
                self.ends += 1;
                self.remaining -= 1;
                lines.count += 1;
                if self.remaining == 0 {
                    end = at + 1;
                    break;
                }
            }
        }
        lines.has_more = self.remaining == 0 && end < chunk.len();
        (&chunk[begin..end], lines.has_more)
    }

    /// Handles the end of the file, where the last line need not have a line end.
    fn end(&self, lines: &mut Lines) {
        lines.count += u64::from(lines.bytes.last().is_some_and(|last| *last != b'\n'));
        lines.total = Some(self.ends + u64::from(self.is_open));
        lines.has_more = false;
    }
}

/// Cuts after the last whole line within the limit, or within a line that is longer.
fn cut(lines: &mut Lines, limit: usize) {
    lines.has_more = true;
    let within = &lines.bytes[..limit];
    if let Some(at) = memrchr(b'\n', within) {
        lines.bytes.truncate(at + 1);
    } else {
        let whole = whole_characters(within);
        lines.bytes.truncate(whole);
        lines.is_cut = true;
    }
    let ends = memchr_iter(b'\n', &lines.bytes).count() as u64;
    lines.count = ends + u64::from(lines.is_cut);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use proptest::prelude::*;

    use super::*;

    fn of(content: &[u8], first: u64, count: u64, limit: u64) -> Lines {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), content).unwrap();
        let root = Root::open(directory.path()).unwrap();
        let range = LineRange { first, count, limit };
        read_lines(&root, "file", range, &AtomicBool::new(false)).unwrap()
    }

    /// The expected result, from all lines of the file.
    fn expected(content: &[u8], first: u64, count: u64, limit: u64) -> (Vec<u8>, bool) {
        let all: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let first = usize::try_from(first.max(1)).unwrap() - 1;
        let selected = all.get(first.min(all.len())..).unwrap();
        let count = selected.len().min(usize::try_from(count.max(1)).unwrap());
        let mut bytes = Vec::new();
        for line in &selected[..count] {
            if (bytes.len() + line.len()) as u64 > limit {
                return (bytes, true);
            }
            bytes.extend_from_slice(line);
        }
        (bytes, selected.len() > count)
    }

    proptest! {
        #[test]
        fn they_are_the_lines_of_the_whole_file(
            lines in prop::collection::vec("[a-zé]{0,9}", 0..40),
            ends in any::<bool>(),
            first in 0_u64..45,
            count in 0_u64..45,
            limit in 40_u64..400,
        ) {
            let content = lines.join("\n") + if ends { "\n" } else { "" };
            let read = of(content.as_bytes(), first, count, limit);
            let (bytes, has_more) = expected(content.as_bytes(), first, count, limit);
            prop_assert_eq!(String::from_utf8_lossy(&read.bytes), String::from_utf8_lossy(&bytes));
            prop_assert_eq!(read.has_more, has_more, "{:?}", read);
            let whole = content.split_inclusive('\n').count() as u64;
            prop_assert!(read.total.is_none_or(|total| total == whole), "{:?}", read);
            let here = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
            prop_assert_eq!(read.count, here);
            prop_assert!(!read.is_cut);
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing_and_the_number_of_lines_is_known() {
        let read = of(b"a\nb\nc", 9, 5, 100);
        assert_eq!((read.bytes.as_slice(), read.total), (&b""[..], Some(3)));
        let read = of(b"", 1, 5, 100);
        assert_eq!((read.bytes.as_slice(), read.total), (&b""[..], Some(0)));
    }

    #[test]
    fn chunks_make_no_difference() {
        let line = "x".repeat(99) + "\n";
        let content = line.repeat(20_000); // 2 MB
        let read = of(content.as_bytes(), 15_000, 3, 1 << 20);
        assert_eq!((read.bytes.len(), read.count, read.has_more), (300, 3, true));
        let read = of(content.as_bytes(), 20_000, 3, 1 << 20);
        assert_eq!((read.bytes.len(), read.total, read.has_more), (100, Some(20_000), false));
        let read = of(content.as_bytes(), 1, u64::MAX, 1 << 20);
        assert_eq!((read.count, read.has_more), ((1 << 20) / 100, true));
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut_between_characters() {
        let read = of("ééééé\nb\n".as_bytes(), 1, 2, 5);
        assert_eq!(String::from_utf8(read.bytes.clone()).unwrap(), "éé");
        assert!(read.is_cut && read.has_more);
        assert_eq!(read.count, 1);
    }

    #[test]
    fn a_binary_file_gives_no_lines() {
        let read = of(b"\x89PNG\0\0\nx", 1, 2, 100);
        assert!(read.is_binary && read.bytes.is_empty());
    }
}
