//! Where the hunks of the format of `apply_patch` go.
//!
//! A hunk goes below the lines that its `@@` names, to the only place there that has all its context and
//! removed lines. White space around lines is ignored when nothing fits otherwise (see [`indentation`]).

use std::collections::HashSet;

use crate::anchors::{Anchors, Chains};
use crate::applied::Fit;
use crate::error::PatchError;
use crate::excerpt::excerpt;
use crate::explain::Stale;
use crate::hunk::{BodyLine, Hunk, Patch, Scope, Sign, old_lines, without_blank_end};
use crate::indentation::{self, Shift, respaced};
use crate::index::{Index, Nearest};
use crate::lines::Lines;
use crate::placement::{MAX_WORK, Placement};
use crate::spacing::Spacing;

/// Finds the place of every hunk of `patch`.
pub(crate) fn place(file: &Lines<'_>, patch: &Patch<'_>) -> Result<Vec<Placement>, PatchError> {
    let anchors = Anchors::new(file, patch);
    let mut seeker = Seeker {
        file,
        patch,
        anchors: &anchors,
        indexes: [None, None, None],
        work: MAX_WORK,
        floor: 0,
        seen: 0,
    };
    let mut placements = Vec::with_capacity(patch.hunks.len());
    for (hunk, scope) in patch.hunks.iter().zip(&patch.scopes) {
        let placement = seeker.hunk(hunk, scope)?;
        seeker.advance(hunk, placement);
        placements.push(placement);
    }
    Ok(placements)
}

struct Seeker<'a> {
    file: &'a Lines<'a>,
    patch: &'a Patch<'a>,
    anchors: &'a Anchors<'a>,
    /// One for each of [`Spacing::ALL`], built when it is needed.
    indexes: [Option<Index>; 3],
    /// The comparisons that are left.
    work: usize,
    /// No hunk may begin before this line, because the hunks above have changed the lines before
    /// it.
    floor: usize,
    /// The number of old lines in the previous hunks.
    seen: usize,
}

/// The places that a hunk may have, before its lines are compared.
enum Area<'a> {
    /// Anywhere behind the previous hunk.
    Free(Fit),
    /// Below lines that `@@` names.
    Below(Chains<'a>),
}

#[derive(Clone, Copy)]
struct Search<'h> {
    hunk: &'h Hunk<'h>,
    body: &'h [BodyLine<'h>],
    /// The number of its lines that must be in the file.
    old: usize,
    stated: Option<usize>,
    /// Whether the hunk says that the file ends with it.
    at_end: bool,
}

impl<'h> Search<'h> {
    fn new(hunk: &'h Hunk<'h>, scope: &Scope<'_>, body: &'h [BodyLine<'h>]) -> Self {
        Self {
            hunk,
            body,
            old: old_lines(body).count(),
            stated: scope.stated,
            at_end: scope.at_end,
        }
    }

    fn header(&self) -> String {
        excerpt(self.hunk.header)
    }

    fn placed(&self, at: usize, fit: Fit) -> Placement {
        let dropped = self.hunk.body.len() - self.body.len();
        Placement { at, dropped, fit, spacing: Spacing::Exact, shift: Shift::default() }
    }

    /// A place that fits once white space is ignored. The added lines get the indentation of the file, if it
    /// is deeper by one difference throughout; else the hunk does not fit.
    fn spaced(
        &self,
        file: &Lines<'_>,
        at: usize,
        fit: Fit,
        spacing: Spacing,
    ) -> Result<Placement, PatchError> {
        let placed = Placement { spacing, ..self.placed(at, fit) };
        let shift = match spacing {
            Spacing::Exact => return Ok(placed),
            Spacing::Trailing => Some(Shift::default()),
            Spacing::Around => indentation::shift(file, self.body, at),
        };
        let is_clear = |shift: &Shift| respaced(file, self.body, at, *shift).is_some();
        if let Some(shift) = shift.filter(is_clear) {
            return Ok(Placement { shift, ..placed });
        }
        let stale = Stale::new(file, self.hunk, self.body, at, at, Spacing::Exact);
        Err(PatchError::StaleContext(Box::new(stale)))
    }
}

impl<'a> Seeker<'a> {
    fn hunk(&mut self, hunk: &'a Hunk<'a>, scope: &'a Scope<'a>) -> Result<Placement, PatchError> {
        let body = self.patch.body(hunk);
        let area = self.area(hunk, scope, body)?;
        let whole = Search::new(hunk, scope, body);
        if whole.old == 0 {
            return self.insertion(whole, scope, &area);
        }
        // Blank lines at the end of a hunk may be context that lost its space, or may be between
        // the hunks.
        let trimmed = Search::new(hunk, scope, without_blank_end(body));
        if old_lines(body).all(|line| line.bare) {
            return Err(unplaced(whole));
        }
        let searches = [Some(whole), Some(trimmed).filter(|other| other.old < whole.old)];
        if scope.at_end {
            for search in searches.into_iter().flatten() {
                if let Some(placement) = self.at_end(search)? {
                    return Ok(placement);
                }
            }
        }
        for search in searches.into_iter().flatten() {
            for spacing in Spacing::ALL {
                if let Some(at) = self.seek(search, spacing, &area)? {
                    let fit = match area {
                        _ if scope.at_end => Fit::NotAtEnd,
                        Area::Free(Fit::NoAnchor) => Fit::NoAnchor,
                        _ if spacing != Spacing::Exact => Fit::Spacing,
                        _ => Fit::Lines,
                    };
                    return search.spaced(self.file, at, fit, spacing);
                }
            }
        }
        Err(self.mismatch(if trimmed.old == 0 { whole } else { trimmed }, &area))
    }

    /// Where the `@@` lines of a hunk put it.
    fn area(
        &self,
        hunk: &Hunk<'_>,
        scope: &'a Scope<'a>,
        body: &[BodyLine<'a>],
    ) -> Result<Area<'a>, PatchError> {
        // A line that is named after `@@` and repeated as an old line of the hunk says where the hunk
        // is, and nothing about what is above it.
        if scope.anchors.is_empty() {
            return Ok(Area::Free(Fit::Lines));
        }
        let key = |text: &'a str| Spacing::Around.key(text.as_bytes());
        let old: HashSet<_> = old_lines(body).map(|line| key(line.text)).collect();
        let own = scope.anchors.iter().rev().take_while(|anchor| old.contains(key(anchor))).count();
        let anchors = &scope.anchors[..scope.anchors.len() - own];
        if anchors.is_empty() {
            return Ok(Area::Free(Fit::Lines));
        }
        match self.anchors.chains(anchors) {
            Ok(chains) => Ok(Area::Below(chains)),
            Err(_) if !scope.required && old_lines(body).next().is_some() => {
                Ok(Area::Free(Fit::NoAnchor))
            }
            Err(missing) => Err(missing.explain(self.file, hunk)),
        }
    }

    /// Added lines alone go below the line that `@@` names.
    fn insertion(
        &self,
        search: Search<'_>,
        scope: &Scope<'_>,
        area: &Area<'_>,
    ) -> Result<Placement, PatchError> {
        let (hunk, lines) = (search.hunk.number, self.file.len());
        if scope.at_end || lines == 0 {
            return Ok(search.placed(lines, Fit::Lines));
        }
        let at = match area {
            Area::Below(chains) => {
                let first = chains.first();
                if let Some(second) = chains.after(first) {
                    return Err(several(search, first, second));
                }
                first
            }
            Area::Free(_) if scope.stated.is_some() => {
                usize::try_from(search.hunk.position()).unwrap_or(usize::MAX)
            }
            Area::Free(_) if scope.appends => lines,
            Area::Free(_) => return Err(unplaced(search)),
        };
        let header = search.header();
        if at > lines {
            return Err(PatchError::InsertionOutside { hunk, header, after: at, lines });
        }
        if at < self.floor {
            return Err(PatchError::OutOfOrder { hunk, header, line: at + 1, end: self.floor });
        }
        Ok(search.placed(at, Fit::Lines))
    }

    /// The place at the end of the file, if the hunk fits there.
    fn at_end(&mut self, search: Search<'_>) -> Result<Option<Placement>, PatchError> {
        let end = self.file.len().checked_sub(search.old).filter(|&at| at >= self.floor);
        let Some(at) = end else { return Ok(None) };
        for spacing in Spacing::ALL {
            let seen = self.seen;
            let mut work = self.work;
            let index = self.index(spacing);
            let fits = index.is_at(index.old_lines(seen, search.old), at, &mut work);
            self.work = work;
            if fits {
                let exact = spacing == Spacing::Exact;
                let fit = if exact { Fit::Lines } else { Fit::Spacing };
                return search.spaced(self.file, at, fit, spacing).map(Some);
            }
        }
        Ok(None)
    }

    /// The only place in `area` that fits, or the nearest one to a stated line.
    fn seek(
        &mut self,
        search: Search<'_>,
        spacing: Spacing,
        area: &Area<'_>,
    ) -> Result<Option<usize>, PatchError> {
        let Some(high) = self.limit(search, spacing).checked_sub(search.old) else {
            return Ok(None);
        };
        let start = match area {
            Area::Free(_) => self.floor,
            Area::Below(chains) => chains.first().max(self.floor),
        };
        if let (Some(stated), Area::Free(_)) = (search.stated, area) {
            return self.nearest(search, spacing, (start, high), stated.saturating_sub(1));
        }
        let Some(first) = self.nearest(search, spacing, (start, high), start)? else {
            return Ok(None);
        };
        if let Area::Below(chains) = area
            && let Some(next) = chains.after(first)
            && let Some(second) = self.nearest(search, spacing, (next, high), next)?
        {
            return Err(several(search, first, second));
        }
        // What is in the block of the line that `@@` names goes before what is behind it.
        let end = match area {
            Area::Below(chains) => indentation::block_end(self.file, chains.first()),
            Area::Free(_) => first,
        };
        let high = if first < end { high.min(end - 1) } else { high };
        match self.nearest(search, spacing, (first + 1, high), first + 1)? {
            None => Ok(Some(first)),
            Some(second) => Err(several(search, first, second)),
        }
    }

    /// The place from `low` to `high` that fits and is nearest to `near`.
    fn nearest(
        &mut self,
        search: Search<'_>,
        spacing: Spacing,
        (low, high): (usize, usize),
        near: usize,
    ) -> Result<Option<usize>, PatchError> {
        if low > high {
            return Ok(None);
        }
        let (seen, mut work) = (self.seen, self.work);
        let index = self.index(spacing);
        let run = index.old_lines(seen, search.old);
        let nearest = index.nearest(run, low..=high, near, &mut work);
        self.work = work;
        match nearest {
            Nearest::None => Ok(None),
            Nearest::One(at) => Ok(Some(at)),
            Nearest::Two(first, second) => Err(several(search, first, second)),
            Nearest::GaveUp => {
                Err(PatchError::TooRepetitive { hunk: search.hunk.number, header: search.header() })
            }
        }
    }

    /// One past the last line that a hunk may cover. One past the end of the file means the blank
    /// after the final newline, which editors show.
    fn limit(&self, search: Search<'_>, spacing: Spacing) -> usize {
        let blank_last = !search.at_end
            && search.body.last().is_some_and(|line| {
                line.sign == Sign::Context && spacing.key(line.text.as_bytes()).is_empty()
            });
        self.file.len() + usize::from(blank_last && self.file.terminated)
    }

    /// Why a hunk fits nowhere.
    fn mismatch(&mut self, search: Search<'_>, area: &Area<'_>) -> PatchError {
        let (hunk, header) = (search.hunk.number, search.header());
        let loosest = Spacing::Around;
        let high = self.limit(search, loosest).saturating_sub(search.old);
        let start = match area {
            Area::Free(_) => self.floor,
            Area::Below(chains) => chains.first().max(self.floor),
        };
        if let Some(before) = start.checked_sub(1)
            && let Ok(Some(at)) =
                self.nearest(search, loosest, (self.floor, high.min(before)), before)
        {
            return PatchError::AboveAnchor { hunk, header, line: at + 1, anchor: start };
        }
        if let Some(before) = self.floor.checked_sub(1)
            && let Ok(Some(at)) = self.nearest(search, loosest, (0, high.min(before)), before)
        {
            let end = self.floor;
            return PatchError::OutOfOrder { hunk, header, line: at + 1, end };
        }
        let (seen, file) = (self.seen, self.file);
        let near = start.min(file.len());
        let index = self.index(loosest);
        let at = index.most_similar(index.old_lines(seen, search.old), near);
        let stale = Stale::new(file, search.hunk, search.body, near, at, loosest);
        PatchError::StaleContext(Box::new(stale))
    }

    fn index(&mut self, spacing: Spacing) -> &Index {
        let slot = &mut self.indexes[spacing as usize];
        slot.get_or_insert_with(|| Index::new(self.file, self.patch, spacing))
    }

    fn advance(&mut self, hunk: &Hunk<'_>, placement: Placement) {
        self.seen += old_lines(self.patch.body(hunk)).count();
        self.floor = self.floor.max(placement.end_of_change(self.patch, hunk));
    }
}

fn several(search: Search<'_>, first: usize, second: usize) -> PatchError {
    let (hunk, header) = (search.hunk.number, search.header());
    let (first, second) = (first.min(second) + 1, first.max(second) + 1);
    PatchError::SeveralFits { hunk, header, first, second }
}

fn unplaced(search: Search<'_>) -> PatchError {
    let (hunk, header) = (search.hunk.number, search.header());
    PatchError::UnplacedInsertion { hunk, header, patch_line: search.hunk.patch_line }
}
