//! What is known after an edit of a file that others have changed too.

use std::ops::Range;

use crate::difference::{Block, Difference, blocks};
use crate::entry::Entry;
use crate::judge::{Change, is_covered};
use crate::known::Known;
use crate::lines::{joined, lines};
use crate::parts::Start;

/// How many lines from an edit a change still is near it.
const NEAR: usize = 10;

/// An edit, and what the model has not seen of the file.
#[derive(Debug, Clone, Default)]
pub struct Edited {
    /// What others have changed near the edit.
    pub near: Option<Difference>,
    /// All that others have changed.
    pub change: Option<Change>,
    /// Some of it is directly before or after the lines of the edit.
    pub is_beside: bool,
    /// Some of it makes the lines of the edit have other numbers.
    pub is_below: bool,
    /// Others have changed the file, and it is not known where.
    pub is_outdated: bool,
    /// What is known after the edit; `None` for a file that was never read.
    pub(crate) then: Option<Entry>,
}

impl Edited {
    /// Whether anything was known of the file.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.then.is_some()
    }
}

impl Entry {
    /// What the model knows of the file once its edit has made `after` of `before`.
    pub(crate) fn edit(&self, before: &[u8], after: &[u8], limit_bytes: usize) -> Edited {
        // Mostly nobody else has changed the file, and all of it is known.
        if self.parts.is_empty() && self.whole.as_ref().is_some_and(|known| known.is(before)) {
            let then = Self { whole: Some(Known::of(after)), ..self.clone() };
            return Edited { then: Some(then), ..Edited::default() };
        }
        let (before_lines, after_lines) = (lines(before), lines(after));
        let own = blocks(&before_lines, &after_lines);
        let mut edited = Edited::default();
        let mut then = self.clone();
        let covered = self.covered(&before_lines);
        then.move_parts(&before_lines, &after_lines, &own);
        match &self.whole {
            None => {}
            Some(known) if known.is(before) => then.whole = Some(Known::of(after)),
            Some(Known::Text(text)) => {
                let old = lines(text);
                let mut others = blocks(&old, &before_lines);
                others.retain(|block| !is_covered(&block.new, &covered));
                // What the edit itself replaces was its context. The rest of such a change was not.
                let others: Vec<_> = others.iter().flat_map(|block| rest(block, &own)).collect();
                if let Some(first) = own.first().filter(|_| !others.is_empty()) {
                    let is_above = |block: &Block| block.new.end <= first.old.start;
                    let shifts = |block: &Block| block.new.len() != block.old.len();
                    edited.is_below = others.iter().any(|block| is_above(block) && shifts(block));
                    let difference = Difference::of(&old, &before_lines, &others, limit_bytes);
                    let then = Self::of(before);
                    edited.change = Some(Change { difference: Some(difference), then });
                }
                let distance = |block: &Block| {
                    own.iter().map(|one| gap(&one.old, &block.new)).min().unwrap_or(usize::MAX)
                };
                let (mut near, mut far): (Vec<_>, Vec<_>) =
                    others.into_iter().partition(|block| distance(block) <= NEAR);
                if !near.is_empty() {
                    let shown = Difference::of(&old, &before_lines, &near, limit_bytes);
                    edited.is_beside = near.iter().any(|block| distance(block) == 0);
                    if !shown.is_complete {
                        far.append(&mut near);
                    }
                    edited.near = Some(shown);
                }
                then.whole = Some(if far.is_empty() {
                    Known::of(after)
                } else {
                    Known::of(&without(&far, &own, &old, &before_lines, &after_lines))
                });
            }
            Some(known @ (Known::Hash(_) | Known::Outdated)) => {
                edited.is_outdated = matches!(known, Known::Hash(_));
                then.whole = Some(Known::Outdated);
            }
        }
        edited.then = Some(then);
        edited
    }

    /// Parts show what the edit has made of their lines.
    fn move_parts(&mut self, before: &[&[u8]], after: &[&[u8]], own: &[Block]) {
        for part in &mut self.parts {
            let Some(range) = part.find(before) else { continue };
            let (from, to) = (moved_start(range.start, own), moved_end(range.end, own));
            part.start = Start::Line(from as u64);
            part.text = joined(after[from..to.max(from)].iter().copied());
        }
    }
}

fn moved_start(line: usize, own: &[Block]) -> usize {
    let last = own.iter().rev().find(|block| block.old.start < line);
    match last {
        Some(block) if line < block.old.end => block.new.start,
        Some(block) => block.new.end + (line - block.old.end),
        None => line,
    }
}

fn moved_end(line: usize, own: &[Block]) -> usize {
    let last = own.iter().rev().find(|block| block.old.start < line || block.old.end <= line);
    match last {
        Some(block) if line < block.old.end => block.new.end,
        Some(block) => block.new.end + (line - block.old.end),
        None => line,
    }
}

/// The lines after the edit, as they would be without some changes of others.
fn without(
    others: &[Block],
    own: &[Block],
    old: &[&[u8]],
    before: &[&[u8]],
    after: &[&[u8]],
) -> Vec<u8> {
    let mut pieces: Vec<(&Range<usize>, &[&[u8]])> = own
        .iter()
        .map(|block| (&block.old, &after[block.new.clone()]))
        .chain(others.iter().map(|block| (&block.new, &old[block.old.clone()])))
        .collect();
    pieces.sort_by_key(|(range, _)| (range.start, range.end));
    let mut lines: Vec<&[u8]> = Vec::with_capacity(after.len());
    let mut at = 0;
    for (range, instead) in pieces {
        lines.extend(&before[at.min(range.start)..range.start]);
        lines.extend(instead);
        at = at.max(range.end);
    }
    lines.extend(&before[at..]);
    joined(lines)
}

/// A change of others without the lines that the edit replaces. The first piece has what it replaced itself.
fn rest(block: &Block, own: &[Block]) -> Vec<Block> {
    if !own.iter().any(|one| overlap(&one.old, &block.new)) {
        return vec![block.clone()];
    }
    let mut pieces = Vec::new();
    let mut at = block.new.start;
    for one in own.iter().filter(|one| overlap(&one.old, &block.new)) {
        pieces.push(at..one.old.start.max(at));
        at = at.max(one.old.end);
    }
    pieces.push(at..block.new.end.max(at));
    pieces.retain(|piece| !piece.is_empty());
    let replaced =
        |first: bool| if first { block.old.clone() } else { block.old.end..block.old.end };
    let of = |(index, new): (usize, Range<usize>)| Block { old: replaced(index == 0), new };
    pieces.into_iter().enumerate().map(of).collect()
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// How many lines are between two ranges.
fn gap(one: &Range<usize>, other: &Range<usize>) -> usize {
    if one.end <= other.start { other.start - one.end } else { one.start.saturating_sub(other.end) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Ledger;

    /// The context of an edit is what it replaces, and not all of a change that it is a part of.
    #[test]
    fn an_edit_within_a_change_of_others_shows_the_rest_of_it() {
        let (ledger, path) = (Ledger::default(), Path::new("/file"));
        ledger.written(path, b"one\ntwo\nend\n");
        let (before, after) = (b"three\nfour\nend\n", b"mine\nfour\nend\n");
        let edited = ledger.judge_edit(path, before, after, 1000);
        assert!(edited.is_beside);
        let near = edited.near.as_ref().expect("shown");
        assert!(near.text.contains("+four") && !near.text.contains("+three"), "{near:?}");
    }

    #[test]
    fn an_edit_of_all_that_others_have_changed_has_seen_it() {
        let (ledger, path) = (Ledger::default(), Path::new("/file"));
        ledger.written(path, b"one\ntwo\nend\n");
        let edited = ledger.judge_edit(path, b"three\nend\n", b"mine\nend\n", 1000);
        assert!(edited.near.is_none() && !edited.is_beside);
    }
}
