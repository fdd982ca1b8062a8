//! What is known of one file.

use std::ops::Range;

use crate::known::Known;
use crate::parts::{self, Part, Start};

/// What a call has shown of a file.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Some bytes of it.
    Bytes {
        /// Where they begin.
        from: u64,
        /// The bytes.
        text: &'a [u8],
        /// Whether the file ends with them.
        is_end: bool,
    },
    /// Some lines of it.
    Lines {
        /// The number of the first one, from 1.
        first: u64,
        /// The lines.
        text: &'a [u8],
        /// Whether the file ends with them.
        is_end: bool,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    /// The whole file.
    pub(crate) whole: Option<Known>,
    /// What was shown of it apart from that.
    pub(crate) parts: Vec<Part>,
    /// When it was used last.
    pub(crate) used: u64,
    /// When the model itself changed it last.
    pub(crate) changed: u64,
}

impl Entry {
    pub(crate) fn of(text: &[u8]) -> Self {
        Self { whole: Some(Known::of(text)), ..Self::default() }
    }

    pub(crate) fn add(&mut self, shown: Shown<'_>) {
        let (start, text, is_end) = match shown {
            Shown::Whole(text) => (Start::Byte(0), text, true),
            Shown::Bytes { from, text, is_end } => (Start::Byte(from), text, is_end),
            Shown::Lines { first, text, is_end } => {
                (Start::Line(first.saturating_sub(1)), text, is_end)
            }
        };
        let is_whole = is_end && matches!(start, Start::Byte(0) | Start::Line(0));
        if is_whole {
            self.whole = Some(Known::of(text));
            self.parts.clear();
            return;
        }
        if text.is_empty() {
            return;
        }
        if let Some(whole) =
            parts::add(&mut self.parts, Part { start, text: text.to_vec() }, is_end)
        {
            self.whole = Some(Known::of(&whole));
            self.parts.clear();
        }
    }

    /// The lines of `now` that its parts show.
    pub(crate) fn covered(&self, now: &[&[u8]]) -> Vec<Range<usize>> {
        self.parts.iter().filter_map(|part| part.find(now)).collect()
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.parts.is_empty()
    }

    /// How much memory its texts take.
    pub(crate) fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.text.len()).sum();
        parts + self.whole.as_ref().map_or(0, Known::bytes)
    }

    /// Forgets texts. What was shown in parts is as if it had not been read.
    pub(crate) fn shorten(&mut self) {
        self.whole = self.whole.as_ref().map(Known::shortened);
        self.parts = Vec::new();
    }
}
