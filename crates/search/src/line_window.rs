//! The part of a long line around its match: a line of a minified file is no longer than any other result.

use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

/// A line of at most this many bytes is shown whole.
pub const WHOLE_LINE: usize = 1000;
/// At most this many bytes of a longer line are shown.
pub const LINE_WINDOW: usize = 500;
/// So many of them are before the match.
const BEFORE: usize = 100;
/// So many matches of a line are counted.
const MAX_COUNTED: usize = 100;

/// What is shown of a long line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// The bytes of the line that are shown: whole characters, if the line is UTF-8.
    pub(crate) shown: Range<usize>,
    /// Where the match begins, from 1; 0 for a line without one.
    pub(crate) column: usize,
    /// How many more matches the line has, as far as they were counted.
    pub(crate) more: usize,
}

impl Window {
    /// `None` for a line that is shown whole. `line` has no terminator.
    pub(crate) fn around_match(line: &[u8], matcher: &RegexMatcher) -> Option<Self> {
        if line.len() <= WHOLE_LINE {
            return None;
        }
        let mut first = None;
        let mut count = 0;
        let _ = matcher.find_iter(line, |found| {
            first.get_or_insert(found.start());
            count += 1;
            count < MAX_COUNTED
        });
        // A match that begins on an earlier line begins here at the beginning.
        let start = first.unwrap_or(0);
        let shown = shown(line, start);
        Some(Self { shown, column: start + 1, more: usize::saturating_sub(count, 1) })
    }

    /// The same for a line of the context.
    pub(crate) fn beginning(line: &[u8]) -> Option<Self> {
        (line.len() > WHOLE_LINE).then(|| Self { shown: shown(line, 0), column: 0, more: 0 })
    }

    /// The end of the line in a text.
    pub(crate) fn note(&self, line: &[u8]) -> String {
        let length = line.len();
        match (self.column, self.more) {
            (0, _) => format!(" [the beginning of {length} bytes]"),
            (column, 0) => format!(" [column {column} of {length}]"),
            (column, more) if more + 1 == MAX_COUNTED => {
                format!(
                    " [column {column} of {length}; the line matches {MAX_COUNTED} times or more]"
                )
            }
            (column, more) => {
                format!(" [column {column} of {length}; the line matches {} times]", more + 1)
            }
        }
    }

    /// The bytes that are shown, between marks for what is not.
    pub(crate) fn pieces<'l>(&self, line: &'l [u8]) -> [&'l [u8]; 3] {
        let mark = |is_cut| if is_cut { "…".as_bytes() } else { b"" };
        let Range { start, end } = self.shown.clone();
        [mark(start > 0), &line[start..end], mark(end < line.len())]
    }
}

fn shown(line: &[u8], at: usize) -> Range<usize> {
    let last = line.len() - LINE_WINDOW;
    let start = at.saturating_sub(BEFORE).min(last);
    let end = start + LINE_WINDOW;
    // Three bytes at most continue a character.
    let inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let start = (start..start + 4).find(|&at| !inside(at)).unwrap_or(start);
    let end = (end - 3..=end).rev().find(|&at| !inside(at)).unwrap_or(end);
    start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matcher::{MatchRules, matcher};

    fn window(line: &[u8], pattern: &str) -> Option<Window> {
        let matcher = matcher(pattern, MatchRules::default()).expect("a pattern");
        Window::around_match(line, &matcher)
    }

    #[test]
    fn a_line_of_the_usual_length_is_whole() {
        assert_eq!(window(&[b'x'; WHOLE_LINE], "x"), None);
        assert_eq!(Window::beginning(&[b'x'; WHOLE_LINE]), None);
        let cut = window(&[b'x'; WHOLE_LINE + 1], "x$").expect("cut");
        assert_eq!((cut.shown, cut.column, cut.more), (501..1001, 1001, 0));
    }

    #[test]
    fn further_matches_are_counted() {
        let line = format!("{}needle{}needle", "é".repeat(900), "ü".repeat(900));
        let cut = window(line.as_bytes(), "needle").expect("cut");
        assert_eq!(cut.note(line.as_bytes()), " [column 1801 of 3612; the line matches 2 times]");
        let many = window("ab".repeat(600).as_bytes(), "a").expect("cut");
        assert!(many.note(b"").ends_with("matches 100 times or more]"), "{}", many.note(b""));
    }

    proptest! {
        #[test]
        fn the_window_is_bounded_and_has_the_match(
            before in "[ab\u{e9}\u{6f22}]{0,1500}",
            after in "[ab\u{e9}\u{6f22}]{0,1500}",
            needle in "N[ab\u{e9}]{0,100}D",
        ) {
            let line = format!("{before}{needle}{after}");
            match window(line.as_bytes(), "N[^D]*D") {
                None => prop_assert!(line.len() <= WHOLE_LINE),
                Some(cut) => {
                    let [head, text, tail] = cut.pieces(line.as_bytes());
                    prop_assert!(head.len() + text.len() + tail.len() <= LINE_WINDOW + 6);
                    let text = std::str::from_utf8(text).expect("whole characters");
                    prop_assert!(text.contains(&needle));
                    prop_assert_eq!(cut.column, before.len() + 1);
                }
            }
        }
    }
}
