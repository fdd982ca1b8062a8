//! The result of a patch.

use crate::damage::Damage;
use crate::hunk::{Counts, HeaderProblem, Patch, Sign};
use crate::placement::Placement;
use crate::spacing::Spacing;

/// An edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The new content, whole.
    pub bytes: Vec<u8>,
    /// The number of hunks in the patch. All of them were applied.
    pub hunks: usize,
    /// Where they were applied, in their order.
    pub places: Vec<Place>,
    /// What had happened to the patch, if it fits only without that.
    pub damage: Option<Damage>,
}

/// Where a hunk was applied. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The first line that it changed, in the edited file.
    pub line: usize,
    /// The line at which it was placed, in the file before the edit.
    pub placed_at: usize,
    /// The line that its header names. `None` for a header without line numbers.
    pub stated: Option<usize>,
    /// Whether the counts of its header were wrong.
    pub has_wrong_counts: bool,
    /// What decided the place.
    pub fit: Fit,
    /// Whether white space at the ends of its lines was ignored.
    pub ignores_spacing: bool,
    /// How many characters deeper the file is indented; the added lines are indented as it is. Negative where
    /// the file is indented less.
    pub indented_by: isize,
    /// Whether these characters are tabs.
    pub indented_by_tabs: bool,
}

/// What decided where a hunk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its header or its lines, by the rules for unified diffs.
    Header,
    /// Its lines, after the lines that its `@@` names. This and the others are of the format of
    /// `apply_patch`.
    Lines,
    /// Its lines, once spaces and tabs at the ends of lines are ignored.
    Spacing,
    /// Its lines alone, because the line that its `@@` names is not in the file.
    NoAnchor,
    /// Its lines alone, because they are not at the end of the file, as it says.
    NotAtEnd,
}

impl Applied {
    /// Where the patch was applied and where its headers were wrong, as sentences for a model.
    #[must_use]
    pub fn summary(&self) -> String {
        let lines: Vec<String> = self.places.iter().map(|place| place.line.to_string()).collect();
        let mut text = match lines.as_slice() {
            [one] => format!("Applied at line {one}."),
            [first @ .., last] => format!("Applied at lines {} and {last}.", first.join(", ")),
            [] => String::new(),
        };
        for (number, place) in (1..).zip(&self.places).take(MAX_NOTES) {
            if let Some(note) = place.note() {
                text.extend([" Hunk ", &number.to_string(), ": ", &note, "."]);
            }
        }
        if let Some(damage) = self.damage {
            text.extend([" ", damage.note()]);
        }
        text
    }

    /// The hunks whose lines did not fit exactly, as sentences for a model.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let loose = (1..).zip(&self.places).filter_map(|(number, place)| {
            place.loose().map(|note| format!("hunk {number}: {note}."))
        });
        loose.take(MAX_NOTES).collect()
    }
}

/// At most this many hunks are mentioned: a patch of a thousand must not fill a context.
const MAX_NOTES: usize = 20;

impl Place {
    /// What was not exact about a fit that its lines decided.
    fn loose(&self) -> Option<String> {
        let (placed_at, by) = (self.placed_at, self.indented_by.unsigned_abs());
        let spacing = if self.indented_by != 0 {
            let more = if self.indented_by > 0 { "more" } else { "less" };
            let unit = match (self.indented_by_tabs, by) {
                (true, 1) => "tab",
                (true, _) => "tabs",
                (false, 1) => "space",
                (false, _) => "spaces",
            };
            Some(format!(
                "its lines fit at line {placed_at} with {by} {unit} {more} at their beginnings, and its added lines were indented like that"
            ))
        } else if self.ignores_spacing {
            Some(format!(
                "its lines fit at line {placed_at} once white space at their ends is ignored"
            ))
        } else {
            None
        };
        let place = match self.fit {
            Fit::NoAnchor => Some(format!(
                "the line after `@@` is not in the file, and one place fits, at line {placed_at}"
            )),
            Fit::NotAtEnd => Some(format!(
                "its lines are not at the end of the file, and were found at line {placed_at}"
            )),
            Fit::Header | Fit::Lines | Fit::Spacing => None,
        };
        match (place, spacing) {
            (Some(place), Some(spacing)) => Some(format!("{place}; {spacing}")),
            (place, spacing) => place.or(spacing),
        }
    }

    fn note(&self) -> Option<String> {
        let placed_at = self.placed_at;
        match self.fit {
            Fit::Header => {}
            Fit::Lines | Fit::Spacing | Fit::NoAnchor | Fit::NotAtEnd => return self.loose(),
        }
        match self.stated {
            None => Some("the header has no line numbers, and one place fits".to_owned()),
            Some(_) if self.has_wrong_counts => {
                Some("the counts in the header are wrong, and one place fits".to_owned())
            }
            Some(stated) if stated != placed_at => Some(format!(
                "the header says line {stated}, and its lines were found at line {placed_at}"
            )),
            Some(_) => None,
        }
    }
}

/// Where the hunks of a patch were applied, for the caller.
pub(crate) fn places(patch: &Patch<'_>, placements: &[Placement]) -> Vec<Place> {
    let mut grown: isize = 0;
    let mut places = Vec::with_capacity(placements.len());
    for (hunk, placement) in patch.hunks.iter().zip(placements) {
        let body = placement.body(patch, hunk);
        let context = body.iter().take_while(|line| line.sign == Sign::Context).count();
        let first = placement.at.saturating_add_signed(grown) + context;
        places.push(Place {
            line: first + 1,
            placed_at: placement.at + 1,
            stated: (hunk.problem != Some(HeaderProblem::NoNumbers))
                .then(|| usize::try_from(hunk.position() + 1).unwrap_or(0)),
            fit: placement.fit,
            ignores_spacing: placement.spacing != Spacing::Exact && placement.shift.by == 0,
            indented_by: placement.shift.by,
            indented_by_tabs: placement.shift.tabs,
            has_wrong_counts: matches!(hunk.problem, Some(HeaderProblem::WrongCounts { .. })),
        });
        let Counts { old, new } = Counts::of(body);
        grown = grown.saturating_add_unsigned(new).saturating_sub_unsigned(old);
    }
    places
}
