//! The form of a text file: its byte order mark, its line endings and its encoding.

use std::borrow::Cow;

use toolwright_encoding::{Declared, utf16};

use crate::BYTE_ORDER_MARK;
use crate::encoded::in_utf16;

/// A new content in the form of the old one, and what that took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptForm<'c> {
    /// The content.
    pub content: Cow<'c, [u8]>,
    /// Whether it got the byte order mark of the old one.
    pub has_mark: bool,
    /// Whether its lines got the endings of the old one, CRLF.
    pub has_crlf: bool,
    /// The encoding of the old one that it got, if that is not UTF-8.
    pub encoding: Option<&'static str>,
}

/// Gives a new content the byte order mark, the CRLF and the encoding of the `old` one. A content that has a mark, or a
/// carriage return, shows that its author means its own; so does one that does not name the encoding that the old one
/// names, or has letters that are not in it.
///
/// Of a long file the beginning is enough, up to a whole unit of UTF-16.
#[must_use]
pub fn keep_form<'c>(old: &[u8], content: &'c str) -> KeptForm<'c> {
    let Some((order, text)) = utf16::decode(old) else {
        let KeptForm { content: kept, has_mark, has_crlf, .. } = keep_lines(old, content);
        let declared = Declared::of(old).filter(|declared| {
            !old.is_ascii() && !content.is_ascii() && declared.is_named_in(content.as_bytes())
        });
        let encoded = declared.and_then(|declared| {
            Some((declared.encode(str::from_utf8(&kept).ok()?)?, declared.name()))
        });
        return match encoded {
            Some((bytes, name)) => {
                let content = Cow::Owned(bytes);
                KeptForm { content, has_mark, has_crlf, encoding: Some(name) }
            }
            None => KeptForm { content: kept, has_mark, has_crlf, encoding: None },
        };
    };
    let kept = keep_lines(&text, content);
    let content = Cow::Owned(in_utf16(&kept.content, order));
    KeptForm { content, encoding: Some(order.name()), ..kept }
}

/// The same for the mark and the line endings of a text in UTF-8.
fn keep_lines<'c>(old: &[u8], content: &'c str) -> KeptForm<'c> {
    let has_crlf = !content.contains('\r') && content.contains('\n') && ends_in_crlf(old);
    let mut kept = if has_crlf { with_crlf(content) } else { Cow::Borrowed(content) };
    let has_mark =
        old.starts_with(BYTE_ORDER_MARK.as_bytes()) && !content.starts_with(BYTE_ORDER_MARK);
    if has_mark {
        kept = Cow::Owned(format!("{BYTE_ORDER_MARK}{kept}"));
    }
    let content = match kept {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    KeptForm { content, has_mark, has_crlf, encoding: None }
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
