//! The value of a credential.

use std::fmt;

use zeroize::Zeroizing;

/// How short a value may be. A shorter one would be found by chance in what a host answers.
const MIN_BYTES: usize = 8;
const MAX_BYTES: usize = 8 << 10;

/// A value that is never printed, and is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a value. `None` for what cannot be sent in a header as it is, and for what is too short or too long.
    #[must_use]
    pub fn new(value: impl Into<Zeroizing<String>>) -> Option<Self> {
        let value = value.into();
        let is_sent = value.bytes().all(|byte| byte.is_ascii_graphic());
        let fits = (MIN_BYTES..=MAX_BYTES).contains(&value.len());
        (is_sent && fits).then_some(Self(value))
    }

    /// The value itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_word_of_a_header_and_prints_as_nothing() {
        for refused in ["", "short", "two words of it", "line\nbreak-line", "l\u{e4}nglicher-wert"]
        {
            assert_eq!(Secret::new(refused.to_owned()), None, "{refused}");
        }
        assert_eq!(Secret::new("x".repeat(MAX_BYTES + 1)), None);
        let secret = Secret::new("canary-4711".to_owned()).map(|secret| format!("{secret:?}"));
        assert_eq!(secret.as_deref(), Some("Secret"));
    }
}
