//! Hunks whose lines fit but for the white space around them: how much deeper the file is indented, and what the
//! added lines become.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::hunk::{BodyLine, Sign, old_lines};
use crate::lines::Lines;
use crate::spacing::Spacing;

/// How much deeper the lines of the file are indented than those of a hunk: by one difference throughout, and of
/// one character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The number of characters. Negative where the file is indented less.
    pub(crate) by: isize,
    /// Tabs, and not spaces.
    pub(crate) tabs: bool,
}

/// The difference between the indentations of a hunk and of the file at `at`. `None` if there is not one, or the
/// added lines cannot have it.
pub(crate) fn shift(file: &Lines<'_>, body: &[BodyLine<'_>], at: usize) -> Option<Shift> {
    let pairs = old_lines(body).zip(at..).filter_map(|(line, at)| {
        let own = file.get(at)?.decoded().into_owned();
        (!is_blank(line.text))
            .then(|| (indentation(line.text).to_owned(), indentation(&own).to_owned()))
    });
    let pairs: Vec<(String, String)> = pairs.collect();
    if pairs.iter().all(|(theirs, own)| theirs == own) {
        return Some(Shift::default());
    }
    let added = || body.iter().filter(|line| line.sign == Sign::Added && !is_blank(line.text));
    let olds = pairs.iter().flat_map(|(theirs, own)| [&**theirs, &**own]);
    let mut chars = olds.chain(added().map(|line| indentation(line.text))).flat_map(str::chars);
    let char = chars.next()?;
    if !matches!(char, ' ' | '\t') || chars.any(|other| other != char) {
        return None;
    }
    let mut differences =
        pairs.iter().map(|(theirs, own)| own.len().cast_signed() - theirs.len().cast_signed());
    let by = differences.next()?;
    let is_one = differences.all(|other| other == by);
    let is_room = added().all(|line| indentation(line.text).len().checked_add_signed(by).is_some());
    let mut levels: BTreeSet<usize> = pairs.iter().map(|(theirs, _)| theirs.len()).collect();
    // Two levels show that the difference is one of place, and not of the width of a level.
    let is_clear = levels.len() > 1
        || added().all(|line| {
            let depth = indentation(line.text).len();
            let is_step = |unit: usize| {
                let (above, below) =
                    (levels.range(depth..).next(), levels.range(..depth).next_back());
                below.is_some_and(|level| depth - level == unit)
                    || above.is_some_and(|level| level - depth == unit)
            };
            let is_known = levels.contains(&depth) || unit(file).is_some_and(is_step);
            levels.insert(depth);
            is_known
        });
    (is_one && is_room && is_clear).then_some(Shift { by, tabs: char == '\t' })
}

/// How much deeper the next level of the file is, most of the time.
fn unit(file: &Lines<'_>) -> Option<usize> {
    let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
    let mut last = 0;
    for line in (0..file.len()).filter_map(|at| file.get(at)) {
        let text = line.decoded();
        if !is_blank(&text) {
            let depth = indentation(&text).len();
            if depth > last {
                *steps.entry(depth - last).or_default() += 1;
            }
            last = depth;
        }
    }
    steps.into_iter().max_by_key(|(step, count)| (*count, Reverse(*step))).map(|(step, _)| step)
}

/// Where the block ends whose first line is above line `start`: before the next line that is indented no deeper and
/// does not open or close the head of the block.
pub(crate) fn block_end(file: &Lines<'_>, start: usize) -> usize {
    let text = |at: usize| file.get(at).map(|line| line.decoded().into_owned());
    let head = start.checked_sub(1).and_then(text).unwrap_or_default();
    let depth = indentation(&head).chars().count();
    let is_inside = |line: &str| {
        is_blank(line)
            || indentation(line).chars().count() > depth
            || line.trim_start().starts_with(['{', '(', ')', ']'])
    };
    (start..file.len())
        .find(|at| text(*at).is_some_and(|line| !is_inside(&line)))
        .unwrap_or(file.len())
}

/// What the added lines of a hunk become, in their order: indented as the file is, and with the white space at
/// the ends of the lines that they replace, where the hunk did not know of it. `None` where it is not clear which
/// lines those are.
pub(crate) fn respaced<'p>(
    file: &Lines<'_>,
    body: &[BodyLine<'p>],
    at: usize,
    shift: Shift,
) -> Option<Vec<Cow<'p, str>>> {
    let mut texts = Vec::new();
    let mut at = at;
    // Removed lines with the added lines that follow them.
    for run in body.chunk_by(|above, below| !(above.sign == Sign::Added && below.is_old())) {
        let added: Vec<_> = run.iter().filter(|line| line.sign == Sign::Added).collect();
        let old: Vec<_> = run.iter().filter(|line| line.is_old()).zip(at..).collect();
        at += old.len();
        let last = old.iter().rposition(|(line, _)| line.sign == Sign::Context);
        let mut removed: Vec<_> = old[last.map_or(0, |last| last + 1)..].iter().map(Some).collect();
        let is_paired = removed.len() == added.len();
        for (index, line) in added.iter().enumerate() {
            let is_same = |old: &BodyLine<'_>| {
                Spacing::Around.key(old.text.as_bytes())
                    == Spacing::Around.key(line.text.as_bytes())
            };
            let replaced = if is_paired {
                Some(index)
            } else {
                // A line that is written once more.
                removed.iter().position(|old| old.is_some_and(|(old, _)| is_same(old)))
            };
            let replaced = replaced.and_then(|index| removed[index].take());
            let text = indented(line.text, shift);
            let ended = replaced.and_then(|(old, at)| {
                let own = file.get(*at)?.decoded().into_owned();
                let (theirs, own) = (end(old.text), end(&own).to_owned());
                let is_unaware = theirs != own && end(&text) == theirs;
                is_unaware.then(|| format!("{}{own}", &text[..text.len() - theirs.len()]))
            });
            texts.push(ended.map_or(text, Cow::Owned));
        }
        let is_unaware = |(old, at): &(&BodyLine<'_>, usize)| {
            // The white space of a blank line is that of no other line.
            let is_other = |own: &str| end(old.text) != end(own);
            !is_blank(old.text) && file.get(*at).is_some_and(|own| is_other(&own.decoded()))
        };
        if !added.is_empty() && removed.into_iter().flatten().any(is_unaware) {
            return None;
        }
    }
    Some(texts)
}

fn indented(text: &str, Shift { by, tabs }: Shift) -> Cow<'_, str> {
    if by == 0 || text.is_empty() {
        return Cow::Borrowed(text);
    }
    if by < 0 {
        return Cow::Borrowed(text.get(by.unsigned_abs()..).unwrap_or(text));
    }
    let char = if tabs { "\t" } else { " " };
    Cow::Owned(char.repeat(by.unsigned_abs()) + text)
}

fn is_blank(text: &str) -> bool {
    Spacing::Around.key(text.as_bytes()).is_empty()
}

/// The white space at the beginning of a line.
fn indentation(text: &str) -> &str {
    let rest = Spacing::Around.key(text.as_bytes()).len();
    let end = Spacing::Trailing.key(text.as_bytes()).len();
    &text[..end - rest]
}

/// The white space at the end of a line.
fn end(text: &str) -> &str {
    &text[Spacing::Trailing.key(text.as_bytes()).len()..]
}
