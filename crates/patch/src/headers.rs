//! The lines of a patch outside of its hunks: file headers, and the prose and fences around them.

use std::rc::Rc;

use crate::error::{HeaderLine, PatchError};
use crate::hunk::Ranges;
use crate::line_feeds;

/// One line of the patch text, without its ending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchLine<'p> {
    pub(crate) text: &'p str,
    pub(crate) cr: bool,
}

/// The text of a patch as lines. A newline at the very end begins no further line.
#[derive(Clone, Debug)]
pub(crate) struct PatchText<'p> {
    text: &'p str,
    /// Where each line ends, without its ending.
    ends: Rc<Vec<usize>>,
    /// The number of lines that are looked at.
    len: usize,
}

impl<'p> PatchText<'p> {
    pub(crate) fn new(text: &'p str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut ends = line_feeds::positions(text.as_bytes());
        if !text.is_empty() && !text.ends_with('\n') {
            ends.push(text.len());
        }
        let len = ends.len();
        Self { text, ends: Rc::new(ends), len }
    }

    /// The lines before `end`, with the same numbers.
    pub(crate) fn before(&self, end: usize) -> Self {
        Self { len: end.min(self.len), ..self.clone() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn line(&self, at: usize) -> Option<PatchLine<'p>> {
        let end = *self.ends.get(at).filter(|_| at < self.len)?;
        let start = match at.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before)? + 1,
        };
        let line = self.text.get(start..end)?;
        Some(match line.strip_suffix('\r') {
            Some(text) => PatchLine { text, cr: true },
            None => PatchLine { text: line, cr: false },
        })
    }

    pub(crate) fn text(&self, at: usize) -> Option<&'p str> {
        self.line(at).map(|line| line.text)
    }

    /// The lines from `at` on.
    pub(crate) fn rest(&self, at: usize) -> impl Iterator<Item = &'p str> {
        (at..self.len()).filter_map(|at| self.text(at))
    }
}

pub(crate) enum HeaderFault {
    /// It has no line numbers.
    Bare,
    /// Its line numbers cannot be read.
    Unreadable,
}

/// Whether a line looks like a hunk header, valid or not.
pub(crate) fn is_hunk_header(line: &str) -> bool {
    line.strip_prefix("@@")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '-', '@']))
}

/// Parses a hunk header, and returns the part of the line up to the closing `@@`.
pub(crate) fn read_hunk_header(line: &str) -> Result<(Ranges, &str), HeaderFault> {
    let rest = line.strip_prefix("@@").unwrap_or(line).trim_start();
    let old = rest.strip_prefix('-').ok_or(HeaderFault::Bare)?;
    if !old.starts_with(|char: char| char.is_ascii_digit()) {
        return Err(HeaderFault::Bare);
    }
    let (old_start, old_count, rest) = read_range(old).ok_or(HeaderFault::Unreadable)?;
    let new = rest.trim_start().strip_prefix('+').ok_or(HeaderFault::Unreadable)?;
    let (new_start, new_count, rest) = read_range(new).ok_or(HeaderFault::Unreadable)?;
    let rest = rest.trim_start().strip_prefix("@@").ok_or(HeaderFault::Unreadable)?;
    let header = line.get(..line.len() - rest.len()).unwrap_or(line);
    Ok((Ranges { old_start, old_count, new_start, new_count }, header))
}

/// Parses `start` or `start,count`. A missing count is 1.
fn read_range(text: &str) -> Option<(usize, usize, &str)> {
    let (start, rest) = read_number(text)?;
    match rest.strip_prefix(',') {
        None => Some((start, 1, rest)),
        Some(count) => read_number(count).map(|(count, rest)| (start, count, rest)),
    }
}

/// A number that is too large is not a line number.
fn read_number(text: &str) -> Option<(usize, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    Some((digits.parse().ok()?, rest))
}

pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

pub(crate) fn is_old_name(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("---\t")
}

pub(crate) fn is_new_name(line: &str) -> bool {
    line.starts_with("+++ ") || line.starts_with("+++\t")
}

/// The last line of a patch that ends without a line end, if it is behind line `end` and what is left of a line that
/// begins a hunk or names a file.
pub(crate) fn cut_header(lines: &PatchText<'_>, end: usize) -> Option<HeaderLine> {
    const BEGINNINGS: [&str; 2] = ["@@ ", "diff --git "];
    let last = lines.len().checked_sub(1).filter(|last| *last >= end)?;
    let line = lines.text(last).filter(|line| !line.is_empty())?;
    let is_part = |whole: &&str| whole.starts_with(line) || line.starts_with(*whole);
    (BEGINNINGS.iter().any(is_part) || is_old_name(line) || is_new_name(line))
        .then(|| HeaderLine::new(last, line))
}

pub(crate) fn is_name_pair(old: &str, new: &str) -> bool {
    is_old_name(old) && is_new_name(new)
}

fn is_dev_null(line: &str) -> bool {
    line.get(4..)
        .is_some_and(|name| name.split('\t').next().unwrap_or_default().trim() == "/dev/null")
}

/// Whether another file begins at line `at`, which follows a hunk. Removed and added lines can look
/// like file names, so this is stricter than above the first hunk: either a hunk follows, or the
/// patch ends.
pub(crate) fn begins_file(lines: &PatchText<'_>, at: usize) -> bool {
    let text = |at: usize| lines.text(at);
    let Some(line) = text(at) else { return false };
    if line.starts_with("diff --git ") {
        return true;
    }
    let next = text(at + 1);
    if is_old_name(line) && next.is_some_and(is_new_name) {
        return text(at + 2).is_none_or(|line| line.is_empty() || is_hunk_header(line));
    }
    (is_old_name(line) || is_new_name(line)) && next.is_some_and(is_hunk_header)
}

/// What a patch in the format of `apply_patch` does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Update,
    Add,
    Delete,
    Move,
}

fn envelope(line: &str) -> Option<Operation> {
    let rest = line.strip_prefix("*** ")?;
    let operations = [
        ("Update File: ", Operation::Update),
        ("Add File: ", Operation::Add),
        ("Delete File: ", Operation::Delete),
        ("Move to: ", Operation::Move),
    ];
    operations.into_iter().find_map(|(word, operation)| rest.starts_with(word).then_some(operation))
}

/// Whether a line ends a hunk in the format of `apply_patch`.
pub(crate) fn is_envelope(line: &str) -> bool {
    line.starts_with("*** ")
}

/// What the lines outside of hunks mean for the patch.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// The first line that names a file, from 1.
    named: Option<usize>,
    git: bool,
    names: bool,
    several: Option<PatchError>,
    /// Creation, deletion, renaming, binary content.
    unusable: Option<PatchError>,
    mode: Option<PatchError>,
}

impl Headers {
    /// Reads the line at `at`, and returns the number of lines that it took.
    pub(crate) fn read(&mut self, lines: &PatchText<'_>, at: usize, after_hunk: bool) -> usize {
        let Some(line) = lines.text(at) else { return 1 };
        if after_hunk {
            if begins_file(lines, at) || envelope(line).is_some() {
                self.second_file(at, line);
            }
            return 1;
        }
        if line.starts_with("diff --git ") {
            if self.git || self.names {
                self.second_file(at, line);
            }
            self.git = true;
            self.named.get_or_insert(at + 1);
        } else if is_old_name(line) || is_new_name(line) {
            return self.read_names(lines, at, line);
        } else if let Some(name) = envelope(line) {
            self.read_envelope(at, line, name);
        } else if line.starts_with("Index: ") {
            self.named.get_or_insert(at + 1);
        } else {
            self.read_extended(at, line);
        }
        1
    }

    /// The reason for refusing the patch, as far as it was read.
    pub(crate) fn refusal(&mut self, with_hunks: bool) -> Result<(), PatchError> {
        let mut refusal = self.several.take().or_else(|| self.unusable.take());
        if !with_hunks {
            let no_hunks = self.named.map(|patch_line| PatchError::NoHunks { patch_line });
            refusal = refusal.or_else(|| self.mode.take()).or(no_hunks);
        }
        refusal.map_or(Ok(()), Err)
    }

    fn second_file(&mut self, at: usize, line: &str) {
        self.several.get_or_insert_with(|| PatchError::SeveralFiles(HeaderLine::new(at, line)));
    }

    fn read_names(&mut self, lines: &PatchText<'_>, at: usize, line: &str) -> usize {
        let next = lines.text(at + 1).unwrap_or_default();
        let pair = is_name_pair(line, next);
        // A single `--- ` may be prose (a ruler). Above a hunk header it is half of a file header.
        if !pair && !is_hunk_header(next) && !is_dev_null(line) {
            return 1;
        }
        if self.names {
            self.second_file(at, line);
        }
        self.names = true;
        self.named.get_or_insert(at + 1);
        let new = if pair { next } else { line };
        if is_old_name(line) && is_dev_null(line) {
            self.refuse(PatchError::Creation, at, line);
        } else if is_new_name(new) && is_dev_null(new) {
            self.refuse(PatchError::Deletion, at + usize::from(pair), new);
        }
        if pair { 2 } else { 1 }
    }

    /// The lines that name a file in the format of `apply_patch`. Its hunks are those of a diff
    /// without line numbers.
    fn read_envelope(&mut self, at: usize, line: &str, operation: Operation) {
        // The line under the file name moves the file.
        if self.names && operation != Operation::Move {
            self.second_file(at, line);
        }
        self.names = true;
        self.named.get_or_insert(at + 1);
        match operation {
            Operation::Update => {}
            Operation::Add => self.refuse(PatchError::Creation, at, line),
            Operation::Delete => self.refuse(PatchError::Deletion, at, line),
            Operation::Move => self.refuse(PatchError::Rename, at, line),
        }
    }

    /// Git's lines between `diff --git` and the file names. Without that first line they are prose.
    fn read_extended(&mut self, at: usize, line: &str) {
        let mode = |prefix: &str| {
            line.strip_prefix(prefix).is_some_and(|mode| mode.trim().parse::<u32>().is_ok())
        };
        let moves = || {
            ["rename from ", "rename to ", "copy from ", "copy to "]
                .iter()
                .any(|prefix| line.starts_with(prefix))
        };
        if mode("new file mode ") {
            self.refuse(PatchError::Creation, at, line);
        } else if mode("deleted file mode ") {
            self.refuse(PatchError::Deletion, at, line);
        } else if line == "GIT binary patch"
            || (line.starts_with("Binary files ") && line.ends_with(" differ"))
        {
            self.refuse(PatchError::Binary, at, line);
        } else if self.git && (mode("old mode ") || mode("new mode ")) {
            self.mode.get_or_insert_with(|| PatchError::ModeOnly(HeaderLine::new(at, line)));
        } else if self.git && moves() {
            self.refuse(PatchError::Rename, at, line);
        }
    }

    fn refuse(&mut self, reason: fn(HeaderLine) -> PatchError, at: usize, line: &str) {
        self.unusable.get_or_insert_with(|| reason(HeaderLine::new(at, line)));
    }
}
