//! Carriage returns, byte order marks and letters: what a patch adds is what it says, and nothing else changes.
#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toolwright_patch::{
    DiffMode, PatchError, ReplaceError, apply, apply_by_content, apply_diff, keep_form,
    parse_patch, replace,
};

fn envelope(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}*** End Patch\n")
}

fn enveloped(old: &[u8], sections: &str) -> Vec<u8> {
    let patch = envelope(sections);
    parse_patch(&patch).unwrap()[0].apply(old).unwrap().bytes
}

#[test]
fn added_lines_keep_their_carriage_returns() {
    let new = enveloped(b"", "*** Add File: a.bat\n+@echo off\r\n+exit\r\n");
    assert_eq!(new, b"@echo off\r\nexit\r\n");
    let new = apply_diff(b"", "+@echo off\r\n+exit\r\n+", DiffMode::Create).unwrap();
    assert_eq!(new.bytes, b"@echo off\r\nexit\r\n");
    // The transport of a whole patch.
    let crlf = envelope("*** Add File: a\n+one\n+two\n").replace('\n', "\r\n");
    assert_eq!(parse_patch(&crlf).unwrap()[0].apply(b"").unwrap().bytes, b"one\ntwo\n");
}

#[test]
fn a_patch_converts_line_endings() {
    let to_crlf = enveloped(b"a\nb\n", "*** Update File: f\n@@\n-a\n-b\n+a\r\n+b\r\n");
    assert_eq!(to_crlf, b"a\r\nb\r\n");
    let to_lf = enveloped(b"a\r\nb\r\n", "*** Update File: f\n@@\n-a\r\n-b\r\n+a\n+b\n");
    assert_eq!(to_lf, b"a\nb\n");
    // Who does not see them keeps them.
    let kept = enveloped(b"a\r\nb\r\n", "*** Update File: f\n@@\n-a\n+c\n b\n");
    assert_eq!(kept, b"c\r\nb\r\n");
}

#[test]
fn a_line_without_an_ending_gets_no_carriage_return_of_the_transport() {
    let patch = "@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+2\r\n\\ No newline at end of file\r\n";
    assert_eq!(apply(b"one\r\ntwo\r\n", patch).unwrap().bytes, b"one\r\n2");
    let literal = "@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+2\r\n\\ No newline at end of file\n";
    assert_eq!(apply(b"one\r\ntwo\r\n", literal).unwrap().bytes, b"one\r\n2\r");
}

#[test]
fn a_lost_space_is_named() {
    let patch = envelope("*** Update File: m.py\n@@\nimport os\n-\n+import sys\n");
    let error = parse_patch(&patch).unwrap_err().to_string();
    assert!(error.contains("import os") && error.contains("begins with neither"), "{error}");
}

#[test]
fn a_line_that_may_have_lost_its_space_is_refused_where_the_file_has_it() {
    let file = b"a\n+ item\nb\nc\n";
    // The counts show that a line has no space, or nothing does.
    for header in ["@@ -2,3 +2,2 @@", "@@"] {
        let patch = format!("{header}\n+ item\n b\n-c\n");
        let refused = apply_by_content(file, &patch);
        assert!(matches!(refused, Err(PatchError::LostSpace { line: 2, .. })), "{refused:?}");
        let patch = format!("{header}\n-a\n++ item\n");
        let added = apply_by_content(b"a\nb\n", &patch).unwrap();
        assert_eq!(added.bytes, b"+ item\nb\n");
    }
    let patch = "@@ -3,2 +3,2 @@\n+ item\n b\n-c\n";
    assert_eq!(apply_by_content(file, patch).unwrap().bytes, b"a\n+ item\n item\nb\n");
}

#[test]
fn letters_are_not_mixed_into_another_encoding() {
    let latin = b"x = 1;\n// caf\xe9\n";
    let patch = "@@ -1,1 +1,1 @@\n-x = 1;\n+x = 2; // \u{e9}\n";
    let refused = apply_by_content(latin, patch);
    assert!(matches!(refused, Err(PatchError::OtherEncoding { .. })), "{refused:?}");
    // The documents' `edit` writes what it is given.
    assert!(apply(latin, patch).is_ok());
    // What removes the rest of another encoding makes a file of UTF-8.
    let whole = "@@ -2,1 +2,1 @@\n-// caf\u{fffd}\n+// caf\u{e9}\n";
    assert!(apply_by_content(latin, whole).is_ok());
    let shift_jis = b"// \x93\xfa\x96\x7b\x8c\xea\nx\n";
    let section = envelope("*** Update File: f\n@@\n-x\n+\u{65e5}\n");
    let error = parse_patch(&section).unwrap()[0].apply(shift_jis).unwrap_err();
    assert!(matches!(error, PatchError::OtherEncoding { .. }), "{error}");
    assert_eq!(
        replace(latin, "x = 1", "x = '\u{e9}'", false, 1000).unwrap_err(),
        ReplaceError::OtherEncoding { encoding: None }
    );
    assert_eq!(
        replace(latin, "x = 1", "x = 2", false, 1000).unwrap().bytes,
        b"x = 2;\n// caf\xe9\n"
    );
    // One broken byte makes no other encoding.
    let utf8 = "// caf\u{e9} \u{e8}\nx\n".as_bytes().iter().copied().chain(*b"\xff\n");
    let utf8: Vec<u8> = utf8.collect();
    assert!(apply(&utf8, "@@ -2,1 +2,1 @@\n-x\n+\u{e9}\n").is_ok());
}

#[test]
fn other_line_endings_are_named() {
    let error = replace(b"alpha\nbeta\r\ngamma\n", "beta\ngamma", "B\ngamma", false, 100);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("mixes CRLF and LF"), "{message}");
}

#[test]
fn a_new_content_keeps_the_form_of_the_old_one() {
    let kept = |old: &str, new: &str| {
        String::from_utf8(keep_form(old.as_bytes(), new).content.into_owned()).unwrap()
    };
    assert_eq!(kept("\u{feff}a\r\n", "b\nc\n"), "\u{feff}b\r\nc\r\n");
    assert_eq!(kept("a\r\n", "b\r\nc\n"), "b\r\nc\n");
    assert_eq!(kept("a\r\nb\n", "c\n"), "c\n");
    assert_eq!(kept("\u{feff}a\n", "\u{feff}b\n"), "\u{feff}b\n");
}

fn text() -> impl Strategy<Value = (Vec<&'static str>, bool, bool)> {
    let lines = vec(select(vec!["a", "b", "c", "", "  d"]), 1..8);
    (lines, any::<bool>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// A line that is changed, through each door, leaves the mark and the endings of all lines as they are.
    #[test]
    fn a_change_keeps_mark_and_endings((lines, crlf, mark) in text(), at in any::<prop::sample::Index>(), shows in any::<bool>()) {
        let end = if crlf { "\r\n" } else { "\n" };
        let at = at.index(lines.len());
        let names: Vec<String> = lines.iter().enumerate().map(|(n, line)| format!("{line}{n}")).collect();
        let mark = if mark { "\u{feff}" } else { "" };
        let joined = |names: &[String]| names.iter().fold(mark.to_owned(), |text, name| text + name + end);
        let old = joined(&names);
        let mut changed = names.clone();
        changed[at] = "new".to_owned();
        let new = joined(&changed);
        // The author of the patch has seen the endings or not.
        let shown = if shows { end } else { "\n" };
        let body = format!("-{}{shown}+new{shown}", names[at]);
        let numbered = format!("@@ -{0},1 +{0},1 @@\n{body}", at + 1);
        prop_assert_eq!(apply(old.as_bytes(), &numbered).unwrap().bytes, new.as_bytes());
        prop_assert_eq!(enveloped(old.as_bytes(), &format!("*** Update File: f\n@@\n{body}")), new.as_bytes());
        prop_assert_eq!(apply_diff(old.as_bytes(), &format!("@@\n{body}"), DiffMode::Update).unwrap().bytes, new.as_bytes());
        let replaced = replace(old.as_bytes(), &names[at], "new", false, 1 << 20);
        if let Ok(replaced) = replaced {
            prop_assert_eq!(replaced.bytes, new.as_bytes());
        }
        let plain = changed.iter().fold(String::new(), |text, name| text + name + "\n");
        let kept = keep_form(old.as_bytes(), &plain);
        prop_assert_eq!(kept.content.as_ref(), new.as_bytes());
    }
}
