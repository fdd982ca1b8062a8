//! How much white space counts when lines are compared.

use crate::lines::reads_as;

/// The white space that a comparison ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// None.
    Exact,
    /// At the ends of lines.
    Trailing,
    /// At the beginnings and ends of lines.
    Around,
}

impl Spacing {
    /// From the strictest to the loosest.
    pub(crate) const ALL: [Self; 3] = [Self::Exact, Self::Trailing, Self::Around];

    /// The part of a line that is compared.
    pub(crate) fn key(self, text: &[u8]) -> &[u8] {
        match (self, str::from_utf8(text)) {
            (Self::Exact, _) => text,
            (Self::Trailing, Ok(text)) => text.trim_end_matches(is_space).as_bytes(),
            (Self::Around, Ok(text)) => text.trim_matches(is_space).as_bytes(),
            (Self::Trailing, Err(_)) => text.trim_ascii_end(),
            (Self::Around, Err(_)) => text.trim_ascii(),
        }
    }

    /// Whether a line of the file equals `expected`, once it is decoded.
    pub(crate) fn reads_as(self, text: &[u8], expected: &str) -> bool {
        reads_as(text, expected)
            || (self != Self::Exact && {
                let decoded = String::from_utf8_lossy(text);
                self.key(decoded.as_bytes()) == self.key(expected.as_bytes())
            })
    }
}

/// White space as JavaScript's `trim` sees it, by which the format of `apply_patch` is defined.
fn is_space(char: char) -> bool {
    (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_ignores_more() {
        let same = |left: &str, right: &str| {
            Spacing::ALL.map(|spacing| spacing.reads_as(left.as_bytes(), right))
        };
        assert_eq!(same("a", "a"), [true, true, true]);
        assert_eq!(same("a\t ", "a"), [false, true, true]);
        assert_eq!(same("\u{3000}a", "a\u{a0}"), [false, false, true]);
        assert_eq!(same("a b", "a  b"), [false, false, false]);
    }

    #[test]
    fn bytes_that_are_not_utf8_have_ends_too() {
        assert!(Spacing::Trailing.reads_as(b"caf\xe9 ", "caf\u{fffd}"));
        assert_eq!(Spacing::Around.key(b"\tcaf\xe9 "), b"caf\xe9");
    }
}
