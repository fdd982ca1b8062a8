//! The newline at the end of the file.

use super::*;

const NONE: &str = "\\ No newline at end of file";

#[test]
fn kept_without_a_marker() {
    assert_eq!(applied("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n"), "a\nc\n");
    assert_eq!(applied("a\nb", "@@ -2 +2 @@\n-b\n+c\n"), "a\nc");
    assert_eq!(applied("a\nb", "@@ -1,2 +1 @@\n a\n-b\n"), "a");
    assert_eq!(applied("a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"), "A\nb");
}

#[test]
fn added_as_the_patch_says() {
    assert_eq!(applied("a\nb", &format!("@@ -2 +2 @@\n-b\n{NONE}\n+b\n")), "a\nb\n");
    assert_eq!(applied("a\nb", &format!("@@ -1,2 +1 @@\n a\n-b\n{NONE}\n")), "a\n");
}

#[test]
fn removed_as_the_patch_says() {
    assert_eq!(applied("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+b\n{NONE}\n")), "a\nb");
    assert_eq!(applied("a\r\nb\r\n", &format!("@@ -2 +2 @@\n-b\n+c\n{NONE}\n")), "a\r\nc");
    assert_eq!(applied("", &format!("@@ -0,0 +1 @@\n+a\n{NONE}\n")), "a");
}

#[test]
fn absent_before_and_after() {
    let patch = format!("@@ -2 +2 @@\n-b\n{NONE}\n+c\n{NONE}\n");
    assert_eq!(applied("a\nb", &patch), "a\nc");
    assert_eq!(reason(&refused("a\nb\n", &patch)), "newline_present");
}

#[test]
fn a_marker_that_is_not_true_is_refused() {
    let adds = format!("@@ -2 +2 @@\n-b\n{NONE}\n+b\n");
    let removes = format!("@@ -2 +2 @@\n-b\n+c\n{NONE}\n");
    assert_eq!(reason(&refused("a\nb\n", &adds)), "newline_present");
    assert_eq!(reason(&refused("a\nb", &removes)), "newline_missing");
}

#[test]
fn a_marker_after_context_changes_nothing() {
    let patch = format!("@@ -1,2 +1,2 @@\n-a\n+A\n b\n{NONE}\n");
    assert_eq!(applied("a\nb", &patch), "A\nb");
    assert_eq!(applied("a\nb\n", &patch), "A\nb\n");
}

#[test]
fn a_marked_hunk_belongs_to_the_end() {
    let patch = format!("@@ -1 +1 @@\n-x\n+y\n{NONE}\n");
    assert_eq!(applied("x\na\nx\n", &patch), "x\na\ny");
    let error = refused("x\na\n", &patch);
    assert_eq!(reason(&error), "not_at_end");
    assert!(error.to_string().contains("fits at line 1, and the file has 2 lines"), "{error}");
}

#[test]
fn a_marker_before_more_lines_is_refused() {
    let patch = format!("@@ -1,2 +1,2 @@\n-a\n+A\n{NONE}\n b\n");
    assert_eq!(reason(&refused("a\nb\n", &patch)), "misplaced_marker");
}

#[test]
fn a_blank_line_after_the_marker_is_not_context() {
    let patch = format!("@@ -1,3 +1,3 @@\n a\n-b\n+c\n{NONE}\n\n");
    assert_eq!(applied("a\nb\n", &patch), "a\nc");
}

#[test]
fn a_marker_in_an_earlier_hunk_is_ignored() {
    // Once glued the added line to the next one.
    let patch = format!("@@ -1 +1 @@\n-a\n+A\n{NONE}\n@@ -3 +3 @@\n-c\n+C\n");
    assert_eq!(applied("a\nb\nc\n", &patch), "A\nb\nC\n");
    assert_eq!(applied("a\nb\nc", &patch), "A\nb\nC");
}
