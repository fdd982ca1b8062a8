//! Finds where a text would be if it were read in another way, so that a message can say what is different.

use std::fmt;

use memchr::memmem;

use crate::numbered::without_numbers;

/// The longest file that is searched again.
const MAX_BYTES: usize = 8 << 20;
/// The longest text that is read in other ways, a dozen of them.
const MAX_OLD_BYTES: usize = 1 << 20;

/// What is different, and where the text would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What is different.
    pub difference: Difference,
    /// The line of the first place, from 1.
    pub line: usize,
}

/// A difference that is hard to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The endings of lines.
    Endings {
        /// Whether the file has both kinds.
        mixes: bool,
    },
    /// A character that looks like another, or is not seen. `None` where one of the two has none.
    Character {
        /// In the text.
        expected: Option<char>,
        /// In the file.
        found: Option<char>,
    },
    /// The text has numbers in front of its lines, as a listing shows them.
    Numbers,
    /// The text has escapes such as `\n`, and the file the characters.
    Escapes,
    /// The file has escapes such as `\n`, and the text the characters.
    Escaped,
    /// The text has entities such as `&lt;`, and the file the characters.
    Entities,
    /// The file has entities such as `&lt;`, and the text the characters.
    InEntities,
}

/// An escape and its character.
type Escape = (&'static str, &'static str);

const LINE: Escape = ("\\n", "\n");
const TAB: Escape = ("\\t", "\t");
const QUOTE: Escape = ("\\\"", "\"");
const APOSTROPHE: Escape = ("\\'", "'");
const BACKSLASH: Escape = ("\\\\", "\\");
const LESS: Escape = ("&lt;", "<");
const GREATER: Escape = ("&gt;", ">");
const QUOTE_ENTITY: Escape = ("&quot;", "\"");
const APOSTROPHE_ENTITY: Escape = ("&#39;", "'");
const AND: Escape = ("&amp;", "&");

/// Sets of escapes that are used together, in the order in which they are tried.
const ESCAPES: [&[Escape]; 5] = [
    &[LINE],
    &[LINE, TAB],
    &[QUOTE],
    &[QUOTE, APOSTROPHE, BACKSLASH],
    &[LINE, TAB, QUOTE, APOSTROPHE, BACKSLASH],
];
const ENTITIES: [&[Escape]; 3] =
    [&[LESS, GREATER], &[AND], &[LESS, GREATER, QUOTE_ENTITY, APOSTROPHE_ENTITY, AND]];

/// Where `old` is once it is read in another way.
pub(super) fn reading(original: &[u8], old: &str) -> Option<Reading> {
    if original.len() > MAX_BYTES || old.len() > MAX_OLD_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(original);
    let plain = text.replace('\r', "");
    let at = |wanted: &str| memmem::find(plain.as_bytes(), wanted.as_bytes());
    let found = |place: usize, difference| {
        let line = memchr::memchr_iter(b'\n', &plain.as_bytes()[..place]).count() + 1;
        Some(Reading { difference, line })
    };
    let wanted = &old.replace('\r', "");
    if !wanted.is_empty()
        && let Some(place) = at(wanted)
    {
        let crlf = memmem::find_iter(original, b"\r\n").count();
        let mixes = crlf > 0 && crlf < memchr::memchr_iter(b'\n', original).count();
        return found(place, Difference::Endings { mixes });
    }
    if let Some(place) = without_numbers(wanted).and_then(|wanted| at(&wanted)) {
        return found(place, Difference::Numbers);
    }
    let (at, whole) = (&at, &plain);
    let with = |read_as: Difference, written_as: Difference| {
        move |escapes: &[Escape]| {
            let place = has_escape(wanted, escapes).then(|| at(&read(wanted, escapes))).flatten();
            if let Some(place) = place {
                return Some((place, read_as.clone()));
            }
            // With its escapes a text is longer.
            let may_be_there = wanted.len() < whole.len() && has_character(wanted, escapes);
            let place = may_be_there.then(|| at(&written(wanted, escapes))).flatten()?;
            Some((place, written_as.clone()))
        }
    };
    let escaped = ESCAPES.into_iter().find_map(with(Difference::Escapes, Difference::Escaped));
    let entities =
        || ENTITIES.into_iter().find_map(with(Difference::Entities, Difference::InEntities));
    if let Some((place, difference)) = escaped.or_else(entities) {
        return found(place, difference);
    }
    let folded: String = wanted.chars().filter_map(fold).collect();
    if folded.trim().is_empty() {
        return None;
    }
    let whole: String = plain.chars().filter_map(fold).collect();
    let place = memmem::find(whole.as_bytes(), folded.as_bytes())?;
    let place = before_folding(&plain, place);
    let (expected, found_there) = first_difference(wanted, &plain[place..]);
    found(place, Difference::Character { expected, found: found_there })
}

fn has_escape(text: &str, escapes: &[Escape]) -> bool {
    escapes.iter().any(|(escape, _)| memmem::find(text.as_bytes(), escape.as_bytes()).is_some())
}

fn has_character(text: &str, escapes: &[Escape]) -> bool {
    escapes.iter().any(|(_, stands_for)| text.contains(stands_for))
}

/// A text with its escapes as what they stand for.
fn read(text: &str, escapes: &[Escape]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Escapes begin with a backslash, entities with an ampersand, and no set has both.
    let is_first = |letter: char| escapes[0].0.starts_with(letter);
    while let Some(at) = rest.find(is_first) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = escapes.iter().find(|(escape, _)| rest.starts_with(escape));
        let (taken, put) = escape.map_or((1, &rest[..1]), |(escape, put)| (escape.len(), *put));
        out.push_str(put);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// A text with characters as their escapes.
fn written(text: &str, escapes: &[Escape]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let stands_for =
        |letter: char| escapes.iter().find(|(_, stands_for)| stands_for.starts_with(letter));
    while let Some(at) = rest.find(|letter| stands_for(letter).is_some()) {
        out.push_str(&rest[..at]);
        if let Some((escape, _)) = rest[at..].chars().next().and_then(stands_for) {
            out.push_str(escape);
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

/// The plain character that one looks like. `None` for one that is not seen.
fn fold(character: char) -> Option<char> {
    Some(match character {
        // The range below U+0370 has the marks of letters that are written as two characters.
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {
            return None;
        }
        '\u{c0}'..='\u{17f}' => without_mark(character),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{b4}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' | '\u{ff02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        // The other letters of ASCII at full width.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0)?,
        other => other,
    })
}

/// The letter of a Latin script without its mark.
fn without_mark(character: char) -> char {
    const MARKED: [(char, &str); 19] = [
        ('a', "àáâãäåāăą"),
        ('c', "çćĉċč"),
        ('d', "ď"),
        ('e', "èéêëēĕėęě"),
        ('g', "ĝğġģ"),
        ('h', "ĥ"),
        ('i', "ìíîïĩīĭį"),
        ('j', "ĵ"),
        ('k', "ķ"),
        ('l', "ĺļľ"),
        ('n', "ñńņň"),
        ('o', "òóôõöōŏő"),
        ('r', "ŕŗř"),
        ('s', "śŝşš"),
        ('t', "ţť"),
        ('u', "ùúûüũūŭůűų"),
        ('w', "ŵ"),
        ('y', "ýÿŷ"),
        ('z', "źżž"),
    ];
    let Some(lower) = character.to_lowercase().next() else { return character };
    let Some((letter, _)) = MARKED.iter().find(|(_, marked)| marked.contains(lower)) else {
        return character;
    };
    if lower == character { *letter } else { letter.to_ascii_uppercase() }
}

/// The offset in a text of an offset in what it is once folded.
fn before_folding(text: &str, folded: usize) -> usize {
    let mut length = 0;
    let place = text.char_indices().find(|&(_, character)| {
        let is_there = length >= folded && fold(character).is_some();
        length += fold(character).map_or(0, char::len_utf8);
        is_there
    });
    place.map_or(text.len(), |(at, _)| at)
}

/// Whether `one` is the letter `other` with a mark.
fn is_marked(one: char, other: char) -> bool {
    ('\u{c0}'..='\u{17f}').contains(&one) && other.is_ascii_alphabetic() && fold(one) == Some(other)
}

/// The first characters that differ: of the text, and of the file.
fn first_difference(expected: &str, found: &str) -> (Option<char>, Option<char>) {
    let (mut expected, mut found) = (expected.chars().peekable(), found.chars().peekable());
    loop {
        match (expected.peek().copied(), found.peek().copied()) {
            (Some(one), Some(other)) if one == other => {
                expected.next();
                found.next();
            }
            // A letter and its mark against the letter that has it.
            (Some(one), Some(other)) if is_marked(one, other) || is_marked(other, one) => {
                expected.next();
                found.next();
                let mark = if one.is_ascii() { expected.peek() } else { found.peek() };
                return match mark.copied().filter(|mark| fold(*mark).is_none()) {
                    Some(mark) if one.is_ascii() => (Some(mark), Some(other)),
                    Some(mark) => (Some(one), Some(mark)),
                    None => (Some(one), Some(other)),
                };
            }
            (Some(one), _) if fold(one).is_none() => return (Some(one), None),
            (one, Some(other)) if fold(other).is_none() && one.is_some() => {
                return (None, Some(other));
            }
            (one, other) => return (one, other),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = |character: &char| match character {
            '\u{300}'..='\u{36f}' => format!("a letter and U+{:04X}", u32::from(*character)),
            _ => format!("U+{:04X}", u32::from(*character)),
        };
        match self {
            Self::Endings { mixes: true } => {
                f.write_str("with other line endings, because the file mixes CRLF and LF")
            }
            Self::Endings { mixes: false } => f.write_str("with other line endings"),
            Self::Character { expected: Some(expected), found: Some(found) } => write!(
                f,
                "with another character that looks alike: expected {}, found {}",
                point(expected),
                point(found)
            ),
            Self::Character { expected: Some(character), .. } => {
                write!(f, "without the character {} of old_string, which is not seen", point(character))
            }
            Self::Character { found: Some(character), .. } => {
                write!(f, "with the character {}, which is not seen", point(character))
            }
            Self::Character { .. } => f.write_str("with characters that look alike"),
            Self::Numbers => f.write_str("without the numbers in front of the lines of old_string"),
            Self::Escapes => f.write_str(
                "with the characters for which old_string has escapes, such as a line end for \\n",
            ),
            Self::Escaped => f.write_str(
                "with escapes, such as the two characters \\n, where old_string has what they stand for",
            ),
            Self::Entities => f.write_str(
                "with the characters for which old_string has entities, such as < for &lt;",
            ),
            Self::InEntities => {
                f.write_str("with entities, such as &lt;, where old_string has the characters")
            }
        }
    }
}
