//! The result of a patch.

use crate::hunk::{HeaderProblem, Patch, Sign};
use crate::placement::Placement;

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
}

/// Where a hunk was applied. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The first line that it changed, in the edited file.
    pub line: usize,
    /// The line at which it was placed, in the file before the edit.
    pub found: usize,
    /// The line that its header names. `None` for a header without line numbers.
    pub stated: Option<u64>,
    /// Whether the counts of its header were wrong.
    pub has_wrong_counts: bool,
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
        text
    }
}

/// At most this many hunks are mentioned: a patch of a thousand must not fill a context.
const MAX_NOTES: usize = 20;

impl Place {
    fn note(&self) -> Option<String> {
        let found = self.found;
        match self.stated {
            None => Some("the header has no line numbers, and one place fits".to_owned()),
            Some(_) if self.has_wrong_counts => {
                Some("the counts in the header are wrong, and one place fits".to_owned())
            }
            Some(stated) if stated != u64::try_from(found).unwrap_or(u64::MAX) => Some(format!(
                "the header says line {stated}, and its lines were found at line {found}"
            )),
            Some(_) => None,
        }
    }
}

/// Where the hunks of a patch were applied, for the caller.
pub(crate) fn places(patch: &Patch<'_>, placements: &[Placement]) -> Vec<Place> {
    let mut grown: isize = 0;
    let mut found = Vec::with_capacity(placements.len());
    for (hunk, placement) in patch.hunks.iter().zip(placements) {
        let body = patch.body(hunk);
        let body = body.get(..body.len() - placement.dropped).unwrap_or_default();
        let context = body.iter().take_while(|line| line.sign == Sign::Context).count();
        let first = placement.at.saturating_add_signed(grown) + context;
        found.push(Place {
            line: first + 1,
            found: placement.at + 1,
            stated: (hunk.problem != Some(HeaderProblem::NoNumbers))
                .then(|| u64::try_from(hunk.position() + 1).unwrap_or(0)),
            has_wrong_counts: matches!(hunk.problem, Some(HeaderProblem::WrongCounts { .. })),
        });
        let new = body.iter().filter(|line| line.is_new()).count();
        let old = body.iter().filter(|line| line.is_old()).count();
        grown = grown.saturating_add_unsigned(new).saturating_sub_unsigned(old);
    }
    found
}
