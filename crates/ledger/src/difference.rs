//! The difference between two texts, for a reader.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Longer differences are found less exactly.
const MAX_TIME: Duration = Duration::from_millis(200);
/// Unchanged lines around a change that are shown with it.
const CONTEXT: usize = 2;

/// Lines of one text, and those that are in their place in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Where two texts differ, in their order.
pub(crate) fn blocks(old: &[&[u8]], new: &[&[u8]]) -> Vec<Block> {
    // What is equal at both ends is most of nearly every text.
    let before = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let after = ends.take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) =
        (&old_rest[..old_rest.len() - after], &new_rest[..new_rest.len() - after]);
    let deadline = Some(Instant::now() + MAX_TIME);
    let mut blocks: Vec<Block> = Vec::new();
    for op in capture_diff_slices_deadline(Algorithm::Myers, old_rest, new_rest, deadline) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (shifted(&op.old_range(), before), shifted(&op.new_range(), before));
        match blocks.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => blocks.push(Block { old, new }),
        }
    }
    blocks
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// What has changed, as the hunks of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The hunks. Bytes that are not UTF-8 are U+FFFD.
    pub text: String,
    /// Whether `text` has all of them.
    pub is_complete: bool,
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
}

impl Difference {
    /// The blocks with the lines around them, as much as fits `limit_bytes`.
    pub(crate) fn of(old: &[&[u8]], new: &[&[u8]], blocks: &[Block], limit_bytes: usize) -> Self {
        let mut difference = Self {
            text: String::new(),
            is_complete: true,
            added: blocks.iter().map(|block| block.new.len()).sum(),
            removed: blocks.iter().map(|block| block.old.len()).sum(),
        };
        let mut rest = blocks;
        while let Some(count) = hunk_length(rest) {
            let (hunk, later) = rest.split_at(count);
            rest = later;
            if !difference.push_hunk(old, new, hunk, limit_bytes) {
                difference.is_complete = false;
                break;
            }
        }
        difference
    }

    /// False if not all of it fits.
    fn push_hunk(
        &mut self,
        old: &[&[u8]],
        new: &[&[u8]],
        hunk: &[Block],
        limit_bytes: usize,
    ) -> bool {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return true };
        let lead = CONTEXT.min(first.new.start).min(first.old.start);
        let tail = CONTEXT.min(new.len() - last.new.end).min(old.len() - last.old.end);
        let (from, to) = (first.new.start - lead, last.new.end + tail);
        let old_from = first.old.start - lead;
        let old_count = last.old.end + tail - old_from;
        let mut lines = vec![format!(
            "@@ -{},{old_count} +{},{} @@",
            start(old_from, old_count),
            start(from, to - from),
            to - from
        )];
        let mut at = from;
        let push = |lines: &mut Vec<String>, mark: char, line: &[u8]| {
            let mut text = String::from(mark);
            let _ = write!(text, "{}", String::from_utf8_lossy(line));
            lines.push(text);
        };
        for block in hunk {
            for line in &new[at..block.new.start] {
                push(&mut lines, ' ', line);
            }
            for line in &old[block.old.clone()] {
                push(&mut lines, '-', line);
            }
            for line in &new[block.new.clone()] {
                push(&mut lines, '+', line);
            }
            at = block.new.end;
        }
        for line in &new[at..to] {
            push(&mut lines, ' ', line);
        }
        for line in lines {
            if self.text.len() + line.len() + 1 > limit_bytes {
                return false;
            }
            self.text.push_str(&line);
            self.text.push('\n');
        }
        true
    }
}

/// How many of the blocks share the lines around them.
fn hunk_length(blocks: &[Block]) -> Option<usize> {
    blocks.first()?;
    let apart =
        blocks.windows(2).position(|pair| pair[1].new.start - pair[0].new.end > 2 * CONTEXT);
    Some(apart.map_or(blocks.len(), |last| last + 1))
}

/// A line number of a header, which is that of the line before where there are none.
fn start(index: usize, count: usize) -> usize {
    if count == 0 { index } else { index + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::lines;

    fn shown(old: &str, new: &str, limit: usize) -> Difference {
        let (old, new) = (lines(old.as_bytes()), lines(new.as_bytes()));
        Difference::of(&old, &new, &blocks(&old, &new), limit)
    }

    #[test]
    fn a_difference_is_shown_as_hunks() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
        let difference = shown(old, "A\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 1000);
        assert_eq!(
            difference.text,
            "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n@@ -8,2 +8,3 @@\n h\n i\n+j\n"
        );
        assert_eq!((difference.added, difference.removed), (2, 1));
        assert!(difference.is_complete);
        assert_eq!(shown("", "a\n", 1000).text, "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(shown("a\n", "", 1000).text, "@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(shown(old, old, 1000).text, "");
    }

    #[test]
    fn a_long_difference_is_cut_between_lines_and_says_so() {
        let difference = shown("", &"line\n".repeat(1000), 100);
        assert!(!difference.is_complete && difference.text.len() <= 100);
        assert!(difference.text.ends_with("+line\n"));
        assert_eq!(difference.added, 1000);
    }
}
