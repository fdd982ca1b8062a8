//! The results of one worker that the output has not yet: whole lines, by file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::output::{Output, Unsearched};

/// Lines in the order in which they were found, and the files between them that could not be
/// searched.
#[derive(Default)]
pub(crate) struct MatchBuffer {
    bytes: Vec<u8>,
    lines: Vec<Line>,
    /// The files that `lines` come from, each with the index of its first line.
    files: Vec<(usize, PathBuf)>,
    /// The files that could not be searched, each with the number of lines before it.
    unsearched: Vec<(usize, PathBuf, String)>,
    /// A line longer than this cannot be in the output.
    line_limit: usize,
    /// A line was longer than that. The output is full there, and nothing is accepted after it.
    pub(crate) overflow: bool,
    /// The current file, relative to the root.
    current: Vec<u8>,
    /// Whether `files` has the current file.
    named: bool,
}

struct Line {
    end: usize,
    matched: bool,
}

impl MatchBuffer {
    pub(crate) fn new(line_limit: usize) -> Self {
        Self { line_limit, ..Self::default() }
    }

    /// The lines that follow are from this path.
    pub(crate) fn enter(&mut self, path: &Path) {
        self.current.clear();
        self.current.extend_from_slice(path.as_os_str().as_bytes());
        self.named = false;
    }

    pub(crate) fn current(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.current))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.unsearched.is_empty() && !self.overflow
    }

    /// The memory that the buffer takes.
    pub(crate) fn size(&self) -> usize {
        let paths = self.files.iter().map(|(_, path)| path.as_os_str().len()).sum::<usize>();
        let unsearched: usize =
            self.unsearched.iter().map(|(_, path, why)| path.as_os_str().len() + why.len()).sum();
        self.bytes.len() + self.lines.len() * size_of::<Line>() + paths + unsearched
    }

    /// The size of the buffered lines.
    pub(crate) fn output_size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    fn committed(&self) -> usize {
        self.lines.last().map_or(0, |line| line.end)
    }

    /// Appends a piece of a line.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let pending = self.bytes.len() - self.committed();
        if self.overflow || piece.len() > self.line_limit.saturating_sub(pending) {
            self.overflow = true;
            return;
        }
        self.bytes.extend_from_slice(piece);
    }

    /// Ends the line that was pushed since the last commit.
    pub(crate) fn commit(&mut self, matched: bool) {
        if !self.named && (self.overflow || self.bytes.len() > self.committed()) {
            self.named = true;
            self.files.push((self.lines.len(), self.current().to_owned()));
        }
        if self.overflow {
            self.bytes.truncate(self.committed());
        } else if self.bytes.len() > self.committed() {
            // A match in a file already known to be binary pushes nothing, and does not count.
            self.lines.push(Line { end: self.bytes.len(), matched });
        }
    }

    /// Records that `path` was not searched, or not to its end.
    pub(crate) fn skip(&mut self, path: PathBuf, reason: String) {
        if !self.overflow {
            self.unsearched.push((self.lines.len(), path, reason));
        }
    }

    /// Moves everything to `output` and `unsearched`, in order, as far as it fits.
    pub(crate) fn drain_into(&mut self, output: &mut Output, unsearched: &mut Unsearched) {
        let mut pending = std::mem::take(&mut self.unsearched).into_iter().peekable();
        let (mut start, mut fitted) = (0, true);
        for (number, line) in self.lines.iter().enumerate() {
            while let Some((_, path, reason)) = pending.next_if(|(before, ..)| *before <= number) {
                unsearched.add(path, reason);
            }
            fitted = output.push_line(&self.bytes[start..line.end], line.matched);
            if !fitted {
                self.file_of(number).clone_into(&mut output.stopped_in);
                break;
            }
            start = line.end;
        }
        if fitted {
            for (_, path, reason) in pending {
                unsearched.add(path, reason);
            }
            if self.overflow {
                // The line was too long even to be buffered.
                output.full = true;
                self.file_of(self.lines.len()).clone_into(&mut output.stopped_in);
            }
        }
        self.bytes.clear();
        self.lines.clear();
        self.files.clear();
        self.overflow = false;
        self.named = false;
    }

    fn file_of(&self, line: usize) -> &Path {
        let after = self.files.partition_point(|(first, _)| *first <= line);
        after.checked_sub(1).map_or(Path::new(""), |at| self.files[at].1.as_path())
    }
}
