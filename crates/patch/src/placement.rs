//! Where the hunks go: first where the header points, otherwise the nearest place that fits.

use crate::anchored;
use crate::applied::Fit;
use crate::error::PatchError;
use crate::excerpt::excerpt;
use crate::explain::Stale;
use crate::hunk::{BodyLine, HeaderProblem, Hunk, Patch, Sign, old_lines, without_blank_end};
use crate::indentation::Shift;
use crate::index::{Index, Nearest};
use crate::lines::{Lines, reads_as};
use crate::newline::FinalNewline;
use crate::spacing::Spacing;

/// Where one hunk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The index of the file line that matches its first old line.
    pub(crate) at: usize,
    /// The number of blank lines at its end that turned out to be after the patch.
    pub(crate) dropped: usize,
    /// What decided the place.
    pub(crate) fit: Fit,
    /// The white space that does not fit.
    pub(crate) spacing: Spacing,
    /// How much deeper the file is indented.
    pub(crate) shift: Shift,
}

impl Placement {
    fn exact(at: usize, dropped: usize) -> Self {
        let (spacing, shift) = (Spacing::Exact, Shift::default());
        Self { at, dropped, fit: Fit::Header, spacing, shift }
    }

    /// The lines of the hunk that are applied.
    pub(crate) fn body<'b, 'p>(&self, patch: &'b Patch<'p>, hunk: &Hunk<'_>) -> &'b [BodyLine<'p>] {
        let body = patch.body(hunk);
        &body[..body.len() - self.dropped]
    }

    /// The first line of the file after those that the hunk changes. The next hunk may begin within
    /// trailing context, because nothing changed there.
    pub(crate) fn end_of_change(&self, patch: &Patch<'_>, hunk: &Hunk<'_>) -> usize {
        let body = self.body(patch, hunk);
        let trailing = body.iter().rev().take_while(|line| line.sign == Sign::Context).count();
        self.at + (old_lines(body).count() - trailing)
    }
}

/// Finds the place of every hunk of `patch`.
pub(crate) fn place(
    file: &Lines<'_>,
    patch: &Patch<'_>,
    newline: &FinalNewline,
) -> Result<Vec<Placement>, PatchError> {
    if !patch.scopes.is_empty() {
        return anchored::place(file, patch);
    }
    let mut placer = Placer {
        file,
        patch,
        index: None,
        work: MAX_WORK,
        floor: 0,
        offset: 0,
        previous: None,
        seen: 0,
    };
    let mut placements = Vec::with_capacity(patch.hunks.len());
    for (hunk, left) in patch.hunks.iter().zip((0..patch.hunks.len()).rev()) {
        let last = left == 0;
        let at_end = if last { newline.marked() } else { None };
        let placement = placer.hunk(hunk, last, at_end)?;
        placer.advance(hunk, placement);
        placements.push(placement);
    }
    Ok(placements)
}

/// Whether the old lines of a hunk match the file at `at`. Editors show a blank last line after a
/// final newline, so trailing context may include it.
pub(crate) fn fits(file: &Lines<'_>, body: &[BodyLine<'_>], at: usize) -> bool {
    old_lines(body).zip(at..).all(|(line, at)| match file.get(at) {
        Some(own) => reads_as(own.text, line.text),
        None => at == file.len() && file.terminated && line.text.is_empty(),
    })
}

/// The most lines that are compared before the search is given up: about a tenth of a second. A
/// patch with nearly right line numbers needs a few for each of its lines.
pub(crate) const MAX_WORK: usize = 1 << 26;

/// How far from the expected place a hunk is tried line by line. Line numbers are mostly wrong by a
/// few lines, and numbering a whole file costs more than a hundred comparisons.
const NEARBY: isize = 64;

struct Placer<'a> {
    file: &'a Lines<'a>,
    patch: &'a Patch<'a>,
    /// Built when the first hunk is not where its header points.
    index: Option<Index>,
    work: usize,
    /// No hunk may begin before this line, because the hunks above have changed the lines before
    /// it.
    floor: usize,
    /// The distance of the last hunk from where its header pointed.
    offset: isize,
    /// The first line in the header of the previous hunk.
    previous: Option<usize>,
    /// The number of old lines in the previous hunks.
    seen: usize,
}

#[derive(Clone, Copy)]
struct HunkSearch<'h> {
    hunk: &'h Hunk<'h>,
    body: &'h [BodyLine<'h>],
    /// The number of its lines that must be in the file.
    old: usize,
    /// The expected place, by the header and the previous hunks.
    near: isize,
    /// One past the last file line that the hunk may cover. One past the end of the file means the
    /// blank after the final newline.
    limit: usize,
}

impl HunkSearch<'_> {
    /// `near` as an index, if the hunk has room there and is not before `floor`.
    fn near(&self, floor: usize) -> Option<usize> {
        let near = usize::try_from(self.near).ok()?;
        (floor <= near && near.checked_add(self.old)? <= self.limit).then_some(near)
    }

    fn header(&self) -> String {
        excerpt(self.hunk.header)
    }

    /// `near` as an index, whether or not the hunk has room there.
    fn near_index(&self) -> usize {
        usize::try_from(self.near).unwrap_or(0)
    }

    fn placed(&self, at: usize) -> Placement {
        Placement::exact(at, self.hunk.body.len() - self.body.len())
    }
}

impl<'a> Placer<'a> {
    fn hunk(
        &mut self,
        hunk: &'a Hunk<'a>,
        last: bool,
        at_end: Option<usize>,
    ) -> Result<Placement, PatchError> {
        let body = self.patch.body(hunk);
        let whole = self.search_for(hunk, body);
        if hunk.problem.is_some() && at_end.is_none() {
            return self.only(whole);
        }
        if whole.old == 0 {
            return self.insertion(whole, at_end);
        }
        if let Some(patch_line) = at_end {
            return self.at_end(whole, patch_line);
        }
        // Blank lines at the end of the last hunk may be context that lost its space, or may be
        // after the patch. Whatever fits where the header points is right.
        let trimmed = Some(self.search_for(hunk, without_blank_end(body)))
            .filter(|trimmed| last && trimmed.body.len() < body.len() && trimmed.old > 0);
        for search in [Some(whole), trimmed].into_iter().flatten() {
            if let Some(at) = self.exact(search)? {
                return Ok(search.placed(at));
            }
        }
        for search in [Some(whole), trimmed].into_iter().flatten() {
            if let Some(at) = self.nearest(search, self.floor, search.limit)? {
                return Ok(search.placed(at));
            }
        }
        Err(self.mismatch(trimmed.unwrap_or(whole)))
    }

    /// The only place that fits a hunk with a wrong header. Blank lines at its end may be context
    /// that lost its space, or may be after the hunk.
    fn only(&mut self, whole: HunkSearch<'a>) -> Result<Placement, PatchError> {
        let mut trimmed = self.search_for(whole.hunk, without_blank_end(whole.body));
        for search in [whole, trimmed] {
            match *self.places(search)? {
                [] => {}
                [at] => return Ok(search.placed(at)),
                [first, second, ..] => {
                    let (hunk, header) = (search.hunk.number, search.header());
                    let (first, second) = (first + 1, second + 1);
                    return Err(PatchError::SeveralPlaces { hunk, header, first, second });
                }
            }
        }
        if whole.hunk.problem == Some(HeaderProblem::NoNumbers) {
            trimmed.near = isize::try_from(self.floor).unwrap_or(isize::MAX);
        }
        Err(self.mismatch(trimmed))
    }

    /// The first two places that fit, after the hunks above.
    fn places(&mut self, search: HunkSearch<'a>) -> Result<Vec<usize>, PatchError> {
        let mut places = Vec::new();
        let Some(high) = search.limit.checked_sub(search.old) else { return Ok(places) };
        for at in self.floor..=high {
            let matching = old_lines(search.body)
                .zip(at..)
                .take_while(|(line, at)| fits(self.file, std::slice::from_ref(*line), *at))
                .count();
            self.work = self.work.checked_sub(matching + 1).ok_or_else(|| {
                PatchError::TooRepetitive { hunk: search.hunk.number, header: search.header() }
            })?;
            if matching == search.old {
                places.push(at);
                if places.len() == 2 {
                    break;
                }
            }
        }
        Ok(places)
    }

    /// A hunk without old lines goes where its header points, because nothing else shows its place.
    fn insertion(
        &self,
        search: HunkSearch<'_>,
        at_end: Option<usize>,
    ) -> Result<Placement, PatchError> {
        let (hunk, header, lines) = (search.hunk.number, search.header(), self.file.len());
        let Some(at) = usize::try_from(search.near).ok().filter(|&at| at <= lines) else {
            let after = search.near_index();
            return Err(PatchError::InsertionOutside { hunk, header, after, lines });
        };
        if at < self.floor {
            return Err(PatchError::OutOfOrder { hunk, header, line: at + 1, end: self.floor });
        }
        match at_end {
            Some(patch_line) if at < lines => {
                Err(PatchError::NotAtEnd { hunk, patch_line, line: at + 1, lines })
            }
            _ => Ok(Placement::exact(at, 0)),
        }
    }

    /// A hunk whose last line is marked as the last of the file has one place.
    fn at_end(
        &mut self,
        search: HunkSearch<'a>,
        patch_line: usize,
    ) -> Result<Placement, PatchError> {
        let lines = self.file.len();
        let search = HunkSearch { limit: lines, ..search };
        let at = lines.checked_sub(search.old).filter(|&at| fits(self.file, search.body, at));
        match at {
            Some(at) if at >= self.floor => return Ok(search.placed(at)),
            Some(_) => return Err(self.mismatch(search)),
            None => {}
        }
        let line = match self.exact(search)? {
            Some(at) => at,
            None => match self.nearest(search, self.floor, lines)? {
                Some(at) => at,
                None => return Err(self.mismatch(search)),
            },
        };
        let hunk = search.hunk.number;
        Err(PatchError::NotAtEnd { hunk, patch_line, line: line + 1, lines })
    }

    /// The place that the header names, if the hunk fits there.
    fn exact(&self, search: HunkSearch<'_>) -> Result<Option<usize>, PatchError> {
        if let Some(near) = search.near(self.floor) {
            return Ok(fits(self.file, search.body, near).then_some(near));
        }
        // The hunk may fit where the header points, but after a hunk above that reaches further.
        // Headers that all name the same line do not show that, because their author did not count.
        match search.near(0) {
            Some(near)
                if self.previous != Some(search.hunk.ranges.old_start)
                    && fits(self.file, search.body, near) =>
            {
                Err(self.out_of_order(search, near))
            }
            _ => Ok(None),
        }
    }

    /// The nearest place that begins at `floor` or later and ends before `limit`.
    fn nearest(
        &mut self,
        search: HunkSearch<'a>,
        floor: usize,
        limit: usize,
    ) -> Result<Option<usize>, PatchError> {
        let Some(high) = limit.checked_sub(search.old).filter(|&high| floor <= high) else {
            return Ok(None);
        };
        let nearest = match self.nearby(search, floor, high) {
            Nearest::None => {
                let index = self
                    .index
                    .get_or_insert_with(|| Index::new(self.file, self.patch, Spacing::Exact));
                let run = index.old_lines(self.seen, search.old);
                index.nearest(run, floor..=high, search.near_index(), &mut self.work)
            }
            nearest => nearest,
        };
        let (hunk, header) = (search.hunk.number, || search.header());
        match nearest {
            Nearest::None => Ok(None),
            Nearest::One(at) => Ok(Some(at)),
            Nearest::Two(first, second) => Err(PatchError::Ambiguous {
                hunk,
                header: header(),
                near: search.near_index().saturating_add(1),
                first: first + 1,
                second: second + 1,
            }),
            Nearest::GaveUp => Err(PatchError::TooRepetitive { hunk, header: header() }),
        }
    }

    /// The first steps of the search, which are cheap without an index.
    fn nearby(&self, search: HunkSearch<'_>, floor: usize, high: usize) -> Nearest {
        let fit = |at: isize| {
            let at = usize::try_from(at).ok()?;
            ((floor..=high).contains(&at) && fits(self.file, search.body, at)).then_some(at)
        };
        for distance in 0..=NEARBY {
            let before = fit(search.near.saturating_sub(distance));
            let after = fit(search.near.saturating_add(distance)).filter(|_| distance > 0);
            match (before, after) {
                (Some(before), Some(after)) => return Nearest::Two(before, after),
                (Some(at), None) | (None, Some(at)) => return Nearest::One(at),
                (None, None) => {}
            }
        }
        Nearest::None
    }

    /// Why a hunk fits nowhere.
    fn mismatch(&mut self, search: HunkSearch<'a>) -> PatchError {
        if let Some(high) = self.floor.checked_sub(1) {
            let limit = (high + search.old).min(search.limit);
            match self.nearest(search, 0, limit) {
                Ok(Some(at)) => return self.out_of_order(search, at),
                Err(PatchError::Ambiguous { first, .. }) => {
                    return self.out_of_order(search, first.saturating_sub(1));
                }
                _ => {}
            }
        }
        let index =
            self.index.get_or_insert_with(|| Index::new(self.file, self.patch, Spacing::Exact));
        let near = search.near_index().min(self.file.len());
        let at = index.most_similar(index.old_lines(self.seen, search.old), near);
        let stale = Stale::new(self.file, search.hunk, search.body, near, at, Spacing::Exact);
        PatchError::StaleContext(Box::new(stale))
    }

    fn out_of_order(&self, search: HunkSearch<'_>, at: usize) -> PatchError {
        PatchError::OutOfOrder {
            hunk: search.hunk.number,
            header: search.header(),
            line: at + 1,
            end: self.floor,
        }
    }

    fn advance(&mut self, hunk: &Hunk<'_>, placement: Placement) {
        self.seen += old_lines(self.patch.body(hunk)).count();
        self.floor = placement.end_of_change(self.patch, hunk);
        // Without line numbers this hunk does not show where the next one is.
        if hunk.problem == Some(HeaderProblem::NoNumbers) {
            return;
        }
        let at = isize::try_from(placement.at).unwrap_or(isize::MAX);
        self.offset = at.saturating_sub(hunk.position());
        self.previous = Some(hunk.ranges.old_start);
    }

    fn search_for(&self, hunk: &'a Hunk<'a>, body: &'a [BodyLine<'a>]) -> HunkSearch<'a> {
        let blank_last =
            body.last().is_some_and(|line| line.sign == Sign::Context && line.text.is_empty());
        HunkSearch {
            hunk,
            body,
            old: old_lines(body).count(),
            near: hunk.position().saturating_add(self.offset),
            limit: self.file.len() + usize::from(blank_last && self.file.terminated),
        }
    }
}
