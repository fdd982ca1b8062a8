//! Exact string replacement: what it does, what it refuses, and its messages.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use toolwright_patch::{ReplaceError, Replaced};

/// More than the texts of any test take.
const LIMIT: u64 = 1 << 20;

fn replace(original: &[u8], old: &str, new: &str, all: bool) -> Result<Replaced, ReplaceError> {
    toolwright_patch::replace(original, old, new, all, LIMIT)
}

fn done(original: &str, old: &str, new: &str, all: bool) -> String {
    String::from_utf8(replace(original.as_bytes(), old, new, all).unwrap().bytes).unwrap()
}

fn refused(original: &str, old: &str, new: &str, all: bool) -> ReplaceError {
    replace(original.as_bytes(), old, new, all).unwrap_err()
}

#[test]
fn one_place_is_replaced_and_the_rest_stays() {
    let replaced = replace(b"one\ntwo\nthree", "two", "2", false).unwrap();
    assert_eq!(
        (replaced.bytes.as_slice(), replaced.replacements, replaced.line),
        (b"one\n2\nthree".as_slice(), 1, 2)
    );
    assert_eq!(done("a\nb\n", "a\nb", "c", false), "c\n");
    assert_eq!(done("abc", "b", "", false), "ac");
    assert_eq!(replace(b"x y x", "x", "z", true).unwrap().replacements, 2);
}

#[test]
fn the_new_text_is_no_template() {
    for new in ["$&", "$1 $$", "\\1\\n", "${x}", "%s"] {
        assert_eq!(done("a b c", "b", new, false), format!("a {new} c"));
    }
    assert_eq!(done("a.c abc", "a.c", "x", false), "x abc", "nor is the old one a pattern");
}

#[test]
fn marks_and_line_endings_are_kept() {
    assert_eq!(done("\u{feff}a\r\nb\r\n", "a", "x", false), "\u{feff}x\r\nb\r\n");
    assert_eq!(done("a\r\nb\r\nc", "a\nb", "x\ny", false), "x\r\ny\r\nc");
    assert_eq!(done("a\r\nb\r\n", "b", "x\ny", false), "a\r\nx\r\ny\r\n");
    assert_eq!(
        done("a\r\nb\r\n", "\r\n", "\n", true),
        "a\nb\n",
        "carriage returns asked for count"
    );
    assert_eq!(done("a\r\nb\n", "b", "x\ny", false), "a\r\nx\ny\n", "mixed endings are left alone");
    assert_eq!(done("a\nb", "b", "c", false), "a\nc", "no newline is added at the end");
}

#[test]
fn bytes_that_are_no_text_stay() {
    let replaced = replace(b"\xff a \xfe", "a", "b", false).unwrap();
    assert_eq!(replaced.bytes, b"\xff b \xfe");
    assert_eq!(replace(b"\xff a", "a", "\u{fffd}", false).unwrap_err(), ReplaceError::Lossy);
    assert!(replace("\u{fffd} a".as_bytes(), "a", "\u{fffd}", false).is_ok());
}

#[test]
fn empty_and_same_are_refused() {
    assert_eq!(refused("a", "", "b", true), ReplaceError::Empty);
    assert_eq!(refused("a", "a", "a", true), ReplaceError::Same);
}

#[test]
fn more_than_one_place_is_ambiguous_with_count_and_lines() {
    let error = refused("x\ny\nx x\n", "x", "z", false);
    let message = error.to_string();
    assert_eq!(
        error,
        ReplaceError::Ambiguous {
            count: 3,
            at_least: false,
            lines: vec![1, 3],
            overlapping: false
        }
    );
    assert_eq!(message, "old_string is ambiguous (3 occurrences): lines 1, 3");
}

#[test]
fn overlapping_places_are_ambiguous() {
    for all in [false, true] {
        let error = refused("aaa", "aa", "b", all);
        assert_eq!(
            error,
            ReplaceError::Ambiguous {
                count: 2,
                at_least: false,
                lines: vec![1],
                overlapping: true
            }
        );
        assert!(error.to_string().ends_with("(overlapping)"));
    }
    assert_eq!(done("aaaa", "aaaa", "b", true), "b");
}

#[test]
fn a_text_that_is_not_there_is_explained_by_what_comes_near() {
    let file = "fn main() {\n    let total = sum(&values);\n    println!(\"{total}\");\n}\n";
    let near = |old: &str| match refused(file, old, "x", false) {
        ReplaceError::NotFound { candidates, .. } => candidates,
        other => panic!("{other}"),
    };
    let space = near("fn main() {\n  let total = sum(&values);\n");
    assert_eq!((space[0].line, space[0].only_space), (2, true));
    let later = near("    let total = sum(&values);\n    println!(\"{sum}\");\n}");
    assert_eq!(
        (later[0].line, later[0].expected.as_deref()),
        (3, Some("    println!(\"{sum}\");"))
    );
    let similar = near("let totals = sum(values)");
    assert_eq!((similar[0].line, similar[0].expected.as_deref()), (2, None));
    assert!(near("nothing of the kind is here").is_empty() && near("\n\n\n").is_empty());
    let message = refused(file, "let totals = sum(values)", "x", false).to_string();
    assert_eq!(message, "old_string not found; near line 2: \"    let total = sum(&values);\"");
}

#[test]
fn a_result_over_the_limit_is_refused_before_it_is_made() {
    let result = |file: &str, old: &str, new: &str, limit: u64| {
        toolwright_patch::replace(file.as_bytes(), old, new, true, limit)
    };
    // 100 kB of places times 9 MB: 900 GB, which no machine has.
    let started = std::time::Instant::now();
    let (file, new) = ("a".repeat(100_000), "b".repeat(9_000_000));
    assert_eq!(
        result(&file, "a", &new, 10_000_000).unwrap_err(),
        ReplaceError::TooLarge { bytes: 900_000_000_000, limit: 10_000_000 }
    );
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    // At the limit, and one byte above it.
    assert_eq!(result("a-a", "a", "bb", 5).unwrap().bytes, b"bb-bb");
    assert_eq!(
        result("a-a", "a", "bb", 4).unwrap_err(),
        ReplaceError::TooLarge { bytes: 5, limit: 4 }
    );
    // Added carriage returns count too.
    assert_eq!(result("a\r\n", "a", "b\nb", 6).unwrap().bytes, b"b\r\nb\r\n");
    assert!(matches!(
        result("a\r\n", "a", "b\nb", 5),
        Err(ReplaceError::TooLarge { bytes: 6, .. })
    ));
    // A text that becomes shorter is judged by its new size.
    assert_eq!(result("aaaa", "a", "", 0).unwrap().bytes, b"");
}

#[test]
fn what_the_system_has_no_memory_for_is_an_error() {
    // More than any address space, with a host that sets no limit.
    let file = "a".repeat(3_000_000);
    let new = "b".repeat(100_000_000);
    let error = toolwright_patch::replace(file.as_bytes(), "a", &new, true, u64::MAX).unwrap_err();
    assert_eq!(error, ReplaceError::NoMemory { bytes: 300_000_000_000_000 });
}

#[test]
fn hostile_sizes_are_answered_in_time_and_at_bounded_length() {
    let started = std::time::Instant::now();
    let same = "a".repeat(400_000);
    for (file, old) in [
        (same.clone(), "a".repeat(200_000)),
        (same.clone(), "a".to_owned()),
        (same.clone(), format!("{}b", "a".repeat(200_000))),
        ("ab\n".repeat(100_000), "abc\n".repeat(10_000)),
        ("\n".repeat(300_000), "x".to_owned()),
        ("é\u{202e}\u{0}".repeat(50_000), "\u{202e}y".repeat(1000)),
    ] {
        if let Err(error) = replace(file.as_bytes(), &old, "y", false) {
            assert!(error.to_string().len() <= 2_000, "{}", error.to_string().len());
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_standard_library_does(
        file in "[ab\n]{0,30}", old in "[ab\n]{1,4}", new in "[abc\n]{0,4}", all in any::<bool>(),
    ) {
        let overlapping = (0..file.len()).filter(|&at| file[at..].starts_with(&old)).count();
        let apart = file.matches(&old).count();
        match replace(file.as_bytes(), &old, &new, all) {
            Ok(replaced) => {
                prop_assert_eq!(replaced.replacements, apart);
                prop_assert!(overlapping == apart && (all || apart == 1));
                prop_assert_eq!(String::from_utf8(replaced.bytes).unwrap(), file.replace(&old, &new));
                let at = file.find(&old).unwrap();
                prop_assert_eq!(replaced.line, file[..at].matches('\n').count() + 1);
            }
            Err(ReplaceError::Same) => prop_assert_eq!(&old, &new),
            Err(ReplaceError::NotFound { .. }) => prop_assert_eq!(apart, 0),
            Err(ReplaceError::Ambiguous { count, overlapping: is_overlapping, .. }) => {
                prop_assert_eq!(count, overlapping);
                prop_assert!(!all || is_overlapping);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn back_again_is_where_it_began(
        before in proptest::collection::vec(any::<u8>(), 0..20), after in proptest::collection::vec(any::<u8>(), 0..20),
        old in "[a-f]{3,6}", new in "[g-m]{3,6}",
    ) {
        let file = [before.as_slice(), old.as_bytes(), &after].concat();
        if let Ok(there) = replace(&file, &old, &new, false)
            && let Ok(back) = replace(&there.bytes, &new, &old, false)
        {
            prop_assert_eq!(back.bytes, file);
        }
    }

    #[test]
    fn any_bytes_and_texts_are_answered(file in proptest::collection::vec(any::<u8>(), 0..60), old in "\\PC{0,8}", new in "\\PC{0,8}") {
        let _ = replace(&file, &old, &new, true).map_err(|error| error.to_string());
    }
}
