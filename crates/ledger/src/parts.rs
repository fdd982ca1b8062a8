//! Parts of a file that a model was shown.

use std::ops::Range;

use crate::lines::{count, lines};

/// The most parts of a file. The oldest ones are forgotten.
const MAX_PARTS: usize = 64;

/// Where a part begins: the unit is that of the tool that showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Byte(u64),
    /// From 0.
    Line(u64),
}

/// A part that was shown.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) start: Start,
    pub(crate) text: Vec<u8>,
}

impl Part {
    /// Where another part goes on.
    fn end(&self) -> Start {
        match self.start {
            Start::Byte(at) => Start::Byte(at + self.text.len() as u64),
            Start::Line(at) => Start::Line(at + count(&self.text) as u64),
        }
    }

    fn is_from_the_beginning(&self) -> bool {
        matches!(self.start, Start::Byte(0) | Start::Line(0))
    }

    /// The lines of `now` that the part shows; `None` if they are not there as they were shown.
    pub(crate) fn find(&self, now: &[&[u8]]) -> Option<Range<usize>> {
        let mut shown = lines(&self.text);
        if let Start::Byte(at) = self.start {
            // It may begin and end within a line.
            if at > 0 && shown.len() > 1 {
                shown.remove(0);
            }
            if self.text.last().is_some_and(|last| *last != b'\n') && shown.len() > 1 {
                shown.pop();
            }
        }
        if shown.is_empty() {
            return Some(0..0);
        }
        let expected = match self.start {
            Start::Line(at) => usize::try_from(at).ok()?,
            Start::Byte(_) => 0,
        };
        let is_at = |from: usize| {
            now.get(from..from + shown.len()).is_some_and(|lines| lines == shown.as_slice())
        };
        if is_at(expected) {
            return Some(expected..expected + shown.len());
        }
        let from = (0..=now.len().checked_sub(shown.len())?).find(|from| is_at(*from))?;
        Some(from..from + shown.len())
    }
}

/// Adds a part, joined with the one that it goes on from. Returns the whole text if there is nothing left of it.
pub(crate) fn add(parts: &mut Vec<Part>, part: Part, is_end: bool) -> Option<Vec<u8>> {
    let before = parts.iter().position(|one| one.end() == part.start);
    let joined = match before {
        Some(index) => {
            let mut joined = parts.remove(index);
            joined.text.extend_from_slice(&part.text);
            joined
        }
        None => part,
    };
    if is_end && joined.is_from_the_beginning() {
        return Some(joined.text);
    }
    parts.retain(|one| one.start != joined.start || one.text.len() > joined.text.len());
    parts.push(joined);
    if parts.len() > MAX_PARTS {
        parts.remove(0);
    }
    None
}
