//! Context lines that begin with `+` and have lost their space: they look like added lines.

use crate::PatchError;
use crate::excerpt::excerpt;
use crate::hunk::{BodyLine, Patch, Sign, old_lines};
use crate::lines::{Lines, reads_as};
use crate::placement::Placement;

/// Refuses a hunk whose first or last lines add a text, if the file has them with their signs just there, unless the
/// counts in the header show which is meant. Elsewhere in a hunk the old lines around it would not fit.
pub(crate) fn refuse(
    file: &Lines<'_>,
    patch: &Patch<'_>,
    places: &[Placement],
) -> Result<(), PatchError> {
    for (hunk, place) in patch.hunks.iter().zip(places) {
        if hunk.problem.is_none() {
            continue;
        }
        let body = place.body(patch, hunk);
        let is_added = |line: &&BodyLine<'_>| line.sign == Sign::Added;
        let above = body.iter().take_while(is_added).count();
        let below = body.iter().rev().take_while(is_added).count();
        let end = place.at + old_lines(body).count();
        // Some of the lines may be added ones: those further inside.
        let above = (1..=above.min(place.at)).map(|count| (&body[..count], place.at - count));
        let below = (1..=below).map(|count| (&body[body.len() - count..], end));
        for (lines, at) in above.chain(below) {
            let is_there = |(at, line): (usize, &BodyLine<'_>)| {
                file.get(at).is_some_and(|own| reads_as(own.text, &format!("+{}", line.text)))
            };
            if let Some(line) = lines.first()
                && (at..).zip(lines).all(is_there)
            {
                return Err(PatchError::LostSpace {
                    hunk: hunk.number,
                    header: excerpt(hunk.header),
                    patch_line: line.patch_line,
                    text: excerpt(&format!("+{}", line.text)),
                    line: at + 1,
                });
            }
        }
    }
    Ok(())
}
