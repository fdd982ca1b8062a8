//! Many texts searched at once, by their pairs of bytes.
//!
//! The search looks at the last pair of a window as long as the shortest text. Most pairs stand in none of them, and then
//! the window moves on by nearly its length. So more texts make it hardly slower.

use std::fmt;

/// A place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub start: usize,
    /// Where it has ended.
    pub end: usize,
    /// Whose text it is.
    pub owner: usize,
}

/// Texts that are searched at once, each with its owner.
pub struct Literals {
    /// Sorted, each with its owner.
    texts: Vec<(Vec<u8>, usize)>,
    /// The length of the window.
    window: usize,
    /// How far the window moves after each pair of bytes; 0 where a text may begin.
    shifts: Box<[u8; PAIRS]>,
    /// Which texts have this pair at the end of the window: sorted.
    at_end: Vec<(u16, usize)>,
    longest: usize,
    /// Bytes that begin a text.
    begins: [bool; 256],
}

const PAIRS: usize = 1 << 16;

impl Literals {
    /// `None` where there are no texts. None is shorter than two bytes.
    #[must_use]
    pub fn new(mut texts: Vec<(Vec<u8>, usize)>) -> Option<Self> {
        texts.retain(|(text, _)| text.len() > 1);
        texts.sort();
        // The first owner of a text names it.
        texts.dedup_by(|next, kept| next.0 == kept.0);
        let window = texts.iter().map(|(text, _)| text.len()).min()?;
        let longest = texts.iter().map(|(text, _)| text.len()).max()?;
        // A pair that is in no window is passed by all of it but one byte.
        let farthest = u8::try_from(window - 1).unwrap_or(u8::MAX);
        let mut shifts = vec![farthest; PAIRS];
        let (mut at_end, mut begins) = (Vec::new(), [false; 256]);
        for (index, (text, _)) in texts.iter().enumerate() {
            begins[usize::from(text[0])] = true;
            for (at, bytes) in text[..window].windows(2).enumerate() {
                let shift = &mut shifts[usize::from(pair(bytes))];
                *shift = (*shift).min(u8::try_from(window - 2 - at).unwrap_or(u8::MAX));
            }
            at_end.push((pair(&text[window - 2..window]), index));
        }
        at_end.sort_unstable();
        let shifts: Box<[u8; PAIRS]> = shifts.into_boxed_slice().try_into().ok()?;
        Some(Self { texts, window, shifts, at_end, longest, begins })
    }

    /// The first place at `from` or behind it; of several at one place the longest.
    #[must_use]
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<Place> {
        let mut end = from + self.window;
        while end <= bytes.len() {
            let last = pair(&bytes[end - 2..end]);
            let shift = self.shifts[usize::from(last)];
            if shift == 0 {
                let start = end - self.window;
                if let Some(place) = self.at(bytes, start, last) {
                    return Some(place);
                }
                end += 1;
            } else {
                end += usize::from(shift);
            }
        }
        None
    }

    /// The longest text that stands at `start`.
    fn at(&self, bytes: &[u8], start: usize, last: u16) -> Option<Place> {
        let first = self.at_end.partition_point(|(pair, _)| *pair < last);
        let candidates = self.at_end[first..].iter().take_while(|(pair, _)| *pair == last);
        candidates
            .map(|(_, index)| &self.texts[*index])
            .filter(|(text, _)| bytes[start..].starts_with(text))
            .max_by_key(|(text, _)| text.len())
            .map(|(text, owner)| Place { start, end: start + text.len(), owner: *owner })
    }

    /// Where a text may have begun that goes on behind the end. The length, if none has.
    #[must_use]
    pub fn unfinished(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest - 1);
        (first..bytes.len())
            .find(|&at| self.begins[usize::from(bytes[at])] && self.is_beginning(&bytes[at..]))
            .unwrap_or(bytes.len())
    }

    /// Whether a longer text begins so.
    fn is_beginning(&self, part: &[u8]) -> bool {
        let next = self.texts.partition_point(|(text, _)| text.as_slice() <= part);
        self.texts.get(next).is_some_and(|(text, _)| text.starts_with(part))
    }
}

impl fmt::Debug for Literals {
    /// Without the texts.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Literals").field("count", &self.texts.len()).finish_non_exhaustive()
    }
}

fn pair(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The same as looking for each text at each place.
        #[test]
        fn the_first_and_longest_text_is_found(
            texts in prop::collection::vec("[ab]{2,6}", 1..6),
            bytes in "[abc]{0,40}",
            from in 0usize..10,
        ) {
            let all: Vec<_> = texts.iter().map(|text| (text.clone().into_bytes(), 0)).collect();
            let literals = Literals::new(all).expect("there are some");
            let bytes = bytes.as_bytes();
            let expected = (from..bytes.len()).find_map(|start| {
                let fitting = texts.iter().filter(|text| bytes[start..].starts_with(text.as_bytes()));
                fitting.map(String::len).max().map(|length| (start, start + length))
            });
            prop_assert_eq!(literals.find(bytes, from).map(|place| (place.start, place.end)), expected);
            let unfinished = (0..bytes.len()).find(|&at| {
                texts.iter().any(|text| text.len() > bytes.len() - at && text.as_bytes().starts_with(&bytes[at..]))
            });
            prop_assert_eq!(literals.unfinished(bytes), unfinished.unwrap_or(bytes.len()));
        }
    }
}
