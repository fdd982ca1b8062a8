//! Patches that language models write, applied in memory: unified diffs and the format of
//! `apply_patch`, for one file or several.
//!
//! A patch is read leniently where that loses nothing, and refused with a reason everywhere else.
//! Text around the diff is ignored: prose, code fences, file names. Line numbers may be wrong. A
//! hunk goes to the place nearest to its header where all of its context and removed lines match,
//! and the offset of one hunk is carried to the next. It never guesses: two places equally near,
//! wrong counts and a patch for several files are errors, and an error shows what is where.
//!
//! ```
//! let file = b"one\ntwo\nthree\n";
//! let patch = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
//! let applied = toolwright_patch::apply(file, patch)?;
//! assert_eq!(applied.bytes, b"one\n2\nthree\n");
//! # Ok::<(), toolwright_patch::PatchError>(())
//! ```
//!
//! # Bytes
//!
//! The file is bytes and the patch is text. A line of the file is compared by its decoding as UTF-8
//! with replacement, as a reader saw it, and copied byte for byte. So an edit leaves every byte
//! outside of the removed lines alone, whatever encoding the file has. An added line that contains
//! U+FFFD is refused, because it was copied from such a decoding.
//!
//! UTF-16 with a byte order mark is compared and changed as text. Letters are added to a file of another encoding in
//! the one that it names, or refused: which it has is not guessed.
//!
//! Line endings are not compared. If the endings of a hunk's old lines are those of the file, its
//! author saw them, and added lines get the endings that the patch gives them. Otherwise an added
//! line takes the ending of the removed line it replaces (the first of the first, and so on),
//! otherwise of the line before it, otherwise of the line after it.
//!
//! A byte order mark stays in front of the file. A patch whose old lines show it may remove it.
//!
//! # The end of the file
//!
//! `\ No newline at end of file` after a removed or an added line of the last hunk is taken
//! literally. It must be true of the file, and ties the hunk to the end of the file. In earlier
//! hunks and after context it is ignored. Without it the file ends as it did. As in jsdiff, the
//! blank that an editor shows after a final newline can be trailing context.
//!
//! # Lenient counts
//!
//! If the last hunk's header claims more lines than follow, and equally many more on both sides,
//! the existing lines count. Blank lines without a leading space are context if the header counts
//! them. At the end of the last hunk they may also be after the patch.
//!
//! # By content
//!
//! [`apply_by_content`] places a hunk by its lines if its header has no line numbers, or counts
//! that differ from the lines. Exactly one place must match all of its context and removed lines.
//!
//! # Several files
//!
//! [`parse_patch`] reads a patch for several files, as a unified diff or in the envelope of
//! `apply_patch`, and [`apply_diff`] the diff of one file in that format without the envelope. The
//! hunks of that format have no line numbers. They go below the lines that follow `@@`, and white
//! space at the ends of lines is ignored if nothing fits otherwise. Two places are an error here too.
//!
//! # Differences from jsdiff
//!
//! Placement is that of jsdiff's `applyPatch` without fuzz. Refused here and accepted there: two
//! places equally near, a header place before the end of the hunk above, an insertion without
//! context outside of the file, a marked hunk away from the end of the file, lines added after the
//! blank that follows the final newline, and patches that change nothing or are none. Accepted here
//! and refused there: the lenient counts above, and files that mix line endings.

mod anchored;
mod anchors;
mod applied;
mod conflicts;
mod damage;
mod details;
mod encoded;
mod envelope;
mod error;
mod excerpt;
mod explain;
mod files;
mod files_error;
mod form;
mod headers;
mod hunk;
mod indentation;
mod index;
mod line_feeds;
mod lines;
mod lost_space;
mod nearest;
mod newline;
mod numbered;
mod parse;
mod placement;
mod replace;
mod rewrite;
mod sections;
mod spacing;
mod unified;
mod unified_names;

pub use applied::{Applied, Fit, Place};
pub use damage::Damage;
pub use details::Detail;
pub use error::{HeaderLine, PatchError};
pub use explain::Stale;
pub use files::{DiffMode, FileChange, FilePatch, apply_diff, parse_patch};
pub use files_error::FilesError;
pub use form::{KeptForm, keep_form};
pub use replace::{Candidate, Difference, Reading, ReplaceError, Replaced, replace};

use toolwright_encoding::Declared;

use crate::hunk::{Hunk, Patch, Scope, old_lines};
use crate::lines::Lines;
use crate::newline::FinalNewline;

/// A file with a NUL byte in its first bytes is not text.
const BINARY_CHECK_BYTES: usize = 8192;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Applies `patch` to `original`, and returns exactly the new bytes.
///
/// All hunks are applied or none. Cost grows with the sizes of both; the search for hunks that are
/// not where their headers say is bounded ([`PatchError::TooRepetitive`]).
pub fn apply(original: &[u8], patch: &str) -> Result<Applied, PatchError> {
    apply_as_it_is(original, &parse::parse(patch, false)?, None)
}

/// As [`apply`], and a hunk whose header has no line numbers or wrong counts goes where its context and
/// removed lines fit, if that is one place. A file that is no text is refused, and a patch that would mix encodings.
/// UTF-16 with a byte order mark is text, and letters are written in the encoding that a file names.
///
/// A patch that does not fit is tried without the damage that it may have ([`Damage`]), and with other white space
/// around its lines.
pub fn apply_by_content(original: &[u8], patch: &str) -> Result<Applied, PatchError> {
    if encoded::is_binary(original) {
        return Err(PatchError::BinaryFile);
    }
    let mut parsed = parse::parse(patch, true);
    let falls_short = parsed.as_ref().is_ok_and(Patch::falls_short);
    let literal = parsed.as_ref().map_err(PatchError::clone);
    let literal = literal.and_then(|patch| encoded::apply_parsed(original, patch));
    if !falls_short && !literal.as_ref().is_err_and(damage::may_cause) {
        return literal;
    }
    let fits = |(damage, text): (Damage, String)| {
        let patch = parse::parse(&text, damage.allows_wrong_counts()).ok()?;
        if patch.falls_short() {
            return None;
        }
        let applied = encoded::apply_parsed(original, &patch).ok()?;
        Some(Applied { damage: Some(damage), ..applied })
    };
    if let Some(applied) = damage::repaired(patch).into_iter().find_map(fits) {
        return Ok(applied);
    }
    let Ok(parsed) = &mut parsed else { return literal };
    if literal.is_ok() {
        damage::refuse_lost_lines(original, patch, parsed)?;
        return literal;
    }
    if falls_short {
        return literal;
    }
    apply_loosely(original, parsed).map_or(literal, Ok)
}

/// Applies a patch that fits but for white space around its lines. Each hunk that does so has one place, or fits at the
/// very line that its header names.
fn apply_loosely(original: &[u8], patch: &mut Patch<'_>) -> Option<Applied> {
    let scopes = |has_lines: bool| -> Vec<Scope<'_>> {
        let scope = |hunk: &Hunk<'_>| Scope {
            stated: stated(hunk).filter(|_| has_lines),
            at_end: patch.body(hunk).iter().any(|line| line.unterminated),
            ..Scope::default()
        };
        patch.hunks.iter().map(scope).collect()
    };
    let [anywhere, stated_lines] = [scopes(false), scopes(true)];
    patch.scopes = anywhere;
    let mut applied = encoded::apply_parsed(original, patch);
    if matches!(applied, Err(PatchError::SeveralFits { .. })) {
        patch.scopes = stated_lines;
        applied = encoded::apply_parsed(original, patch);
        let is_certain = |(place, hunk): (&Place, &Hunk<'_>)| {
            place.fit == Fit::Lines
                || hunk.problem.is_none() && Some(place.placed_at) == stated(hunk)
        };
        applied.as_ref().ok()?.places.iter().zip(&patch.hunks).all(is_certain).then_some(())?;
    }
    applied.ok().filter(|applied| applied.places.iter().all(|place| place.fit != Fit::NotAtEnd))
}

/// The line that the header of a hunk names.
fn stated(hunk: &Hunk<'_>) -> Option<usize> {
    usize::try_from(hunk.position() + 1).ok()
}

/// Applies a patch to the bytes of a file. Added lines are written in `encoding`, or as UTF-8.
fn apply_as_it_is(
    original: &[u8],
    patch: &Patch<'_>,
    encoding: Option<Declared>,
) -> Result<Applied, PatchError> {
    let (mark, text) = split_mark(original, patch);
    let file = Lines::new(text);
    let newline = FinalNewline::read(patch, &file)?;
    let places = placement::place(&file, patch, &newline)?;
    lost_space::refuse(&file, patch, &places)?;
    let mut bytes = rewrite::rewrite(&file, patch, &places, &newline, encoding);
    // A patch may add the mark that it does not show; one is enough.
    if !mark.is_empty() && (text.starts_with(mark) || !bytes.starts_with(mark)) {
        bytes.splice(0..0, mark.iter().copied());
    }
    Ok(Applied {
        bytes,
        hunks: patch.hunks.len(),
        places: applied::places(patch, &places),
        damage: None,
    })
}

/// Parts the byte order mark from the text, unless the patch speaks of it: then it is a part of the
/// first line.
fn split_mark<'f>(original: &'f [u8], patch: &Patch<'_>) -> (&'f [u8], &'f [u8]) {
    match original.split_at_checked(BYTE_ORDER_MARK.len()) {
        Some((mark, text))
            if mark == BYTE_ORDER_MARK.as_bytes()
                && !old_lines(&patch.lines).any(|line| line.text.starts_with(BYTE_ORDER_MARK)) =>
        {
            (mark, text)
        }
        _ => (&[], original),
    }
}
