//! Puts placeholders back where a host repeats values.

use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use toolwright_mask::Literals;
use zeroize::Zeroizing;

use crate::forms::forms;

/// Values in all their forms, and what stands for each. All are searched in one pass.
#[derive(Debug)]
pub struct Searches {
    literals: Option<Literals>,
    /// Of each form: the value, and its placeholder.
    pairs: Vec<(Zeroizing<Vec<u8>>, Vec<u8>)>,
    keeps_length: bool,
}

impl Searches {
    /// Those of these values and the placeholders of each. A value is found as it is, in base64, in a URL, and in JSON.
    #[must_use]
    pub fn new<'v>(pairs: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let all = pairs.into_iter().flat_map(|(value, placeholder)| forms(value, placeholder));
        let mut pairs: Vec<_> =
            all.map(|(value, placeholder)| (Zeroizing::new(value), placeholder)).collect();
        // The first placeholder of a form is its own.
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        pairs.dedup_by(|next, kept| next.0 == kept.0);
        let keeps_length =
            pairs.iter().all(|(value, placeholder)| value.len() == placeholder.len());
        let texts = pairs.iter().enumerate().map(|(index, (value, _))| (value.to_vec(), index));
        let literals = Literals::new(texts.collect());
        Self { literals, pairs, keeps_length }
    }

    /// Replaces values in a whole text. `None`: there is none.
    #[must_use]
    pub fn whole(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (replaced, rest) = self.replace(text, false);
        let mut replaced = replaced?;
        replaced.extend_from_slice(&text[rest..]);
        Some(replaced)
    }

    /// Whether a name in small letters has a value in it, whatever its letters were.
    #[must_use]
    pub fn is_in_name(&self, name: &str) -> bool {
        let is_in = |value: &[u8]| {
            name.as_bytes().windows(value.len()).any(|part| part.eq_ignore_ascii_case(value))
        };
        self.pairs.iter().any(|(value, _)| is_in(value))
    }

    /// The text up to the end of the last value, with placeholders, and where that end is. In place, a placeholder is as
    /// long as its value.
    fn replace(&self, bytes: &[u8], in_place: bool) -> (Option<Vec<u8>>, usize) {
        let (mut replaced, mut at) = (None::<Vec<u8>>, 0);
        let Some(literals) = &self.literals else { return (replaced, at) };
        while let Some(place) = literals.find(bytes, at) {
            let out = replaced.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
            out.extend_from_slice(&bytes[at..place.start]);
            let placeholder = &self.pairs[place.owner].1;
            if in_place {
                let length = place.end - place.start;
                out.extend(placeholder.iter().copied().chain(iter::repeat(b'x')).take(length));
            } else {
                out.extend_from_slice(placeholder);
            }
            at = place.end;
        }
        (replaced, at)
    }
}

/// Replaces values in a stream of bytes, also where one is split between two pieces. Of a piece it keeps back
/// what may be the beginning of a value, and nothing else.
#[derive(Debug)]
pub struct Restorer {
    searches: Arc<Searches>,
    held: Zeroizing<Vec<u8>>,
    in_place: bool,
}

impl Restorer {
    /// One for these values.
    #[must_use]
    pub fn new(searches: Arc<Searches>) -> Self {
        Self { searches, held: Zeroizing::default(), in_place: false }
    }

    /// The same, whose placeholders are cut or filled up so that all stays as long as it was.
    #[must_use]
    pub fn in_place(searches: Arc<Searches>) -> Self {
        Self { in_place: true, ..Self::new(searches) }
    }

    /// Whether what comes out is as long as what goes in.
    #[must_use]
    pub fn keeps_length(&self) -> bool {
        self.in_place || self.searches.keeps_length
    }

    /// Takes the next piece, and gives what is known of the whole until now.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        let Some(literals) = &self.searches.literals else { return piece };
        let mut joined = std::mem::take(&mut self.held);
        let is_whole = joined.is_empty();
        let bytes: &[u8] = if is_whole {
            &piece
        } else {
            joined.extend_from_slice(&piece);
            &joined
        };
        let (replaced, rest) = self.searches.replace(bytes, self.in_place);
        let end = rest + literals.unfinished(&bytes[rest..]);
        self.held.extend_from_slice(&bytes[end..]);
        match replaced {
            None if is_whole => piece.slice(..end),
            None => Bytes::copy_from_slice(&bytes[..end]),
            Some(mut replaced) => {
                replaced.extend_from_slice(&bytes[rest..end]);
                replaced.into()
            }
        }
    }

    /// Gives the rest: there are no more pieces.
    pub fn finish(&mut self) -> Bytes {
        Bytes::copy_from_slice(&std::mem::take(&mut self.held))
    }
}
