//! A secret: its name and the texts by which it is known.

use crate::ordinary::MIN_LENGTH;
use crate::parts::{lines, password, pieces};
use crate::{base64, ordinary};

/// No shorter part of a value is masked for itself.
const MIN_PART: usize = 16;
/// A longer text is known by pieces of this length, so that a stream keeps back no more.
const MAX_LITERAL: usize = 512;
/// Longer values are not looked for in base 64: they are files, which have lines.
const MAX_ENCODED: usize = 512;
/// How long a name is in a text.
const MAX_NAME: usize = 64;

/// A named value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    literals: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Secret {
    /// Without the value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Secret {
    /// A value that somebody calls a secret. It is masked whatever it looks like, if it is not shorter than
    /// [`MIN_LENGTH`].
    #[must_use]
    pub fn given(name: &str, value: &[u8]) -> Self {
        Self::of(name, value, true)
    }

    /// A value that is secret by the name of its variable. An [ordinary](ordinary::is_ordinary) one is not masked.
    #[must_use]
    pub fn found(name: &str, value: &[u8]) -> Self {
        Self::of(name, value, false)
    }

    fn of(name: &str, value: &[u8], is_given: bool) -> Self {
        let value = value.trim_ascii();
        let is_wanted = |part: &&[u8]| part.len() >= MIN_PART && !ordinary::is_ordinary(part);
        let mut literals = Literals::default();
        let is_one_line = !value.contains(&b'\n');
        if is_one_line && (is_given || !ordinary::is_ordinary(value)) {
            literals.add_with_forms(value);
            pieces(value).filter(is_wanted).for_each(|piece| literals.add(piece));
        }
        if !is_one_line {
            // As terminals and JSON print them, and in other places of a file.
            lines(value).filter(is_wanted).for_each(|line| literals.add(line));
        }
        if !is_one_line && is_given {
            literals.add(value);
            // The title of a key is that of every key.
            let is_title = |line: &&[u8]| line.starts_with(b"-----");
            let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.filter(|line| !is_title(line)).for_each(|line| literals.add(line));
        }
        if let Some(password) = password(value).filter(|password| !ordinary::is_ordinary(password))
        {
            literals.add_with_forms(password);
        }
        Self { name: shown(name), literals: literals.0 }
    }

    /// Whether there is something to mask.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        !self.literals.is_empty()
    }

    /// What stands in its place.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn literals(&self) -> &[Vec<u8>] {
        &self.literals
    }
}

#[derive(Default)]
struct Literals(Vec<Vec<u8>>);

impl Literals {
    /// The text, in base 64 and with percent signs too.
    fn add_with_forms(&mut self, text: &[u8]) {
        self.add(text);
        if (MIN_LENGTH..=MAX_ENCODED).contains(&text.len()) {
            for form in base64::encoded(text) {
                self.add(&form);
            }
            self.add(&in_address(text));
        }
    }

    fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        while rest.len() > MAX_LITERAL + MIN_PART {
            let (piece, after) = rest.split_at(MAX_LITERAL);
            self.push(piece);
            rest = after;
        }
        self.push(rest);
    }

    fn push(&mut self, text: &[u8]) {
        if text.len() >= MIN_LENGTH && !self.0.iter().any(|known| known == text) {
            self.0.push(text.to_vec());
        }
    }
}

/// A text as a part of an address.
fn in_address(text: &[u8]) -> Vec<u8> {
    let mut form = Vec::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            form.push(byte);
        } else {
            form.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    form
}

/// A name for brackets.
fn shown(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let name: String = name
        .chars()
        .take(MAX_NAME)
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    if name.is_empty() { "SECRET".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(value: &str) -> Vec<String> {
        let secret = Secret::found("X", value.as_bytes());
        let text = |literal: &Vec<u8>| String::from_utf8_lossy(literal).into_owned();
        secret.literals().iter().map(text).collect()
    }

    #[test]
    fn a_value_has_its_forms_and_an_address_its_password() {
        assert!(literals("production").is_empty() && literals("/home/me/key.pem").is_empty());
        let all = literals("postgres://app:Gk29x7QmZp41@db.example/app");
        assert!(all.contains(&"Gk29x7QmZp41".to_owned()), "{all:?}");
        assert!(all.contains(&"postgres://app:Gk29x7QmZp41@db.example/app".to_owned()));
        let all = literals("Bearer a8Kd93jfKq02LmxZ77Tb");
        assert!(all.contains(&"a8Kd93jfKq02LmxZ77Tb".to_owned()), "{all:?}");
        let all = literals("p+q/r%7Gk29x7QmZp41");
        assert!(all.contains(&"p%2Bq%2Fr%257Gk29x7QmZp41".to_owned()), "{all:?}");
    }

    #[test]
    fn a_value_of_lines_is_known_by_them() {
        let all = literals(
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU\n-----END PRIVATE KEY-----\n",
        );
        assert_eq!(all, ["MIIEvQIBADANBgkqhkiG9w0BAQEF", "AASCBKcwggSjAgEAAoIBAQC7VJTU"]);
    }

    #[test]
    fn a_given_value_of_lines_is_known_by_all_of_them() {
        let texts =
            |value: &[u8]| -> Vec<Vec<u8>> { Secret::given("X", value).literals().to_vec() };
        let all = texts(b"correct horse\nbattery staple\n");
        assert!(
            all.contains(&b"correct horse".to_vec()) && all.contains(&b"battery staple".to_vec())
        );
        assert_eq!(texts(b"abc\ndef\nghi"), [b"abc\ndef\nghi"], "too short by themselves");
        let key = texts(
            b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----",
        );
        assert!(key.iter().all(|text| !text.ends_with(b"KEY-----") || text.contains(&b'\n')));
    }

    #[test]
    fn a_long_value_is_known_by_pieces_and_a_name_is_plain() {
        let long = "a1B2c3D4e5".repeat(300);
        let all = literals(&long);
        assert!(all.iter().all(|literal| literal.len() <= MAX_LITERAL + MIN_PART));
        assert_eq!(Secret::given("a b\n[x]", b"12345678").name(), "a_b__x_");
        assert_eq!(Secret::given("", b"12345678").name(), "SECRET");
        assert!(!Secret::given("X", b"1234567").is_masked());
    }
}
