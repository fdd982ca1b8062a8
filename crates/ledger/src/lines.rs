//! Texts as their lines, without what does not count: line endings and a byte order mark.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use toolwright_encoding::utf16;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// What a reader of a file is shown: UTF-16 as UTF-8, and everything else as it is.
pub(crate) fn shown_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    utf16::decode(bytes).map_or(Cow::Borrowed(bytes), |(_, text)| Cow::Owned(text))
}

/// The lines of a text, without their ends.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let mut lines: Vec<&[u8]> = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// How many lines a text has.
pub(crate) fn count(text: &[u8]) -> usize {
    let ends = text.split(|byte| *byte == b'\n').count() - 1;
    ends + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// Lines as a text.
pub(crate) fn joined<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

/// Whether two texts have the same lines.
pub(crate) fn are_same(one: &[u8], other: &[u8]) -> bool {
    one == other || lines(one) == lines(other)
}

/// Names the lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(pub(crate) [u8; 32]);

impl Hash {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        for line in lines(text) {
            hasher.update(line);
            hasher.update(b"\n");
        }
        Self(hasher.finalize().into())
    }

    pub(crate) fn to_hex(self) -> String {
        use std::fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    pub(crate) fn from_hex(hex: &str) -> Option<Self> {
        let mut hash = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (index, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(index * 2..index * 2 + 2)?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_and_a_mark_do_not_count() {
        for same in ["a\nb\n", "a\r\nb\r\n", "a\nb", "\u{feff}a\r\nb\n"] {
            assert!(are_same(b"a\nb\n", same.as_bytes()), "{same:?}");
            assert_eq!(Hash::of(b"a\nb\n"), Hash::of(same.as_bytes()), "{same:?}");
        }
        for other in ["a\nb\n\n", "a\nB\n", "ab\n", "", "a\r\rb\n"] {
            assert!(!are_same(b"a\nb\n", other.as_bytes()), "{other:?}");
            assert_ne!(Hash::of(b"a\nb\n"), Hash::of(other.as_bytes()), "{other:?}");
        }
        assert_eq!([count(b""), count(b"a"), count(b"a\n"), count(b"a\n\nb")], [0, 1, 1, 3]);
    }

    #[test]
    fn a_hash_is_read_back() {
        let hash = Hash::of(b"a\n");
        assert_eq!(Hash::from_hex(&hash.to_hex()), Some(hash));
        assert_eq!(Hash::from_hex("00"), None);
        assert_eq!(Hash::from_hex(&"é".repeat(32)), None);
    }
}
