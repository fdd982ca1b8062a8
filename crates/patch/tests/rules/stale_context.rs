//! What is said when a hunk does not fit.

use super::*;

#[test]
fn hunk_line_expected_and_found_are_shown() {
    let error = refused(FILE, "@@ -4,4 +4,4 @@\n four\n five\n-six!\n+6\n seven\n");
    assert_eq!(
        error.to_string(),
        "hunk 1 (@@ -4,4 +4,4 @@) does not fit the file: line 6 should be \"six!\" (line 4 of \
         the patch) but is \"six\"; 3 of the 4 context and removed lines match there, and no \
         place matches all"
    );
    for (name, value) in [
        ("hunk", Detail::Number(1)),
        ("line", Detail::Number(6)),
        ("patchLine", Detail::Number(4)),
        ("expected", text("six!")),
        ("found", text("six")),
    ] {
        assert_eq!(detail(&error, name), Some(value), "{name}");
    }
}

#[test]
fn the_place_most_alike_is_shown_even_far_from_the_header() {
    let error = refused(FILE, "@@ -1,4 +1,4 @@\n six\n seven\n-eight!\n+8\n nine\n");
    assert_eq!(detail(&error, "line"), Some(Detail::Number(8)), "{error}");
}

#[test]
fn white_space_is_said_to_be_the_difference() {
    let error = refused("if x {\n\ty();\n}\n", "@@ -1,2 +1,2 @@\n if x {\n-    y();\n+    z();\n");
    assert!(error.to_string().contains(r#"but is "\ty();", which differs in white space only"#));
}

#[test]
fn a_change_that_was_made_before_is_recognised() {
    let patch = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let error = refused(&applied(FILE, patch), patch);
    let PatchError::StaleContext(stale) = error else { panic!("{error}") };
    assert_eq!(stale.done_at, Some(1));
}

#[test]
fn the_end_of_the_file_is_named() {
    let error = refused("a\nb\n", "@@ -2,2 +2,2 @@\n b\n-c\n+d\n");
    assert!(error.to_string().contains("but the file ends at line 2"), "{error}");
    assert_eq!(detail(&error, "found"), None);
    let error = refused("", "@@ -1 +1 @@\n-a\n+b\n");
    assert!(error.to_string().contains("but the file is empty"), "{error}");
}

#[test]
fn the_second_hunk_is_the_one_that_is_named() {
    let error = refused(FILE, "@@ -1 +1 @@\n-one\n+1\n@@ -9 +9 @@\n-nine!\n+9\n");
    assert_eq!(detail(&error, "hunk"), Some(Detail::Number(2)), "{error}");
}

#[test]
fn long_lines_are_cut_around_the_difference() {
    let same = "é".repeat(50_000);
    let file = format!("{same}left\n");
    let error = refused(&file, &format!("@@ -1 +1 @@\n-{same}right\n+x\n"));
    let message = error.to_string();
    assert!(message.len() < 1_500 && message.contains("right\"") && message.contains("left\""));
    assert!(message.contains("column 50001"), "{message}");
}

#[test]
fn one_bad_hunk_of_two_changes_nothing() {
    let patch = "@@ -1 +1 @@\n-one\n+1\n@@ -2 +2 @@\n-nope\n+2\n";
    assert_eq!(reason(&refused(FILE, patch)), "stale_context");
}

#[test]
fn numbers_in_front_of_lines_are_noticed() {
    let PatchError::StaleContext(stale) =
        apply(b"a\n  return 1\nb\n", "@@ -2 +2 @@\n-2\t  return 1\n+2\t  return 2\n").unwrap_err()
    else {
        panic!("another error")
    };
    assert!(stale.numbered);
}

#[test]
fn a_change_that_was_made_is_found_without_its_line() {
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-  return one\n+  return two\n*** End Patch\n";
    let stale = |file: &str| {
        let files = parse_patch(patch).unwrap();
        match files[0].apply(file.as_bytes()).unwrap_err() {
            PatchError::StaleContext(stale) => stale.done_at,
            error => panic!("{error}"),
        }
    };
    assert_eq!(stale("a\nb\nc\nd\n  return two\n"), Some(5));
    assert_eq!(stale("a\n  return two\nc\n  return two\n"), None, "in two places");
    assert_eq!(stale("a\nb\n"), None);
}
