//! The lines of a file that `@@` lines name.

use std::collections::HashMap;

use crate::error::PatchError;
use crate::excerpt::excerpt;
use crate::hunk::{Hunk, Patch};
use crate::lines::Lines;
use crate::spacing::Spacing;

/// Where the lines are that a patch names. They are looked up by their whole text, and without the
/// white space around it if no line has exactly this text.
#[derive(Debug, Default)]
pub(crate) struct Anchors<'a> {
    exact: HashMap<&'a [u8], Vec<usize>>,
    around: HashMap<&'a [u8], Vec<usize>>,
}

/// The anchors of one hunk, which are all in the file in their order.
///
/// A chain begins at a line that the first anchor names. Each further anchor is the nearest line
/// below the one before. The line after the last anchor never comes earlier for a later chain, so
/// chains are found by bisection.
pub(crate) struct Chains<'a> {
    /// The lines of the first anchor, in rising order.
    starts: &'a [usize],
    /// The lines of each further anchor: those with its exact text, and those with white space
    /// around it.
    below: Vec<[&'a [usize]; 2]>,
    /// The line below the first chain.
    first: usize,
}

/// The first anchor that is not in the file, or not below the one before.
pub(crate) struct Missing<'a> {
    anchor: &'a str,
    below: Option<usize>,
}

impl<'a> Anchors<'a> {
    pub(crate) fn new(file: &Lines<'a>, patch: &'a Patch<'a>) -> Self {
        let mut anchors = Self::default();
        for anchor in patch.scopes.iter().flat_map(|scope| &scope.anchors) {
            let text = anchor.as_bytes();
            anchors.exact.entry(text).or_default();
            anchors.around.entry(Spacing::Around.key(text)).or_default();
        }
        if anchors.exact.is_empty() {
            return anchors;
        }
        for (at, line) in (0..file.len()).filter_map(|at| file.get(at).map(|line| (at, line))) {
            if let Some(lines) = anchors.exact.get_mut(line.text) {
                lines.push(at);
            }
            if let Some(lines) = anchors.around.get_mut(Spacing::Around.key(line.text)) {
                lines.push(at);
            }
        }
        anchors
    }

    /// The chains of `anchors`, of which there is at least one.
    pub(crate) fn chains<'s>(&'s self, anchors: &[&'a str]) -> Result<Chains<'s>, Missing<'a>> {
        let lines = |anchor: &str| {
            let text = anchor.as_bytes();
            [self.exact.get(text), self.around.get(Spacing::Around.key(text))]
                .map(|lines| lines.map_or(&[][..], Vec::as_slice))
        };
        let (top, rest) = anchors.split_first().ok_or(Missing { anchor: "", below: None })?;
        let [exact, around] = lines(top);
        let starts = if exact.is_empty() { around } else { exact };
        let below: Vec<_> = rest.iter().map(|anchor| lines(anchor)).collect();
        let mut at = *starts.first().ok_or(Missing { anchor: top, below: None })?;
        for (lines, anchor) in below.iter().zip(rest) {
            at = next_below(lines, at).ok_or(Missing { anchor, below: Some(at) })?;
        }
        Ok(Chains { starts, below, first: at + 1 })
    }
}

impl Chains<'_> {
    /// The line below the first chain.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// The line below the next chain that ends after line `at`.
    pub(crate) fn after(&self, at: usize) -> Option<usize> {
        let ends_before = |start: &usize| self.end(*start).is_some_and(|end| end <= at);
        let next = self.starts.partition_point(ends_before);
        self.end(*self.starts.get(next)?)
    }

    fn end(&self, start: usize) -> Option<usize> {
        let last = self.below.iter().try_fold(start, |at, lines| next_below(lines, at))?;
        Some(last + 1)
    }
}

/// The next line of an anchor after line `at`, by its exact text if there is one.
fn next_below([exact, around]: &[&[usize]; 2], at: usize) -> Option<usize> {
    let after = |lines: &[usize]| lines.get(lines.partition_point(|&line| line <= at)).copied();
    after(exact).or_else(|| after(around))
}

impl Missing<'_> {
    pub(crate) fn explain(&self, file: &Lines<'_>, hunk: &Hunk<'_>) -> PatchError {
        let above = self.below.map_or(0, |line| line + 1);
        let rest = file.raw(above..file.len());
        let similar = crate::nearest::candidates(rest, self.anchor).into_iter().next();
        PatchError::AnchorMissing {
            hunk: hunk.number,
            patch_line: hunk.patch_line,
            anchor: excerpt(self.anchor),
            below: self.below.map(|line| line + 1),
            similar: similar.map(|line| (above + line.line, excerpt(&line.text))),
        }
    }
}
