//! The words and lines that the files of states are made of.

use crate::log::is_printable;
use crate::object::Id;
use crate::refs::RefName;

/// A rule for the content of a file.
pub(super) type Rule = fn(&[u8]) -> bool;

/// A content without the line feed at its end.
pub(super) fn line(content: &[u8]) -> &[u8] {
    content.strip_suffix(b"\n").unwrap_or(content)
}

/// Whether a content is whole lines that follow a rule. None is enough.
pub(super) fn lines(content: &[u8], rule: impl Fn(&[u8]) -> bool) -> bool {
    content.is_empty()
        || content
            .strip_suffix(b"\n")
            .is_some_and(|content| content.split(|byte| *byte == b'\n').all(rule))
}

/// Whether it is 40 digits.
pub(super) fn is_id(text: &[u8]) -> bool {
    Id::from_hex(text).is_ok()
}

/// Whether it is the beginning of a name of an object.
pub(super) fn is_short_id(text: &[u8]) -> bool {
    (4..=40).contains(&text.len())
        && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether it is a natural number.
pub(super) fn is_number(text: &[u8]) -> bool {
    (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// Whether it is a label of a rebase, or the short name of a branch: a name that is no option, no path and
/// no expression.
pub(super) fn is_label(text: &[u8]) -> bool {
    RefName::parse(&[b"refs/rewritten/", text].concat()).is_ok() && is_printable(text)
}

/// A file with the name of one object.
pub(super) fn id(content: &[u8]) -> bool {
    is_id(line(content))
}

/// A file with the name of one object, or with nothing.
pub(super) fn id_or_nothing(content: &[u8]) -> bool {
    line(content).is_empty() || id(content)
}

/// A file with the beginning of a name of an object.
pub(super) fn short_id(content: &[u8]) -> bool {
    is_short_id(line(content))
}

/// A file with names of objects.
pub(super) fn ids(content: &[u8]) -> bool {
    !content.is_empty() && lines(content, is_id)
}

/// A file with names of objects, or with nothing.
pub(super) fn ids_or_nothing(content: &[u8]) -> bool {
    lines(content, is_id)
}

/// A file with a pair of names of objects in each line.
pub(super) fn pairs(content: &[u8]) -> bool {
    lines(content, |line| {
        line.len() == 81 && is_id(&line[..40]) && line[40] == b' ' && is_id(&line[41..])
    })
}

/// A file with a number.
pub(super) fn number(content: &[u8]) -> bool {
    is_number(line(content))
}

/// A file with nothing.
pub(super) fn nothing(content: &[u8]) -> bool {
    line(content).is_empty()
}

/// A text that a person reads and edits: a message, a patch.
pub(super) fn text(content: &[u8]) -> bool {
    !content.contains(&0)
}

/// A message.
pub(super) fn message(content: &[u8]) -> bool {
    content.len() <= 1 << 20 && text(content)
}

/// `t` or `f`.
pub(super) fn boolean(content: &[u8]) -> bool {
    matches!(line(content), b"t" | b"f")
}

/// Words in single quotes with a space before each, as git writes them for a shell. A shell sees nothing but
/// the words.
pub(super) fn quoted_words(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(word) =
        rest.strip_prefix(b" '").or_else(|| rest.strip_prefix(b"'").filter(|_| words.is_empty()))
    {
        let end = word.iter().position(|byte| *byte == b'\'')?;
        if !is_printable(&word[..end]) {
            return None;
        }
        words.push(&word[..end]);
        rest = &word[end + 1..];
    }
    // Git before 2.30 ends some of these lines with a space.
    matches!(rest, b"" | b" ").then_some(words)
}
