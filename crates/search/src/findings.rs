//! What one piece of the search has found and not yet handed over: whole lines, by file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::output::{Output, Skipped};

/// Lines in the order in which they were found, with what could not be searched between them.
#[derive(Default)]
pub(crate) struct Findings {
    bytes: Vec<u8>,
    lines: Vec<Line>,
    /// The files that `lines` are from, each with the number of its first one.
    files: Vec<(usize, PathBuf)>,
    /// What was passed over, each with the number of lines before it.
    skipped: Vec<(usize, PathBuf, String)>,
    /// A line longer than this cannot be in the output.
    line_limit: usize,
    /// A line was too long to be held. The output is full there, and nothing is taken after it.
    overflow: bool,
    /// The file at hand, relative to the root.
    at: Vec<u8>,
    /// Whether a line of it has been taken.
    named: bool,
}

struct Line {
    end: usize,
    matched: bool,
}

impl Findings {
    pub(crate) fn new(line_limit: usize) -> Self {
        Self { line_limit, ..Self::default() }
    }

    /// What comes now is from this path.
    pub(crate) fn enter(&mut self, path: &Path) {
        self.at.clear();
        self.at.extend_from_slice(path.as_os_str().as_bytes());
        self.named = false;
    }

    pub(crate) fn at(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.at))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.skipped.is_empty() && !self.overflow
    }

    /// How many bytes are held.
    pub(crate) fn size(&self) -> usize {
        let paths = self.files.iter().map(|(_, path)| path.as_os_str().len()).sum::<usize>();
        let skipped: usize =
            self.skipped.iter().map(|(_, path, why)| path.as_os_str().len() + why.len()).sum();
        self.bytes.len() + self.lines.len() * size_of::<Line>() + paths + skipped
    }

    /// How many bytes of output are held.
    pub(crate) fn output_size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Whether there is no point in looking for more.
    pub(crate) fn is_closed(&self) -> bool {
        self.overflow
    }

    fn committed(&self) -> usize {
        self.lines.last().map_or(0, |line| line.end)
    }

    /// Takes a piece of a line.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let begun = self.bytes.len() - self.committed();
        if self.overflow || piece.len() > self.line_limit.saturating_sub(begun) {
            self.overflow = true;
            return;
        }
        self.bytes.extend_from_slice(piece);
    }

    /// Takes what was pushed since the last commit as a line.
    pub(crate) fn commit(&mut self, matched: bool) {
        if !self.named && (self.overflow || self.bytes.len() > self.committed()) {
            self.named = true;
            self.files.push((self.lines.len(), self.at().to_owned()));
        }
        if self.overflow {
            self.bytes.truncate(self.committed());
        } else if self.bytes.len() > self.committed() {
            // A match in a file already known as binary prints no line, and is none.
            self.lines.push(Line { end: self.bytes.len(), matched });
        }
    }

    /// Notes that `path` was not searched, or not to its end.
    pub(crate) fn skip(&mut self, path: PathBuf, reason: String) {
        if !self.overflow {
            self.skipped.push((self.lines.len(), path, reason));
        }
    }

    /// Hands everything over, in order, as far as it fits.
    pub(crate) fn move_to(&mut self, output: &mut Output, skipped: &mut Skipped) {
        let mut passed = std::mem::take(&mut self.skipped).into_iter().peekable();
        let (mut taken, mut fitted) = (0, true);
        for (number, line) in self.lines.iter().enumerate() {
            while let Some((_, path, reason)) = passed.next_if(|(before, ..)| *before <= number) {
                skipped.add(path, reason);
            }
            fitted = output.line(&self.bytes[taken..line.end], line.matched);
            if !fitted {
                output.stop_in(self.file_of(number));
                break;
            }
            taken = line.end;
        }
        if fitted {
            for (_, path, reason) in passed {
                skipped.add(path, reason);
            }
            if self.overflow {
                output.close();
                output.stop_in(self.file_of(self.lines.len()));
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
