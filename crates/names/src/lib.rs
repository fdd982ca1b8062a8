//! Names of files for a reader: a terminal, a person or a model.
//!
//! A name may hold whatever its maker liked. A terminal obeys control characters, marks of direction show another
//! order than the bytes have, and a line feed begins a line of its own. So a name that holds one of them is
//! printed as git prints it, in quotes and with escapes:
//!
//! | in the name | printed |
//! | --- | --- |
//! | bell, backspace, tab, line feed, vertical tab, form feed, carriage return | `\a` `\b` `\t` `\n` `\v` `\f` `\r` |
//! | quote, backslash | `\"` `\\` |
//! | other characters that are obeyed or not seen (`Cc`, `Cf`, `Zl`, `Zp`), bytes that are not UTF-8 | `\033`: each byte in octal, with three digits |
//!
//! All other names are printed as they are, in any script. A patch may name a file in either form.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Format characters (`Cf`) and the separators of lines and paragraphs. Control characters are known to the
/// standard library.
const UNSEEN: [(u32, u32); 20] = [
    (0xad, 0xad),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x180e, 0x180e),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0xfeff, 0xfeff),
    (0xfff9, 0xfffb),
    (0x1_10bd, 0x1_10bd),
    (0x1_10cd, 0x1_10cd),
    (0x1_3430, 0x1_343f),
    (0x1_bca0, 0x1_bca3),
    (0x1_d173, 0x1_d17a),
    (0xe_0001, 0xe_0001),
    (0xe_0020, 0xe_007f),
];

/// A name, or a path, as the head of this crate says.
///
/// ```
/// use toolwright_names::printable;
///
/// assert_eq!(printable("a/é b.txt".as_bytes()), "a/é b.txt");
/// assert_eq!(printable(b"a/\x1b]52;c\x07"), r#""a/\033]52;c\a""#);
/// ```
#[must_use]
pub fn printable(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) if !text.chars().any(is_escaped) => Cow::Borrowed(text),
        _ => Cow::Owned(quoted(name)),
    }
}

/// As [`printable`], for a path.
#[must_use]
pub fn printable_path(path: &Path) -> Cow<'_, str> {
    printable(path.as_os_str().as_encoded_bytes())
}

fn is_escaped(character: char) -> bool {
    matches!(character, '"' | '\\') || is_unseen(character)
}

/// Whether a character is obeyed by a terminal, or is not seen.
#[must_use]
pub fn is_unseen(character: char) -> bool {
    let code = u32::from(character);
    character.is_control() || UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

fn quoted(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    text.push('"');
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\u{7}' => text.push_str("\\a"),
                '\u{8}' => text.push_str("\\b"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\u{b}' => text.push_str("\\v"),
                '\u{c}' => text.push_str("\\f"),
                '\r' => text.push_str("\\r"),
                one if is_unseen(one) => octal(&mut text, one.encode_utf8(&mut [0; 4]).as_bytes()),
                one => text.push(one),
            }
        }
        octal(&mut text, chunk.invalid());
    }
    text.push('"');
    text
}

fn octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_printed_as_git_prints_them() {
        for (name, printed) in [
            (&b"a/b c.txt"[..], "a/b c.txt"),
            ("日本語/é/👩\u{fe0f}".as_bytes(), "日本語/é/👩\u{fe0f}"),
            (b"a\x1b]52;c;eA==\x07", r#""a\033]52;c;eA==\a""#),
            (b"\t\n\r\x08\x0b\x0c\"\\", r#""\t\n\r\b\v\f\"\\""#),
            (b"\x7f\xc2\x9b", r#""\177\302\233""#),
            ("a\u{202e}b\u{2028}".as_bytes(), r#""a\342\200\256b\342\200\250""#),
            (b"a\xffb\xc3", r#""a\377b\303""#),
            (b"", ""),
        ] {
            assert_eq!(printable(name), printed);
        }
    }

    /// What git reads in a quoted name.
    fn unquoted(text: &str) -> Vec<u8> {
        let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
            return text.as_bytes().to_vec();
        };
        let mut bytes = Vec::new();
        let mut rest = inner.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match (byte, byte == b'\\') {
                (_, false) => byte,
                _ => match rest.next() {
                    Some(digit @ b'0'..=b'3') => {
                        let low = rest.by_ref().take(2).fold(0, |sum, one| sum * 8 + (one - b'0'));
                        (digit - b'0') * 64 + low
                    }
                    Some(b'a') => 7,
                    Some(b'b') => 8,
                    Some(b't') => b'\t',
                    Some(b'n') => b'\n',
                    Some(b'v') => 11,
                    Some(b'f') => 12,
                    Some(b'r') => b'\r',
                    Some(other) => other,
                    None => b'?',
                },
            });
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_that_is_obeyed_or_unseen_is_printed_and_no_two_names_alike(
            name in prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes)],
        ) {
            let text = printable(&name);
            prop_assert!(!text.chars().any(is_unseen));
            prop_assert_eq!(unquoted(&text), name);
        }
    }
}
