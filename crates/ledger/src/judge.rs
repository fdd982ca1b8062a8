//! What would be lost if a file were replaced.

use std::collections::HashMap;
use std::ops::Range;

use crate::difference::{Block, Difference, blocks};
use crate::entry::Entry;
use crate::known::Known;
use crate::lines::{are_same, joined, lines};
use crate::parts::{Part, Start};

/// How far the lines of a part are looked for.
const REACH: usize = 200;

/// What a model knows of the content that it is about to replace.
#[derive(Debug, Clone)]
pub enum Replaced {
    /// All of it, or all that it would change.
    Known,
    /// It has never been shown.
    Never,
    /// Some lines have never been shown.
    Partly {
        /// How many.
        unseen: usize,
        /// How many lines there are.
        lines: usize,
    },
    /// Others have changed what was shown.
    Changed(Change),
}

/// A change by others that the model has not been shown.
#[derive(Debug, Clone)]
pub struct Change {
    /// What has changed. `None` where the content that was shown is no longer kept.
    pub difference: Option<Difference>,
    /// What is known once all of the difference has been shown.
    pub(crate) then: Entry,
}

impl Change {
    /// Whether a reader of the difference knows all of the change.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.difference.as_ref().is_some_and(|difference| difference.is_complete)
    }
}

impl Entry {
    /// What is lost when `new` takes the place of `now`, or nothing does.
    pub(crate) fn judge(&self, now: &[u8], new: Option<&[u8]>, limit_bytes: usize) -> Replaced {
        if self.whole.as_ref().is_some_and(|known| known.is(now)) {
            return Replaced::Known;
        }
        if new.is_some_and(|new| are_same(now, new)) {
            return Replaced::Known;
        }
        let now_lines = lines(now);
        let covered = self.covered(&now_lines);
        match &self.whole {
            Some(Known::Text(text)) => {
                let old = lines(text);
                let mut changes = blocks(&old, &now_lines);
                changes.retain(|block| !is_covered(&block.new, &covered));
                if let Some(new) = new {
                    let counts = Counts::of(&now_lines, &lines(new));
                    changes.retain(|block| !counts.keep(block, &old, &now_lines));
                }
                if changes.is_empty() {
                    return Replaced::Known;
                }
                let difference = Difference::of(&old, &now_lines, &changes, limit_bytes);
                Replaced::Changed(Change { difference: Some(difference), then: Self::of(now) })
            }
            Some(Known::Hash(_) | Known::Outdated) => {
                if unseen(now_lines.len(), &covered) == 0 {
                    return Replaced::Known;
                }
                Replaced::Changed(Change { difference: None, then: Self::of(now) })
            }
            None => self.judge_parts(&now_lines, &covered, limit_bytes),
        }
    }

    fn judge_parts(&self, now: &[&[u8]], covered: &[Range<usize>], limit_bytes: usize) -> Replaced {
        let mut then = self.clone();
        let mut differences = Vec::new();
        for part in &mut then.parts {
            if part.find(now).is_none() {
                differences.push(part.renew(now, limit_bytes));
            }
        }
        if differences.is_empty() {
            let (unseen, lines) = (unseen(now.len(), covered), now.len());
            return if unseen == 0 { Replaced::Known } else { Replaced::Partly { unseen, lines } };
        }
        let difference = differences.into_iter().reduce(|one, other| Difference {
            is_complete: one.is_complete
                && other.is_complete
                && one.text.len() + other.text.len() <= limit_bytes,
            text: if one.text.len() + other.text.len() <= limit_bytes {
                one.text + &other.text
            } else {
                one.text
            },
            added: one.added + other.added,
            removed: one.removed + other.removed,
        });
        Replaced::Changed(Change { difference, then })
    }
}

impl Part {
    /// Makes it what is there now, and says what has changed of it.
    fn renew(&mut self, now: &[&[u8]], limit_bytes: usize) -> Difference {
        let text = std::mem::take(&mut self.text);
        let shown = lines(&text);
        let expected = match self.start {
            Start::Line(at) => usize::try_from(at).unwrap_or(usize::MAX).min(now.len()),
            Start::Byte(_) => 0,
        };
        let near = |line: &[u8], at: usize| {
            let places = at.saturating_sub(REACH).min(now.len())..(at + REACH).min(now.len());
            places.filter(|place| now[*place] == line).min_by_key(|place| place.abs_diff(at))
        };
        let from = shown.first().and_then(|line| near(line, expected)).unwrap_or(expected);
        let end = (from + shown.len()).min(now.len());
        let last = shown.last().and_then(|line| near(line, end.saturating_sub(1)));
        let to = last.map_or(end, |last| last + 1).max(from);
        let old: Vec<&[u8]> = now[..from].iter().chain(&shown).chain(&now[to..]).copied().collect();
        let difference = Difference::of(&old, now, &blocks(&old, now), limit_bytes);
        self.start = Start::Line(from as u64);
        self.text = joined(now[from..to].iter().copied());
        difference
    }
}

/// Whether lines, or the place where lines were removed, are within what was shown.
pub(crate) fn is_covered(range: &Range<usize>, covered: &[Range<usize>]) -> bool {
    if range.is_empty() {
        return covered.iter().any(|one| one.start < range.start && range.start < one.end);
    }
    range.clone().all(|line| covered.iter().any(|one| one.contains(&line)))
}

fn unseen(lines: usize, covered: &[Range<usize>]) -> usize {
    (0..lines).filter(|line| !covered.iter().any(|one| one.contains(line))).count()
}

/// How often lines are in two texts.
struct Counts<'a>(HashMap<&'a [u8], (usize, usize)>);

impl<'a> Counts<'a> {
    fn of(now: &[&'a [u8]], new: &[&'a [u8]]) -> Self {
        let mut counts: HashMap<&[u8], (usize, usize)> = HashMap::new();
        for line in now {
            counts.entry(line).or_default().0 += 1;
        }
        for line in new {
            counts.entry(line).or_default().1 += 1;
        }
        Self(counts)
    }

    /// Whether the new text has what was added, and has not what was removed: then the change is not lost.
    fn keep(&self, block: &Block, old: &[&[u8]], now: &[&[u8]]) -> bool {
        let of = |line: &[u8]| self.0.get(line).copied().unwrap_or_default();
        let keeps_added = now[block.new.clone()].iter().all(|line| {
            let (now, new) = of(line);
            new >= now
        });
        let keeps_removed = old[block.old.clone()].iter().all(|line| {
            let (now, new) = of(line);
            new <= now
        });
        keeps_added && keeps_removed
    }
}
