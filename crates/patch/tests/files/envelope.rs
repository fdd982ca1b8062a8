//! The sections of `*** Begin Patch`.

use super::*;

#[test]
fn each_operation_is_read_in_its_order() {
    let patch = begun(
        "*** Add File: new.txt\n+a\n+\n+b\n*** Delete File: old.txt\n\n*** Update File: src/a b.rs\n*** Move to: src/c.rs\n@@\n-x\n+y\n",
    );
    let expected =
        vec![created("new.txt", "a\n\nb\n"), deleted("old.txt"), moved("src/a b.rs", "src/c.rs")];
    assert_eq!(changes(&patch), expected);
    assert_eq!(parsed(&patch).iter().map(|file| file.patch_line).collect::<Vec<_>>(), [2, 6, 8]);
}

#[test]
fn a_new_file_may_be_empty() {
    assert_eq!(changes(&begun("*** Add File: .keep\n")), [created(".keep", "")]);
}

#[test]
fn the_first_hunk_needs_no_header() {
    let patch = begun("*** Update File: a\n\n one\n-two\n+2\n@@\n-four\n+4\n");
    assert_eq!(applied("one\ntwo\nthree\nfour\n", &patch), "one\n2\nthree\n4\n");
}

#[test]
fn a_deletion_takes_any_content() {
    let patch = begun("*** Delete File: a\n");
    assert_eq!(applied("one\ntwo\n", &patch), "");
    assert_eq!(applied("\0", &patch), "");
}

#[test]
fn the_names_of_a_diff_may_be_repeated() {
    let patch =
        begun("*** Update File: src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-one\n+1\n");
    assert_eq!(applied("one\n", &patch), "1\n");
}

#[test]
fn text_with_signs_is_never_a_line_of_the_envelope() {
    let patch =
        begun("*** Update File: a\n@@\n *** End Patch\n-*** Add File: b\n+*** Begin Patch\n");
    assert_eq!(
        applied("*** End Patch\n*** Add File: b\n", &patch),
        "*** End Patch\n*** Begin Patch\n"
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (body, why) in [
        ("", "no_files"),
        ("*** Add File: \n+a\n", "no_path"),
        ("*** Update File: a\n*** Move to: \n@@\n-a\n+b\n", "no_path"),
        ("*** Update File: a\n", "no_hunks"),
        ("*** Update File: a\n@@\n", "empty_hunk"),
        ("*** Update File: a\n@@ b\n@@ c\n", "empty_hunk"),
        ("*** Update File: a\n@@\n a\n", "no_changes"),
        ("*** Update File: a\n@@x\n-a\n+b\n", "bad_header"),
        ("*** Update File: a\n@@ -1,x +1 @@\n-a\n+b\n", "bad_header"),
        ("*** Update File: a\n@@\n-a\n+\u{fffd}\n", "replacement_character"),
        ("*** Update File: a\n@@\n-a\nb\n+c\n", "stray_line"),
        ("*** Update File: a\n*** End of File\n", "stray_line"),
        ("*** Update File: a\n@@\n-a\n*** End of File\n+b\n", "stray_line"),
        ("*** Update File: a\n@@\n-a\n*** Move to: b\n", "unknown_marker"),
        ("*** Copy File: a\n", "unknown_marker"),
        ("*** Add File: a\ntext\n", "stray_line"),
        ("*** Add File: a\n+1\n\n+2\n", "stray_line"),
        ("*** Delete File: a\n-1\n", "stray_line"),
        ("*** Add File: a\n+1\n*** Begin Patch\n", "second_patch"),
    ] {
        assert_eq!(unread(&begun(body)), why, "{body}");
    }
    for (text, why) in [("", "empty"), ("  \n", "empty"), ("change one to two", "not_a_patch")] {
        assert_eq!(unread(text), why, "{text}");
    }
}

#[test]
fn an_error_names_its_file() {
    let error =
        parse_patch("*** Begin Patch\n*** Update File: src/a.rs\n*** End Patch").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`src/a.rs`: the patch has file headers (line 2 of the patch) but no hunk after them"
    );
    let path = error.details().into_iter().find(|(name, _)| *name == "path");
    assert_eq!(path, Some(("path", Detail::Text("src/a.rs".to_owned()))));
}

#[test]
fn binary_files_are_refused() {
    let patch = begun("*** Update File: a\n@@\n-a\n+b\n");
    let error = parsed(&patch)[0].apply(b"a\n\0\n").unwrap_err();
    assert_eq!(reason(&error), "binary_file");
}

#[test]
fn a_headerless_diff_makes_a_new_file() {
    let made = |diff| {
        apply_diff(b"", diff, DiffMode::Create)
            .map(|new| String::from_utf8(new.bytes).unwrap())
            .map_err(|error| reason(&error))
    };
    assert_eq!(made("+a\n+b\n"), Ok("a\nb".to_owned()));
    assert_eq!(made("+a\r\n+b\r\n+"), Ok("a\r\nb\r\n".to_owned()));
    assert_eq!(made("+a\n*** End Patch\n"), Ok("a".to_owned()));
    assert_eq!(made(""), Ok(String::new()));
    assert_eq!(made("a\n"), Err("stray_line".to_owned()));
    assert_eq!(made("+a\n\n+b\n"), Err("stray_line".to_owned()));
}

#[test]
fn a_headerless_diff_names_no_file() {
    assert_eq!(diffed("a\n", "@@\n-a\n+b\n*** End Patch\n"), Ok("b\n".to_owned()));
    for diff in ["*** Begin Patch\n", "@@\n-a\n+b\n*** Update File: c\n@@\n-x\n+y\n"] {
        assert_eq!(diffed("a\n", diff), Err("names_file".to_owned()), "{diff}");
    }
    assert_eq!(diffed("a\n", ""), Err("empty".to_owned()));
}
