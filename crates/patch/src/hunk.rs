//! A parsed patch: hunks, and the signed lines in them.

use std::fmt;
use std::ops::Range;

use crate::error::PatchError;
use crate::excerpt::excerpt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Context,
    Removed,
    Added,
}

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

/// The old and new lines of a body.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) old: usize,
    pub(crate) new: usize,
}

impl Counts {
    pub(crate) fn of(body: &[BodyLine<'_>]) -> Self {
        let mut counts = Self::default();
        for line in body {
            counts.add(line);
        }
        counts
    }

    pub(crate) fn add(&mut self, line: &BodyLine<'_>) {
        self.old += usize::from(line.is_old());
        self.new += usize::from(line.is_new());
    }
}

/// The four numbers of a hunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) old_start: usize,
    pub(crate) old_count: usize,
    pub(crate) new_start: usize,
    pub(crate) new_count: usize,
}

impl Ranges {
    /// The ranges of a header without line numbers.
    pub(crate) const UNKNOWN: Self =
        Self { old_start: 0, old_count: 0, new_start: 0, new_count: 0 };

    /// The same place with other counts. An empty range names the line before it, so its start
    /// moves by one when a count becomes zero or stops being zero.
    pub(crate) fn with_counts(self, Counts { old, new }: Counts) -> Self {
        let moved = |start: usize, before: usize, after: usize| match (before == 0, after == 0) {
            (true, false) => start.saturating_add(1),
            (false, true) => start.saturating_sub(1),
            _ => start,
        };
        Self {
            old_start: moved(self.old_start, self.old_count, old),
            old_count: old,
            new_start: moved(self.new_start, self.new_count, new),
            new_count: new,
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
    pub(crate) fn position(&self) -> isize {
        let start = isize::try_from(self.ranges.old_start).unwrap_or(isize::MAX);
        // An empty range names the line after which to insert.
        if self.ranges.old_count == 0 { start } else { start - 1 }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Patch<'p> {
    pub(crate) hunks: Vec<Hunk<'p>>,
    /// The lines of every hunk, one after another.
    pub(crate) lines: Vec<BodyLine<'p>>,
    /// For each hunk what its `@@` lines say, in the format of `apply_patch`. Empty for a unified
    /// diff.
    pub(crate) scopes: Vec<Scope<'p>>,
    /// The whole text has no letter beyond ASCII. Otherwise its lines have to be asked.
    pub(crate) is_ascii: bool,
}

/// The part of a file in which a hunk belongs.
#[derive(Debug, Default)]
pub(crate) struct Scope<'p> {
    /// The lines of the file named after `@@`, the outermost first.
    pub(crate) anchors: Vec<&'p str>,
    /// Several `@@` lines in a row must all be in the file. A single one may be a remark.
    pub(crate) required: bool,
    /// The line number of a header that has one, from 1.
    pub(crate) stated: Option<usize>,
    /// `*** End of File` follows the hunk.
    pub(crate) at_end: bool,
    /// Whether added lines alone go to the end of the file.
    pub(crate) appends: bool,
}

impl<'p> Patch<'p> {
    pub(crate) fn body(&self, hunk: &Hunk<'_>) -> &[BodyLine<'p>] {
        &self.lines[hunk.body.clone()]
    }

    /// Whether a header promises more lines than follow.
    pub(crate) fn falls_short(&self) -> bool {
        let is_short = |hunk: &Hunk<'_>| {
            hunk.problem == Some(HeaderProblem::WrongCounts { falls_short: true })
        };
        // Only the last hunk may have fewer lines without a problem.
        let last = self.hunks.last().filter(|last| last.problem.is_none());
        self.hunks.iter().any(is_short)
            || last.is_some_and(|last| Counts::of(self.body(last)).old < last.ranges.old_count)
    }

    /// Refuses added lines that were copied from a lossy decoding.
    pub(crate) fn refuse_replacement(&self) -> Result<(), PatchError> {
        for hunk in &self.hunks {
            for line in self.body(hunk) {
                if line.sign == Sign::Added && line.text.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(PatchError::ReplacementCharacter {
                        hunk: hunk.number,
                        patch_line: line.patch_line,
                        text: excerpt(line.text),
                    });
                }
            }
        }
        Ok(())
    }

    /// Refuses hunks that change nothing.
    pub(crate) fn refuse_unchanged(&self) -> Result<(), PatchError> {
        if self.lines.iter().all(|line| line.sign == Sign::Context) {
            return Err(PatchError::NoChanges);
        }
        Ok(())
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

/// A body without the blank lines at its end: they may be context that lost its space, or may be
/// after the hunk.
pub(crate) fn without_blank_end<'b, 'p>(body: &'b [BodyLine<'p>]) -> &'b [BodyLine<'p>] {
    let blank = body.iter().rev().take_while(|line| line.bare).count();
    &body[..body.len() - blank]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_becomes_empty_names_the_line_before() {
        let header = Ranges { old_start: 10, old_count: 1, new_start: 10, new_count: 2 };
        let empty = header.with_counts(Counts { old: 0, new: 1 });
        assert_eq!(empty.to_string(), "@@ -9,0 +10,1 @@");
        assert_eq!(empty.with_counts(Counts { old: 1, new: 2 }), header);
    }
}
