//! Lines of logs.

use crate::object::Id;

/// The most bytes of a line.
const LENGTH: usize = 64 << 10;

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// The value before. [`Id::NONE`]: the reference was not there.
    pub old: Id,
    /// The value after.
    pub new: Id,
    text: Box<[u8]>,
}

/// A text that is not a line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a line of a reference's log")]
pub struct BadLine;

impl Line {
    /// Parses a line, without its line feed.
    pub fn parse(line: &[u8]) -> Result<Self, BadLine> {
        let (ids, rest) = line.split_at_checked(82).ok_or(BadLine)?;
        if ids[40] != b' ' || ids[81] != b' ' || line.len() > LENGTH {
            return Err(BadLine);
        }
        let old = Id::from_hex(&ids[..40]).map_err(|_| BadLine)?;
        let new = Id::from_hex(&ids[41..81]).map_err(|_| BadLine)?;
        let (who, message) = match split_at_byte(rest, b'\t') {
            Some((who, message)) => (who, message),
            None => (rest, &[][..]),
        };
        if is_signature(who) && is_printable(message) {
            Ok(Self { old, new, text: line.into() })
        } else {
            Err(BadLine)
        }
    }

    /// The line, without a line feed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }
}

/// Parses whole lines.
pub fn parse(lines: &[u8]) -> Result<Vec<Line>, BadLine> {
    match lines.strip_suffix(b"\n") {
        None if lines.is_empty() => Ok(Vec::new()),
        None => Err(BadLine),
        Some(lines) => lines.split(|byte| *byte == b'\n').map(Line::parse).collect(),
    }
}

/// Whether it is `NAME <MAIL> TIME ZONE`.
fn is_signature(who: &[u8]) -> bool {
    let Some((name, rest)) = split_at_byte(who, b'<') else { return false };
    let Some((mail, rest)) = split_at_byte(rest, b'>') else { return false };
    let Some((time, zone)) = rest.strip_prefix(b" ").and_then(|rest| split_at_byte(rest, b' '))
    else {
        return false;
    };
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let (sign, digits) = zone.split_at_checked(1).unwrap_or_default();
    (name.is_empty() || name.ends_with(b" "))
        && !name.contains(&b'>')
        && !mail.contains(&b'<')
        && is_printable(name)
        && is_printable(mail)
        && is_number(time)
        && time.len() <= 12
        && matches!(sign, b"+" | b"-")
        && digits.len() == 4
        && is_number(digits)
}

/// Whether a terminal takes no byte of a text for a control. A name can be in an older encoding than UTF-8,
/// where a byte from 0x80 to 0x9f is a control.
pub(crate) fn is_printable(text: &[u8]) -> bool {
    text.utf8_chunks().all(|chunk| {
        !chunk.valid().chars().any(char::is_control)
            && chunk.invalid().iter().all(|byte| *byte >= 0xa0)
    })
}

fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|other| *other == byte)?;
    Some((&text[..at], &text[at + 1..]))
}
