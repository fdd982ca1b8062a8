//! What is said of a text that is in the file in another form is true.
#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolwright_patch::{Difference, Reading, ReplaceError, replace};

fn reading(file: &str, old: &str) -> Option<Reading> {
    match replace(file.as_bytes(), old, "new", false, 1 << 20).unwrap_err() {
        ReplaceError::NotFound { reading, .. } => reading,
        error => panic!("{error}"),
    }
}

fn difference(file: &str, old: &str) -> (usize, Difference) {
    let Reading { difference, line } = reading(file, old).unwrap();
    (line, difference)
}

#[test]
fn characters_that_look_alike_are_named() {
    let character =
        |expected: Option<char>, found: Option<char>| Difference::Character { expected, found };
    let file =
        "a\nx\u{a0}= 1\n\u{201c}it\u{2019}s\u{201d}\nzero\u{200b}width\n\u{ff21}\n5\u{2013}6\n";
    assert_eq!(difference(file, "x = 1"), (2, character(Some(' '), Some('\u{a0}'))));
    assert_eq!(difference(file, "\"it's\""), (3, character(Some('"'), Some('\u{201c}'))));
    assert_eq!(difference(file, "it's"), (3, character(Some('\''), Some('\u{2019}'))));
    assert_eq!(difference(file, "zerowidth"), (4, character(None, Some('\u{200b}'))));
    assert_eq!(difference(file, "A"), (5, character(Some('A'), Some('\u{ff21}'))));
    assert_eq!(difference(file, "5-6"), (6, character(Some('-'), Some('\u{2013}'))));
    assert_eq!(difference("a = 1\n", "a\u{a0}= 1"), (1, character(Some('\u{a0}'), Some(' '))));
    assert_eq!(difference("a = 1\n", "a\u{200b} ="), (1, character(Some('\u{200b}'), None)));
}

#[test]
fn escapes_and_entities_are_named() {
    assert_eq!(difference("one\ntwo\n\tthree\n", "one\\ntwo"), (1, Difference::Escapes));
    assert_eq!(difference("one\ntwo\n\tthree\n", "two\\n\\tthree"), (2, Difference::Escapes));
    assert_eq!(difference("a\ns = \"x\\n\"\n", "s = \\\"x\\\\n\\\""), (2, Difference::Escapes));
    assert_eq!(difference("x\ns = 'one\\ntwo'\n", "one\ntwo"), (2, Difference::Escaped));
    assert_eq!(
        difference("a\nif (a < b && c)\n", "a &lt; b &amp;&amp; c"),
        (2, Difference::Entities)
    );
    assert_eq!(difference("a\n<b>1 &lt; 2</b>\n", "1 < 2"), (2, Difference::InEntities));
}

#[test]
fn line_endings_are_named() {
    let mixed = Difference::Endings { mixes: true };
    assert_eq!(difference("alpha\nbeta\r\ngamma\n", "beta\ngamma"), (2, mixed));
    let not_mixed = Difference::Endings { mixes: false };
    assert_eq!(difference("alpha\nbeta\n", "alpha\r\nbeta"), (1, not_mixed));
}

#[test]
fn what_is_elsewhere_is_not_made_up() {
    assert_eq!(reading("alpha\nbeta\n", "gamma"), None);
    assert_eq!(reading("alpha\nbeta\n", "\u{200b}"), None);
    assert_eq!(reading("", "\\n"), None);
}

/// Changes that are hard to see.
const CHANGES: [(&str, &str); 10] = [
    (" ", "\u{a0}"),
    ("\"", "\u{201c}"),
    ("'", "\u{2019}"),
    ("-", "\u{2013}"),
    ("x", "x\u{200b}"),
    ("\n", "\r\n"),
    ("\n", "\\n"),
    ("\"", "\\\""),
    ("<", "&lt;"),
    ("&", "&amp;"),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// A text that was changed so is found where it is.
    #[test]
    fn a_changed_text_is_found_where_it_is(
        lines in vec("[a-z \"'<&x-]{1,12}", 2..8),
        at in any::<Index>(),
        change in select(CHANGES.to_vec()),
    ) {
        let lines: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("L{at}: {line}")).collect();
        let file = lines.join("\n") + "\n";
        let at = at.index(lines.len() - 1);
        let wanted = lines[at..=at + 1].join("\n");
        let old = wanted.replace(change.0, change.1);
        prop_assume!(old != wanted);
        let Reading { line, .. } = reading(&file, &old).unwrap();
        prop_assert_eq!(line, at + 1);
        // And the other way round.
        let (other, wanted) = (file.replace(change.0, change.1), wanted);
        if !other.contains(&wanted) && change.1 != "\r\n" {
            prop_assert!(reading(&other, &wanted).is_some());
        }
    }
}

#[test]
fn numbers_of_lines_are_named() {
    let file = b"import a\n\nconst b = 1\nlast\n";
    for old in ["     3\tconst b = 1", "3: const b = 1\n4: last", "1|import a\n\n3|const b = 1"] {
        let error = replace(file, old, "x", false, 1000).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("without the numbers in front of the lines"), "{old:?}: {text}");
    }
    // What has such numbers itself is found as it is.
    assert!(replace(b"1: a\n2: b\n", "2: b", "x", false, 1000).is_ok());
}

#[test]
fn marks_of_letters_are_named() {
    for (file, old, says) in [
        ("cafe\u{301} au lait", "caf\u{e9}", "expected U+00E9, found a letter and U+0301"),
        ("caf\u{e9} au lait", "cafe\u{301}", "expected a letter and U+0301, found U+00E9"),
        ("caf\u{e9} au lait", "cafe au", "expected U+0065, found U+00E9"),
        ("\u{c9}TAT", "ETAT", "expected U+0045, found U+00C9"),
    ] {
        let text = replace(file.as_bytes(), old, "x", false, 1000).unwrap_err().to_string();
        assert!(text.contains(says), "{file}, {old}: {text}");
    }
}
