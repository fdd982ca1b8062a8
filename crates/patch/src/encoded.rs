//! Changes of files in other encodings than UTF-8. Letters are written in the encoding of the file, or not at all.

use toolwright_encoding::{Declared, utf16};

use crate::excerpt::excerpt;
use crate::hunk::{BodyLine, Patch, Sign};
use crate::{Applied, BINARY_CHECK_BYTES, BYTE_ORDER_MARK, PatchError, apply_as_it_is};

/// Whether a file is no text: it has a NUL byte near its beginning, and is not UTF-16.
pub(crate) fn is_binary(file: &[u8]) -> bool {
    file[..file.len().min(BINARY_CHECK_BYTES)].contains(&0) && utf16::decode(file).is_none()
}

/// A changed text in UTF-16. Its mark stays, because nothing else shows the encoding.
pub(crate) fn in_utf16(text: &[u8], order: utf16::ByteOrder) -> Vec<u8> {
    let mark = BYTE_ORDER_MARK.as_bytes();
    if text.starts_with(mark) {
        return utf16::encode(text, order);
    }
    utf16::encode(&[mark, text].concat(), order)
}

/// Applies a patch in the encoding of the file: UTF-16 with a mark, or one that the file names. Letters for any other
/// file that is not UTF-8 are refused.
pub(crate) fn apply_parsed(original: &[u8], patch: &Patch<'_>) -> Result<Applied, PatchError> {
    if let Some((order, text)) = utf16::decode(original) {
        let mut applied = apply_as_it_is(&text, patch, None)?;
        applied.bytes = in_utf16(&applied.bytes, order);
        return Ok(applied);
    }
    let is_plain = |line: &BodyLine<'_>| line.text.is_ascii();
    if patch.is_ascii || patch.lines.iter().all(is_plain) {
        return apply_as_it_is(original, patch, None);
    }
    if let Some(declared) = Declared::of(original) {
        let applied = apply_declared(original, patch, declared)?;
        // The patch can name another encoding.
        if declared.is_named_in(&applied.bytes) {
            return Ok(applied);
        }
    }
    let applied = apply_as_it_is(original, patch, None)?;
    refuse_mixture(patch, original, &applied.bytes)?;
    Ok(applied)
}

/// Applies a patch to a file that names its encoding. Its author has seen the letters of the file, or what a reader of
/// UTF-8 sees in their place.
fn apply_declared(
    original: &[u8],
    patch: &Patch<'_>,
    declared: Declared,
) -> Result<Applied, PatchError> {
    let lacks = |(_, line): &(usize, &BodyLine<'_>)| declared.encode(line.text).is_none();
    let refused = |(hunk, line)| other_encoding(hunk, line, Some(declared.name()));
    let as_text = declared.decode(original).ok_or(PatchError::BinaryFile).and_then(|text| {
        let mut applied = apply_as_it_is(text.as_bytes(), patch, None)?;
        let new = declared.encode(&String::from_utf8_lossy(&applied.bytes));
        let lacking = || added(patch).find(lacks).map_or(PatchError::BinaryFile, refused);
        applied.bytes = new.ok_or_else(lacking)?;
        Ok(applied)
    });
    let Err(error @ PatchError::StaleContext(_)) = as_text else { return as_text };
    let as_bytes = apply_as_it_is(original, patch, Some(declared)).map_err(|_| error)?;
    added(patch).find(lacks).map_or(Ok(as_bytes), |line| Err(refused(line)))
}

/// The added lines, each with the number of its hunk.
fn added<'a>(patch: &'a Patch<'a>) -> impl Iterator<Item = (usize, &'a BodyLine<'a>)> + 'a {
    patch.hunks.iter().flat_map(|hunk| {
        let lines = patch.body(hunk).iter().filter(|line| line.sign == Sign::Added);
        lines.map(move |line| (hunk.number, line))
    })
}

fn other_encoding(hunk: usize, line: &BodyLine<'_>, encoding: Option<&'static str>) -> PatchError {
    let text = excerpt(line.text);
    PatchError::OtherEncoding { hunk, patch_line: line.patch_line, text, encoding }
}

/// How many letters of UTF-8 outweigh what is none. Two letters of another encoding can look like one of UTF-8.
const LETTERS_FOR_ONE: usize = 4;

/// Whether a text may be in another encoding than UTF-8. A few broken bytes among many letters do not count.
fn is_other_encoding(text: &[u8]) -> bool {
    let (mut broken, mut letters) = (0_usize, 0_usize);
    for chunk in text.utf8_chunks() {
        letters += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    broken.saturating_mul(LETTERS_FOR_ONE) > letters
}

/// Whether letters of UTF-8 have come to those of another encoding.
pub(crate) fn is_mixture(old: &[u8], new: &[u8]) -> bool {
    is_other_encoding(old) && str::from_utf8(new).is_err()
}

/// Refuses added lines with other letters than those of ASCII in a file of another encoding: they would be
/// written as UTF-8. A patch that removes what is not UTF-8 may do so.
fn refuse_mixture(patch: &Patch<'_>, old: &[u8], new: &[u8]) -> Result<(), PatchError> {
    match added(patch).find(|(_, line)| !line.text.is_ascii()) {
        Some((hunk, line)) if is_mixture(old, new) => Err(other_encoding(hunk, line, None)),
        _ => Ok(()),
    }
}

/// Why letters are not added to a file that names `encoding`, or none.
pub(crate) fn letters_refused(encoding: Option<&'static str>) -> String {
    match encoding {
        Some(name) => {
            format!("the file names {name} as its encoding, which does not have all of them")
        }
        None => "the file is not UTF-8, does not say which encoding it has, and they would be written as UTF-8".to_owned(),
    }
}
