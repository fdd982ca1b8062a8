//! Context lines that begin with `+` and have lost their space: they look like added lines.

use crate::PatchError;
use crate::excerpt::excerpt;
use crate::hunk::{BodyLine, Patch, Sign, old_lines};
use crate::lines::{Lines, reads_as};
use crate::placement::Placement;

/// Refuses a hunk whose first or last line adds a text, if the file has the line with its sign just there, unless
/// the counts in the header show which is meant. Elsewhere in a hunk the old lines around it would not fit.
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
        let above = body.iter().take_while(is_added).last().zip(place.at.checked_sub(1));
        let below = body.iter().rev().take_while(is_added).last();
        let below = below.map(|line| (line, place.at + old_lines(body).count()));
        for (line, at) in above.into_iter().chain(below) {
            let is_there =
                file.get(at).is_some_and(|own| reads_as(own.text, &format!("+{}", line.text)));
            if is_there {
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
