//! Names of objects.

use std::fmt;
use std::str::FromStr;

/// The name of an object: the SHA-1 of its kind, length and content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; 20]);

/// A text that is not 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an object")]
pub struct NotAnId;

impl Id {
    /// What git writes where there is no object.
    pub const NONE: Self = Self([0; 20]);
    /// The length of a name in bytes.
    pub const LENGTH: usize = 20;

    /// A name from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// A name from 40 lower-case hexadecimal digits.
    pub fn from_hex(text: &[u8]) -> Result<Self, NotAnId> {
        let digits: &[u8; 40] = text.try_into().map_err(|_| NotAnId)?;
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn digit(byte: u8) -> Result<u8, NotAnId> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(NotAnId),
    }
}

impl FromStr for Id {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Self::from_hex(text.as_bytes())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
