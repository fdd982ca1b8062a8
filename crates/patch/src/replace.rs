//! Replaces an exact text by another.
//!
//! The search is for the exact text: white space is not normalized, and the new text is not a
//! template. In a file whose lines all end in CRLF, a line feed stands for that ending. So a text
//! without carriage returns is found, and the new lines end in CRLF too.

mod reading;

use std::borrow::Cow;
use std::fmt;

pub use crate::nearest::Candidate;
use memchr::memmem::Finder;
pub use reading::{Difference, Reading};
use toolwright_encoding::{Declared, utf16};

use crate::encoded::{in_utf16, is_mixture, letters_refused};
use crate::excerpt::{excerpt, quoted};
use crate::form::{ends_in_crlf, with_crlf};

/// The most places that are counted.
const MAX_COUNTED: usize = 1000;
/// The most lines that are listed.
const MAX_NAMED: usize = 8;

/// A file with a text replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The complete new content.
    pub bytes: Vec<u8>,
    /// The number of places replaced.
    pub replacements: usize,
    /// The line of the first place, from 1.
    pub line: usize,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    /// The old text is empty.
    Empty,
    /// Both texts are the same.
    Same,
    /// The new text contains U+FFFD, which stands for bytes of this file that are not UTF-8.
    Lossy,
    /// The new text has other letters than those of ASCII, and the file is not UTF-8.
    OtherEncoding {
        /// The encoding that the file names. It does not have the letters.
        encoding: Option<&'static str>,
    },
    /// The new content would exceed the limit. It was not built.
    TooLarge {
        /// Its size in bytes, or `u64::MAX` if that overflows.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// There is no memory for the new content.
    NoMemory {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The text is not in the file.
    NotFound {
        /// Similar lines, the most similar first.
        candidates: Vec<Candidate>,
        /// Where it is once a difference that is hard to see is ignored.
        reading: Option<Reading>,
        /// The line of the only place of the new text, of one line or more: the change may have been made already.
        made: Option<usize>,
    },
    /// The text is in the file more than once.
    Ambiguous {
        /// The number of places, with overlapping ones.
        count: usize,
        /// Whether there may be more.
        at_least: bool,
        /// The lines of the first places, from 1.
        lines: Vec<usize>,
        /// Whether two of the places overlap, so that they cannot all be replaced.
        overlapping: bool,
    },
}

/// Replaces `old` by `new` in `original`: in its only place, or with `all` in every place.
///
/// The new content takes at most `limit` bytes, and its size is known before it is built. Otherwise
/// a short text in many places and a long replacement could allocate more memory than any machine
/// has.
pub fn replace(
    original: &[u8],
    old: &str,
    new: &str,
    all: bool,
    limit: u64,
) -> Result<Replaced, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::Empty);
    }
    if old == new {
        return Err(ReplaceError::Same);
    }
    if let Some((order, text)) = utf16::decode(original) {
        let replaced = replace_in_text(&text, old, new, all, limit)?;
        return within(Replaced { bytes: in_utf16(&replaced.bytes, order), ..replaced }, limit);
    }
    // A byte of a letter can look like another letter, so texts are not looked for among bytes.
    let declared =
        if original.is_ascii() && new.is_ascii() { None } else { Declared::of(original) };
    let text = declared.and_then(|declared| Some((declared, declared.decode(original)?)));
    if let Some((declared, text)) = text {
        let replaced = replace_in_text(text.as_bytes(), old, new, all, limit)?;
        let text = String::from_utf8_lossy(&replaced.bytes);
        let lacking = || ReplaceError::OtherEncoding { encoding: Some(declared.name()) };
        let bytes = declared.encode(&text).ok_or_else(lacking)?;
        // The new text can name another encoding.
        if declared.is_named_in(&bytes) {
            return within(Replaced { bytes, ..replaced }, limit);
        }
    }
    replace_in(original, old, new, all, limit)
}

/// The same in a text that takes up to three times as much in UTF-8 as in the file.
fn replace_in_text(
    text: &[u8],
    old: &str,
    new: &str,
    all: bool,
    limit: u64,
) -> Result<Replaced, ReplaceError> {
    let replaced = replace_in(text, old, new, all, limit.saturating_mul(3));
    replaced.map_err(|error| match error {
        ReplaceError::TooLarge { bytes, .. } => ReplaceError::TooLarge { bytes, limit },
        error => error,
    })
}

fn within(replaced: Replaced, limit: u64) -> Result<Replaced, ReplaceError> {
    let bytes = replaced.bytes.len() as u64;
    if bytes > limit { Err(ReplaceError::TooLarge { bytes, limit }) } else { Ok(replaced) }
}

/// The same in a text of UTF-8, or bytes of an encoding that is not known.
fn replace_in(
    original: &[u8],
    old: &str,
    new: &str,
    all: bool,
    limit: u64,
) -> Result<Replaced, ReplaceError> {
    if new.contains(char::REPLACEMENT_CHARACTER)
        && !old.contains(char::REPLACEMENT_CHARACTER)
        && std::str::from_utf8(original).is_err()
    {
        return Err(ReplaceError::Lossy);
    }
    let (old_text, new_text) = if !old.contains('\r') && ends_in_crlf(original) {
        (with_crlf(old), with_crlf(new))
    } else {
        (Cow::Borrowed(old), Cow::Borrowed(new))
    };
    let (old_text, new_text) = (old_text.as_bytes(), new_text.as_bytes());
    let finder = Finder::new(old_text);
    // Counted and not stored: a place takes more memory than the character there.
    let (mut first, mut count, mut end) = (None, 0, 0);
    for place in places(original, &finder) {
        if count > 0 && (!all || place < end) {
            return Err(ambiguous(original, &finder, old_text.len()));
        }
        first.get_or_insert(place);
        count += 1;
        end = place + old_text.len();
    }
    let Some(first) = first else {
        let candidates = crate::nearest::candidates(original, old);
        let reading = reading::reading(original, old);
        let made = if reading.is_some() { None } else { made_at(original, new_text) };
        return Err(ReplaceError::NotFound { candidates, reading, made });
    };
    let rest = original.len() - count * old_text.len();
    let mut bytes = allocate(rest, count, new_text.len(), limit)?;
    let mut from = 0;
    for place in places(original, &finder) {
        bytes.extend_from_slice(&original[from..place]);
        bytes.extend_from_slice(new_text);
        from = place + old_text.len();
    }
    bytes.extend_from_slice(&original[from..]);
    if !new.is_ascii() && is_mixture(original, &bytes) {
        return Err(ReplaceError::OtherEncoding { encoding: None });
    }
    Ok(Replaced { bytes, replacements: count, line: line_of(original, first) })
}

/// All places of the finder's text, with overlapping ones.
fn places<'t>(text: &'t [u8], finder: &'t Finder<'_>) -> impl Iterator<Item = usize> + 't {
    let next = |from: usize| finder.find(text.get(from..)?).map(|at| from + at);
    std::iter::successors(next(0), move |&place| next(place + 1))
}

/// The line of a text that is there once. A few letters are anywhere.
fn made_at(original: &[u8], new: &[u8]) -> Option<usize> {
    const MIN: usize = 8;
    let finder = Finder::new(new);
    let mut places = places(original, &finder);
    let place = places.next().filter(|_| new.trim_ascii().len() >= MIN)?;
    places.next().is_none().then(|| line_of(original, place))
}

/// Allocates the new content, `count` new texts and the rest of the file, if it is within the limit.
fn allocate(rest: usize, count: usize, new: usize, limit: u64) -> Result<Vec<u8>, ReplaceError> {
    let length = count.checked_mul(new).and_then(|added| added.checked_add(rest));
    let bytes = length.map_or(u64::MAX, |length| length as u64);
    if bytes > limit {
        return Err(ReplaceError::TooLarge { bytes, limit });
    }
    let mut content = Vec::new();
    content
        .try_reserve_exact(length.unwrap_or(usize::MAX))
        .map_err(|_| ReplaceError::NoMemory { bytes })?;
    Ok(content)
}

fn ambiguous(original: &[u8], finder: &Finder<'_>, length: usize) -> ReplaceError {
    let places: Vec<usize> = places(original, finder).take(MAX_COUNTED).collect();
    let overlapping = places.windows(2).any(|pair| pair[1] < pair[0] + length);
    let mut lines = Vec::new();
    let (mut line, mut from) = (1, 0);
    for &place in &places {
        line += memchr::memchr_iter(b'\n', &original[from..place]).count();
        from = place;
        if lines.last() != Some(&line) && lines.len() < MAX_NAMED {
            lines.push(line);
        }
    }
    let at_least = places.len() == MAX_COUNTED;
    ReplaceError::Ambiguous { count: places.len(), at_least, lines, overlapping }
}

fn line_of(text: &[u8], place: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..place]).count() + 1
}

impl ReplaceError {
    /// The outcome, in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Empty => "old_string is empty".to_owned(),
            Self::Same => "old_string and new_string are the same".to_owned(),
            Self::Lossy => "new_string holds U+FFFD".to_owned(),
            Self::OtherEncoding { encoding } => {
                let why = letters_refused(*encoding);
                format!("new_string holds other letters than those of ASCII: {why}")
            }
            Self::TooLarge { bytes, .. } => format!("Result too large ({bytes} bytes)"),
            Self::NoMemory { bytes } => format!("no memory for the result ({bytes} bytes)"),
            Self::NotFound { .. } => "old_string not found".to_owned(),
            Self::Ambiguous { count, at_least, .. } => {
                let at_least = if *at_least { "at least " } else { "" };
                format!("old_string is ambiguous ({at_least}{count} occurrences)")
            }
        }
    }
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        match self {
            Self::NotFound { candidates, reading, made } => {
                if let Some(line) = made {
                    return write!(f, ": new_string is at line {line} already");
                }
                if let Some(Reading { difference, line }) = reading {
                    return write!(f, ": it is at line {line} {difference}");
                }
                for candidate in candidates {
                    let Candidate { line, text, expected, only_space } = candidate;
                    write!(f, "; near line {line}: ")?;
                    match expected {
                        Some(expected) if *only_space => write!(
                            f,
                            "only white space differs, expected {}, found {}",
                            quoted(expected),
                            quoted(text)
                        )?,
                        Some(expected) => {
                            write!(f, "expected {}, found {}", quoted(expected), quoted(text))?;
                        }
                        None => f.write_str(&quoted(&excerpt(text)))?,
                    }
                }
                Ok(())
            }
            Self::Ambiguous { lines, overlapping, count, .. } => {
                let named: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let more =
                    if *count > lines.len() && lines.len() == MAX_NAMED { ", …" } else { "" };
                let word = if lines.len() == 1 { "line" } else { "lines" };
                write!(f, ": {word} {}{more}", named.join(", "))?;
                if *overlapping { f.write_str(" (overlapping)") } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ReplaceError {}
