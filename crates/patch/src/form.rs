//! The form of a text file: its byte order mark, its line endings, and whether it is UTF-8.

use std::borrow::Cow;

use crate::BYTE_ORDER_MARK;
use crate::hunk::{Patch, Sign};
use crate::{PatchError, excerpt::excerpt};

/// A new content in the form of the old one, and what that took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptForm<'c> {
    /// The content.
    pub content: Cow<'c, str>,
    /// Whether it got the byte order mark of the old one.
    pub has_mark: bool,
    /// Whether its lines got the endings of the old one, CRLF.
    pub has_crlf: bool,
}

/// Gives a new content the byte order mark and the CRLF of the `old` one. A content that has a mark, or a carriage
/// return, shows that its author means its own.
#[must_use]
pub fn keep_form<'c>(old: &[u8], content: &'c str) -> KeptForm<'c> {
    let has_crlf = !content.contains('\r') && content.contains('\n') && ends_in_crlf(old);
    let mut kept = if has_crlf { with_crlf(content) } else { Cow::Borrowed(content) };
    let has_mark =
        old.starts_with(BYTE_ORDER_MARK.as_bytes()) && !content.starts_with(BYTE_ORDER_MARK);
    if has_mark {
        kept = Cow::Owned(format!("{BYTE_ORDER_MARK}{kept}"));
    }
    KeptForm { content: kept, has_mark, has_crlf }
}

/// Whether there are lines, and all of them end in CRLF.
pub(crate) fn ends_in_crlf(text: &[u8]) -> bool {
    let mut any = false;
    memchr::memchr_iter(b'\n', text).all(|at| {
        any = true;
        at > 0 && text[at - 1] == b'\r'
    }) && any
}

/// A text with its line feeds as CRLF.
pub(crate) fn with_crlf(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut crlf = String::with_capacity(text.len() + 16);
    let mut before = '\0';
    for c in text.chars() {
        if c == '\n' && before != '\r' {
            crlf.push('\r');
        }
        crlf.push(c);
        before = c;
    }
    Cow::Owned(crlf)
}

/// Whether a text is in another encoding than UTF-8: more of its letters are no UTF-8 than are. A few broken bytes
/// in a text of UTF-8 do not count.
fn is_other_encoding(text: &[u8]) -> bool {
    let (mut broken, mut letters) = (0_usize, 0_usize);
    for chunk in text.utf8_chunks() {
        letters += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    broken > letters
}

/// Whether letters of UTF-8 have come to those of another encoding.
pub(crate) fn is_mixture(old: &[u8], new: &[u8]) -> bool {
    is_other_encoding(old) && str::from_utf8(new).is_err()
}

/// Refuses added lines with other letters than those of ASCII in a file of another encoding: they would be
/// written as UTF-8. A patch that removes what is not UTF-8 may do so.
pub(crate) fn refuse_mixture(patch: &Patch<'_>, old: &[u8], new: &[u8]) -> Result<(), PatchError> {
    let is_other = |text: &str| !text.is_ascii();
    let mut added = patch.hunks.iter().flat_map(|hunk| {
        let lines = patch.body(hunk).iter().filter(|line| line.sign == Sign::Added);
        lines.map(move |line| (hunk, line))
    });
    match added.find(|(_, line)| is_other(line.text)) {
        Some((hunk, line)) if is_mixture(old, new) => Err(PatchError::OtherEncoding {
            hunk: hunk.number,
            patch_line: line.patch_line,
            text: excerpt(line.text),
        }),
        _ => Ok(()),
    }
}
