//! Fits that are not exact: the result is the text that is meant, or a refusal, and the model reads about it.
#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toolwright_patch::{PatchError, apply, apply_by_content, parse_patch};

fn envelope(hunks: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
}

/// The new text and the notes.
fn applied(file: &str, hunks: &str) -> Result<(String, Vec<String>), PatchError> {
    let patch = envelope(hunks);
    let applied = parse_patch(&patch)?[0].apply(file.as_bytes())?;
    let notes = applied.notes();
    Ok((String::from_utf8(applied.bytes).unwrap(), notes))
}

const PYTHON: &str = "class A:\n    def f(self):\n        x = 1\n        return x\n";

#[test]
fn added_lines_are_indented_as_the_file_is() {
    let (text, notes) =
        applied(PYTHON, "@@\n-    x = 1\n+    x = 2\n+    if x:\n+        y = 3\n     return x\n")
            .unwrap();
    assert_eq!(
        text,
        "class A:\n    def f(self):\n        x = 2\n        if x:\n            y = 3\n        return x\n"
    );
    assert_eq!(
        notes,
        [
            "hunk 1: its lines fit at line 3 with 4 spaces more at their beginnings, and its added lines were indented like that."
        ]
    );
    let (text, _) = applied("a:\n- b\n- c\n", "@@\n-  - b\n+  - x\n   - c\n").unwrap();
    assert_eq!(text, "a:\n- x\n- c\n");
}

#[test]
fn other_differences_of_indentation_are_refused() {
    for (file, hunks) in [
        // Two differences.
        ("if a:\n        b\n    c\n", "@@\n-    b\n+    d\n  c\n"),
        // Tabs and spaces.
        ("if a:\n\tb\n", "@@\n-    b\n+    c\n"),
        ("if a:\n    b\n", "@@\n-\tb\n+\tc\n"),
        // An added line cannot be indented less than not at all.
        ("b\nc\n", "@@\n-    b\n+  x\n     c\n"),
    ] {
        let error = applied(file, hunks).unwrap_err();
        assert!(error.to_string().contains("white space only"), "{error}");
    }
}

/// The new text and what a model reads about it.
fn edited(file: &str, patch: &str) -> Result<(String, String), PatchError> {
    let applied = apply_by_content(file.as_bytes(), patch)?;
    let summary = applied.summary();
    Ok((String::from_utf8(applied.bytes).unwrap(), summary))
}

#[test]
fn hunks_with_line_numbers_are_indented_as_the_file_is() {
    let patch = "@@ -3,2 +3,3 @@\n-    x = 1\n+    x = 2\n+    y = 3\n     return x\n";
    assert_eq!(
        edited(PYTHON, patch).unwrap(),
        (
            PYTHON.replace("x = 1\n", "x = 2\n        y = 3\n"),
            "Applied at line 3. Hunk 1: its lines fit at line 3 with 4 spaces more at their beginnings, and its added lines were indented like that.".to_owned()
        )
    );
    // White space at the end of a context line that was not seen.
    let (text, _) = edited("one \ntwo\n", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n").unwrap();
    assert_eq!(text, "one \n2\n");
    // The documents' tool refuses what does not fit.
    assert!(matches!(apply(PYTHON.as_bytes(), patch), Err(PatchError::StaleContext(_))));
}

#[test]
fn of_two_loose_fits_only_the_line_that_is_named_will_do() {
    let file = "if a:\n    b\n    c\nif d:\n    b\n    c\n";
    let patch = |at: usize| format!("@@ -{at},2 +{at},2 @@\n-b\n+x\n c\n");
    let (text, _) = edited(file, &patch(5)).unwrap();
    assert_eq!(text, "if a:\n    b\n    c\nif d:\n    x\n    c\n");
    for at in [1, 3, 4, 6, 9] {
        let refused = edited(file, &patch(at));
        assert!(matches!(refused, Err(PatchError::StaleContext(_))), "{at}: {refused:?}");
    }
}

#[test]
fn white_space_at_the_ends_of_lines_stays_as_it_is() {
    let (text, notes) = applied("one  \ntwo\n", "@@\n-one\n+1\n two\n").unwrap();
    assert_eq!(text, "1  \ntwo\n");
    assert_eq!(
        notes,
        ["hunk 1: its lines fit at line 1 once white space at their ends is ignored."]
    );
    let (text, _) = applied("one\ntwo\n", "@@\n-one  \n+1  \n two\n").unwrap();
    assert_eq!(text, "1\ntwo\n");
    // Who knows of it can take it away.
    let (text, notes) = applied("one  \ntwo\n", "@@\n-one  \n+one\n two\n").unwrap();
    assert_eq!((&*text, notes), ("one\ntwo\n", Vec::<String>::new()));
    let (text, _) = applied("a \nb\n", "@@\n-a\n+new\n+a\n b\n").unwrap();
    assert_eq!(text, "new\na \nb\n");
}

#[test]
fn two_fits_below_one_anchor_are_refused() {
    let file = "describe('res', f(){\n  it('one', f(){\n    send('foo')\n    end()\n  })\n  it('two', f(){\n    send('foo')\n    end()\n  })\n})\n";
    let hunk = "-    send('foo')\n+    send('bar')\n     end()\n";
    let error = applied(file, &format!("@@ describe('res', f(){{\n{hunk}")).unwrap_err();
    let message = error.to_string();
    assert!(message.contains('3') && message.contains('7'), "{message}");
    let (text, _) = applied(file, &format!("@@   it('two', f(){{\n{hunk}")).unwrap();
    assert_eq!(text, file.replacen("foo", "bar", 2).replacen("bar", "foo", 1));
    // In the block of the line that is named.
    let (text, _) = applied(file, &format!("@@   it('one', f(){{\n{hunk}")).unwrap();
    assert_eq!(text, file.replacen("foo", "bar", 1));
}

#[test]
fn a_last_hunk_that_falls_short_in_the_middle_of_a_line_is_refused() {
    let file = b"one\ntwo\nthree\nfour\n";
    let patch = "@@ -1,4 +1,4 @@\n-one\n+1\n two\n thr";
    for applied in [apply(file, patch), apply_by_content(file, patch)] {
        assert!(matches!(applied, Err(PatchError::CutOff { .. })), "{applied:?}");
    }
    let whole = "@@ -1,4 +1,4 @@\n-one\n+1\n two\n";
    assert_eq!(apply(file, whole).unwrap().bytes, b"1\ntwo\nthree\nfour\n");
}

/// A line with its depth.
#[derive(Clone, Debug)]
struct Code {
    depth: usize,
    word: &'static str,
    change: u8,
    end: &'static str,
}

fn code() -> impl Strategy<Value = Code> {
    let word = select(vec!["a", "b", "c", "d", "e = 1", "}", ""]);
    (0_usize..4, word, 0_u8..6, select(vec!["", "", "", " ", "\t"]))
        .prop_map(|(depth, word, change, end)| Code { depth, word, change, end })
}

/// An old text, a new one, and their hunk.
fn written(lines: &[Code], unit: &str, base: usize, with_ends: bool) -> (String, String, String) {
    let (mut old, mut new, mut hunk) = (String::new(), String::new(), "@@\n".to_owned());
    for (number, Code { depth, word, change, end }) in lines.iter().enumerate() {
        let end = if with_ends { end } else { "" };
        let text = if word.is_empty() {
            String::new()
        } else {
            format!("{}{word}{number}{end}", unit.repeat(depth + base))
        };
        let other = text.replacen(&number.to_string(), &format!("{number}x"), 1);
        old.extend([format!("{text}\n")]);
        match change {
            0 if text != other => {
                new.extend([format!("{other}\n")]);
                hunk.extend([format!("-{text}\n+{other}\n")]);
            }
            1 => hunk.extend([format!("-{text}\n")]),
            2 => {
                let added = format!("{}added{number}", unit.repeat(depth + base));
                new.extend([format!("{text}\n{added}\n")]);
                hunk.extend([format!(" {text}\n+{added}\n")]);
            }
            _ => {
                new.extend([format!("{text}\n")]);
                hunk.extend([format!(" {text}\n")]);
            }
        }
    }
    (old, new, hunk)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_global_rejects: 20_000, ..ProptestConfig::with_cases(2_000) })]

    /// A hunk that is written with another indentation, or without the white space at the ends of lines, makes the
    /// text that is meant, or is refused. It never says that its fit was exact.
    #[test]
    fn a_loose_fit_is_the_meant_text_or_a_refusal(
        lines in vec(code(), 2..9),
        unit in select(vec!["  ", "    ", "\t"]),
        other in select(vec!["  ", "    ", "\t"]),
        base in 0_usize..4,
        written_base in 0_usize..4,
        with_ends in any::<bool>(),
    ) {
        // Without an old line that is indented nothing shows the width of a level.
        let has_added = lines.iter().any(|line| line.change == 2);
        let are_indented = lines.iter().all(|line| !line.word.is_empty() && line.depth > 0);
        prop_assume!(unit == other || !has_added || are_indented);
        let (old, new, _) = written(&lines, unit, base, with_ends);
        let (shown, as_written, hunk) = written(&lines, other, written_base, false);
        // A hunk that fits exactly is applied as it is.
        let new = if old == shown { as_written } else { new };
        let count = |sign: char| hunk.lines().skip(1).filter(|line| !line.starts_with(sign)).count();
        let header = format!("@@ -1,{} +1,{} @@\n", count('+'), count('-'));
        if let Ok(applied) = apply_by_content(old.as_bytes(), &hunk.replacen("@@\n", &header, 1)) {
            prop_assert_eq!(String::from_utf8_lossy(&applied.bytes), &*new, "{}{}", header, hunk);
            let is_loose = applied.summary().contains(" fit ") || lines.iter().all(|line| line.word.is_empty());
            prop_assert!(old == shown || is_loose, "{}", applied.summary());
        }
        match applied(&old, &hunk) {
            Ok((text, notes)) => {
                prop_assert_eq!(&text, &new, "{}", hunk);
                if old != shown {
                    prop_assert!(!notes.is_empty() || lines.iter().all(|line| line.word.is_empty()));
                }
            }
            Err(error) => prop_assert!(
                old != shown || hunk.lines().all(|line| !line.starts_with(['+', '-'])) || matches!(error, PatchError::NoChanges | PatchError::UnplacedInsertion { .. } | PatchError::SeveralFits { .. } | PatchError::EmptyHunk { .. }),
                "{}: {}", hunk, error
            ),
        }
    }
}
