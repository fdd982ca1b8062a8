//! Puts placeholders back where a host repeats values.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use memchr::memmem::Finder;
use zeroize::Zeroizing;

/// Replaces values in a stream of bytes, also where one is split between two pieces. Of a piece it keeps back
/// what may be the beginning of a value, and nothing else.
#[derive(Debug, Default)]
pub struct Restorer {
    pairs: Vec<Pair>,
    held: Vec<u8>,
    longest: usize,
    keeps_length: bool,
}

#[derive(Debug)]
struct Pair {
    value: Finder<'static>,
    placeholder: Vec<u8>,
}

impl Restorer {
    /// One that knows these values and the placeholders of each. It finds a value as it is, in base64, in a URL,
    /// and in JSON.
    #[must_use]
    pub fn new<'v>(pairs: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let mut all = Self { keeps_length: true, ..Self::default() };
        let mut seen = HashSet::new();
        for (value, placeholder) in pairs {
            for (value, placeholder) in forms(value, placeholder) {
                if seen.insert(value.clone()) {
                    all.longest = all.longest.max(value.len());
                    all.keeps_length &= value.len() == placeholder.len();
                    let value = Finder::new(value.as_slice()).into_owned();
                    all.pairs.push(Pair { value, placeholder });
                }
            }
        }
        all
    }

    /// Whether what comes out is as long as what goes in.
    #[must_use]
    pub fn keeps_length(&self) -> bool {
        self.keeps_length
    }

    /// Takes the next piece, and gives what is known of the whole until now.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.pairs.is_empty() {
            return piece;
        }
        let joined;
        let bytes: &[u8] = if self.held.is_empty() {
            &piece
        } else {
            self.held.extend_from_slice(&piece);
            joined = Zeroizing::new(std::mem::take(&mut self.held));
            &joined
        };
        let (replaced, rest) = self.replace(bytes);
        let kept = self.beginning_of_value(&bytes[rest..]);
        let end = bytes.len() - kept;
        self.held = bytes[end..].to_vec();
        match replaced {
            None if self.held.is_empty() && bytes.len() == piece.len() => piece,
            None => Bytes::copy_from_slice(&bytes[..end]),
            Some(mut replaced) => {
                replaced.extend_from_slice(&bytes[rest..end]);
                replaced.into()
            }
        }
    }

    /// Gives the rest: there are no more pieces.
    pub fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }

    /// Replaces values in a whole text. `None`: there is none.
    #[must_use]
    pub fn whole(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (replaced, rest) = self.replace(text);
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
        self.pairs.iter().any(|pair| is_in(pair.value.needle()))
    }

    /// What comes before the end of the last value, with placeholders, and where that end is.
    fn replace(&self, bytes: &[u8]) -> (Option<Vec<u8>>, usize) {
        let mut next: Vec<Option<usize>> =
            self.pairs.iter().map(|pair| pair.value.find(bytes)).collect();
        let (mut replaced, mut at) = (None::<Vec<u8>>, 0);
        loop {
            let found = next.iter().enumerate().filter_map(|(index, at)| Some((index, (*at)?)));
            // Where several begin, the longest is meant.
            let length = |index: usize| self.pairs[index].value.needle().len();
            let first = found.min_by_key(|(index, at)| (*at, usize::MAX - length(*index)));
            let Some((index, found)) = first else { return (replaced, at) };
            let out = replaced.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
            out.extend_from_slice(&bytes[at..found]);
            out.extend_from_slice(&self.pairs[index].placeholder);
            at = found + length(index);
            for (index, next) in next.iter_mut().enumerate() {
                if next.is_some_and(|next| next < at) {
                    let rest = self.pairs[index].value.find(&bytes[at..]);
                    *next = rest.map(|found| at + found);
                }
            }
        }
    }

    /// How many bytes at the end may be the beginning of a value.
    fn beginning_of_value(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        (from..bytes.len())
            .find(|at| {
                let end = &bytes[*at..];
                self.pairs.iter().any(|pair| pair.value.needle().starts_with(end))
            })
            .map_or(0, |at| bytes.len() - at)
    }
}

/// A value in each form in which a host may repeat it.
fn forms(value: &str, placeholder: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = vec![(value.into(), placeholder.into())];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let inner = |text: &str| {
                let text = Zeroizing::new([&b"\0\0\0"[..before], text.as_bytes()].concat());
                let coded = Zeroizing::new(engine.encode(&*text));
                // The letters at both ends have bits of what stands beside.
                let begin = [0, 2, 3][before];
                let end = text.len() / 3 * 4 + [0, 1, 2][text.len() % 3];
                coded.as_bytes().get(begin..end.min(coded.len())).unwrap_or_default().to_vec()
            };
            all.push((inner(value), inner(placeholder)));
        }
    }
    all.push((in_url(value), in_url(placeholder)));
    all.push((value.replace('/', "\\/").into(), placeholder.replace('/', "\\/").into()));
    all
}

fn in_url(text: &str) -> Vec<u8> {
    let mut coded = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            coded.push(byte);
        } else {
            coded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    coded
}

/// The name and the password of `Basic`, with one of them replaced.
pub(crate) fn basic(name: &str, password: &str) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(&*Zeroizing::new(format!("{name}:{password}"))))
}

/// Reads what [`basic`] writes, also without the signs at its end.
pub(crate) fn read_basic(text: &str) -> Option<(String, String)> {
    let decoded = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}
