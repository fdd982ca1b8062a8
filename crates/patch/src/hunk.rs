//! A parsed patch: hunks, and the signed lines in them.

use std::fmt;
use std::ops::Range;

/// The sign of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Context,
    Removed,
    Added,
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLine<'p> {
    pub(crate) sign: Sign,
    /// The text without the sign and the ending.
    pub(crate) text: &'p str,
    pub(crate) cr: bool,
    /// `\ No newline at end of file` follows.
    pub(crate) unterminated: bool,
    /// A context line that is completely empty. Either its leading space was lost, or it is a blank
    /// line after the patch.
    pub(crate) bare: bool,
    /// Its number in the patch, from 1.
    pub(crate) patch_line: usize,
}

impl BodyLine<'_> {
    /// Whether the line must be in the file before the edit.
    pub(crate) fn is_old(&self) -> bool {
        self.sign != Sign::Added
    }

    /// Whether the line is in the file after the edit.
    pub(crate) fn is_new(&self) -> bool {
        self.sign != Sign::Removed
    }
}

/// The four numbers of a hunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) old_start: u64,
    pub(crate) old_count: u64,
    pub(crate) new_start: u64,
    pub(crate) new_count: u64,
}

impl Ranges {
    /// The ranges of a header without line numbers.
    pub(crate) const UNKNOWN: Self =
        Self { old_start: 0, old_count: 0, new_start: 0, new_count: 0 };

    /// The same place with other counts. An empty range names the line before it, so its start
    /// moves by one when a count becomes zero or stops being zero.
    pub(crate) fn with_counts(self, old_count: u64, new_count: u64) -> Self {
        fn moved(start: u64, before: u64, after: u64) -> u64 {
            match (before == 0, after == 0) {
                (true, false) => start.saturating_add(1),
                (false, true) => start.saturating_sub(1),
                _ => start,
            }
        }
        Self {
            old_start: moved(self.old_start, self.old_count, old_count),
            old_count,
            new_start: moved(self.new_start, self.new_count, new_count),
            new_count,
        }
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old_start, old_count, new_start, new_count } = self;
        write!(out, "@@ -{old_start},{old_count} +{new_start},{new_count} @@")
    }
}

/// An error in the header of a hunk that is still applied, if it fits in exactly one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderProblem {
    /// It has no line numbers.
    NoNumbers,
    /// Its counts differ from the lines under it.
    WrongCounts {
        /// It promises more lines than follow.
        falls_short: bool,
    },
}

/// One hunk: the place that it names, and which lines of [`Patch::lines`] are its body.
#[derive(Clone, Debug)]
pub(crate) struct Hunk<'p> {
    /// Its number from 1, as in messages.
    pub(crate) number: usize,
    /// As written, up to the closing `@@`.
    pub(crate) header: &'p str,
    /// The line of the header in the patch, from 1.
    pub(crate) patch_line: usize,
    pub(crate) ranges: Ranges,
    pub(crate) body: Range<usize>,
    /// If set, only its lines decide where it goes.
    pub(crate) problem: Option<HeaderProblem>,
}

impl Hunk<'_> {
    /// The index of the file line that the header names. -1 for a context hunk with `-0,n`.
    pub(crate) fn position(&self) -> i64 {
        let start = i64::try_from(self.ranges.old_start).unwrap_or(i64::MAX);
        // An empty range names the line after which to insert.
        if self.ranges.old_count == 0 { start } else { start - 1 }
    }
}

/// A patch for one file.
#[derive(Debug)]
pub(crate) struct Patch<'p> {
    pub(crate) hunks: Vec<Hunk<'p>>,
    /// The lines of every hunk, one after another.
    pub(crate) lines: Vec<BodyLine<'p>>,
}

impl<'p> Patch<'p> {
    pub(crate) fn body(&self, hunk: &Hunk<'_>) -> &[BodyLine<'p>] {
        self.lines.get(hunk.body.clone()).unwrap_or_default()
    }

    /// Whether some lines of the patch end in a carriage return and some do not. Only the author of
    /// a patch who means its endings writes that.
    pub(crate) fn mixes_endings(&self) -> bool {
        let mut lines = self.lines.iter().filter(|line| !line.unterminated);
        lines.next().is_some_and(|first| lines.any(|line| line.cr != first.cr))
    }
}

/// The lines of a body that must be in the file before the edit.
pub(crate) fn old_lines<'b, 'p>(
    body: &'b [BodyLine<'p>],
) -> impl Iterator<Item = &'b BodyLine<'p>> + Clone {
    body.iter().filter(|line| line.is_old())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_becomes_empty_names_the_line_before() {
        let header = Ranges { old_start: 10, old_count: 1, new_start: 10, new_count: 2 };
        assert_eq!(header.with_counts(0, 1).to_string(), "@@ -9,0 +10,1 @@");
        assert_eq!(header.with_counts(0, 1).with_counts(1, 2), header);
    }
}
