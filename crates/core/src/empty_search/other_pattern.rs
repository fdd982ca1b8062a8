//! Patterns that may have been meant by one that matches nothing.

use crate::voice::searches::empty::Meant;

/// The marks of programs that write text, for those of a keyboard.
const TYPOGRAPHIC: [(char, &str); 3] =
    [('\'', "['\u{2018}\u{2019}]"), ('"', "[\"\u{201c}\u{201d}]"), ('-', "[-\u{2010}-\u{2014}]")];

/// What can be searched for in place of `pattern`, most likely first: one that finds something is named to the reader.
pub(crate) fn other_patterns(pattern: &str) -> Vec<(Meant, String)> {
    let typographic = typographic(pattern).map(|other| (Meant::Typographic, other));
    let literal = literal(pattern).map(|other| (Meant::Literal, other));
    let any_case = pattern.chars().any(char::is_alphabetic) && !pattern.starts_with("(?i");
    let any_case = any_case.then(|| (Meant::AnyCase, format!("(?i){pattern}")));
    literal.into_iter().chain(typographic).chain(any_case).collect()
}

/// One pattern that finds something if one of them does.
pub(crate) fn any_of(patterns: &[(Meant, String)]) -> Option<String> {
    let all: Vec<_> = patterns.iter().map(|(_, pattern)| format!("(?:{pattern})")).collect();
    (!all.is_empty()).then(|| all.join("|"))
}

/// The pattern that finds another one as plain text; `None` if they are the same.
fn literal(pattern: &str) -> Option<String> {
    let mut literal = String::with_capacity(pattern.len());
    for letter in pattern.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            literal.push('\\');
        }
        literal.push(letter);
    }
    (literal.len() > pattern.len()).then_some(literal)
}

/// The pattern with the marks of typography; `None` without such a mark, and where one may be a part of an expression.
fn typographic(pattern: &str) -> Option<String> {
    if pattern.contains(['[', '\\']) || !pattern.contains(TYPOGRAPHIC.map(|(mark, _)| mark)) {
        return None;
    }
    let other = |letter: char| TYPOGRAPHIC.iter().find(|(mark, _)| *mark == letter);
    Some(
        pattern
            .chars()
            .map(|letter| {
                other(letter).map_or(letter.to_string(), |(_, class)| (*class).to_owned())
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_tried_as_text_with_other_marks_and_in_any_case() {
        let of = |pattern: &str| -> Vec<String> {
            other_patterns(pattern).into_iter().map(|(_, pattern)| pattern).collect()
        };
        assert_eq!(of("weight * 3"), [r"weight \* 3", "(?i)weight * 3"]);
        assert_eq!(of("Don't"), ["Don['\u{2018}\u{2019}]t", "(?i)Don't"]);
        assert_eq!(of("a"), ["(?i)a"]);
        assert_eq!(of("[a-b]"), [r"\[a-b\]", "(?i)[a-b]"]);
        assert!(of("12").is_empty() && of("(?i)12").len() == 1);
        assert_eq!(any_of(&other_patterns("a")).as_deref(), Some("(?:(?i)a)"));
    }
}
