//! Pieces of text for messages: short, whole characters, nothing invisible.

use std::fmt::Write;

/// The most bytes of a line in a message. A message of two excerpts, a header and the words around
/// them stays under 1.5 KB.
const MAX_EXCERPT_BYTES: usize = 200;

/// The length of the common text before the first difference of two long lines.
const LEAD_BYTES: usize = 40;

/// The start of `text`, cut between characters.
pub(crate) fn excerpt(text: &str) -> String {
    let mut cut = cut_at(text, MAX_EXCERPT_BYTES).to_owned();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// Excerpts of two lines around their first difference, and its column in characters from 1.
pub(crate) fn difference(expected: &str, actual: &str) -> (String, String, usize) {
    let same: usize = expected
        .chars()
        .zip(actual.chars())
        .take_while(|(left, right)| left == right)
        .map(|(left, _)| left.len_utf8())
        .sum();
    let column = expected.get(..same).map_or(0, |text| text.chars().count()) + 1;
    if expected.len().max(actual.len()) <= MAX_EXCERPT_BYTES || same <= LEAD_BYTES {
        return (excerpt(expected), excerpt(actual), column);
    }
    let from = cut_at(expected, same - LEAD_BYTES).len();
    let tail = |text: &str| format!("…{}", excerpt(text.get(from..).unwrap_or_default()));
    (tail(expected), tail(actual), column)
}

/// `text` between double quotes, with invisible characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        if out.len() > MAX_EXCERPT_BYTES {
            out.push('…');
            break;
        }
        match char {
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            _ if is_invisible(char) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

fn is_invisible(char: char) -> bool {
    char.is_control()
        || (char.is_whitespace() && char != ' ')
        || matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn cut_at(text: &str, limit: usize) -> &str {
    let limit = limit.min(text.len());
    (0..=limit).rev().find_map(|at| text.get(..at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_characters() {
        let text = "é".repeat(150);
        let cut = excerpt(&text);
        assert_eq!(cut.chars().filter(|&char| char == 'é').count(), MAX_EXCERPT_BYTES / 2);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn a_late_difference_is_the_part_that_is_shown() {
        let same = "x".repeat(5_000);
        let (expected, actual, column) =
            difference(&format!("{same}left"), &format!("{same}right"));
        assert!(expected.ends_with("left") && actual.ends_with("right"), "{expected} {actual}");
        assert_eq!(column, 5_001);
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(quoted("\ta \u{a0}\u{feff}\\n"), r#""\ta \u{a0}\u{feff}\\n""#);
    }

    #[test]
    fn escapes_do_not_break_the_bound() {
        assert!(quoted(&"\u{200b}".repeat(10_000)).len() < MAX_EXCERPT_BYTES + 16);
    }
}
