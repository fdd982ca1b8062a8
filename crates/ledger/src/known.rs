//! The content of a file as the model knows it.

use std::sync::Arc;

use crate::lines::{Hash, are_same};

/// Longer texts are known by their hash.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;

/// The content of a whole file as the model knows it.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    Text(Arc<[u8]>),
    /// The text is not kept.
    Hash(Hash),
    /// Nothing that could be there: others have changed the file, and not all of that was shown.
    Outdated,
}

impl Known {
    pub(crate) fn of(text: &[u8]) -> Self {
        if text.len() > MAX_TEXT_BYTES {
            Self::Hash(Hash::of(text))
        } else {
            Self::Text(text.into())
        }
    }

    pub(crate) fn is(&self, now: &[u8]) -> bool {
        match self {
            Self::Text(text) => are_same(text, now),
            Self::Hash(hash) => *hash == Hash::of(now),
            Self::Outdated => false,
        }
    }

    /// The same without the text.
    pub(crate) fn shortened(&self) -> Self {
        match self {
            Self::Text(text) => Self::Hash(Hash::of(text)),
            other => other.clone(),
        }
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Hash(_) | Self::Outdated => 0,
        }
    }

    /// What names it.
    pub(crate) fn hash(&self) -> Option<Hash> {
        match self {
            Self::Text(text) => Some(Hash::of(text)),
            Self::Hash(hash) => Some(*hash),
            Self::Outdated => None,
        }
    }
}
