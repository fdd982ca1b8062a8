//! Values of references, and of `HEAD`.

use std::fmt;

use super::name::RefName;
use crate::object::Id;

/// What a reference says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefValue {
    /// It names an object.
    Id(Id),
    /// It has the value of another reference.
    Symbolic(RefName),
}

/// What `HEAD` says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Head {
    /// A branch is checked out. It may have no commit yet.
    Branch(RefName),
    /// A commit is checked out.
    Detached(Id),
}

/// A text that is not the value of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the value of a reference")]
pub struct BadValue;

impl RefValue {
    /// Parses the content of a file below `refs`: 40 digits or `ref: NAME`, and a line feed.
    pub fn parse(content: &[u8]) -> Result<Self, BadValue> {
        let line = content.strip_suffix(b"\n").unwrap_or(content);
        match line.strip_prefix(b"ref: ") {
            Some(target) => RefName::parse(target).map(Self::Symbolic).map_err(|_| BadValue),
            None => Id::from_hex(line).map(Self::Id).map_err(|_| BadValue),
        }
    }

    /// The content of a file.
    #[must_use]
    pub fn content(&self) -> Vec<u8> {
        format!("{self}\n").into_bytes()
    }

    /// The object that it names itself.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Symbolic(_) => None,
        }
    }
}

impl Head {
    /// Parses the content of `HEAD`: 40 digits or `ref: refs/heads/NAME`, and a line feed.
    pub fn parse(content: &[u8]) -> Result<Self, BadValue> {
        match RefValue::parse(content)? {
            RefValue::Id(id) => Ok(Self::Detached(id)),
            RefValue::Symbolic(name) if name.is_branch() => Ok(Self::Branch(name)),
            RefValue::Symbolic(_) => Err(BadValue),
        }
    }

    /// The content of the file.
    #[must_use]
    pub fn content(&self) -> Vec<u8> {
        match self {
            Self::Branch(name) => format!("ref: {name}\n").into_bytes(),
            Self::Detached(id) => format!("{id}\n").into_bytes(),
        }
    }
}

impl fmt::Display for RefValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(formatter),
            Self::Symbolic(name) => write!(formatter, "ref: {name}"),
        }
    }
}
