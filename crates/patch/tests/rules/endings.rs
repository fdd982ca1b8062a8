//! Line endings.

use super::*;

#[test]
fn an_lf_patch_keeps_a_crlf_file() {
    let patch = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n";
    assert_eq!(applied("a\r\nb\r\nc\r\n", patch), "a\r\nB\r\nBB\r\nc\r\n");
}

#[test]
fn a_crlf_patch_keeps_an_lf_file() {
    let patch = "--- a\r\n+++ b\r\n@@ -1,3 +1,4 @@\r\n a\r\n-b\r\n+B\r\n+BB\r\n c\r\n";
    assert_eq!(applied("a\nb\nc\n", patch), "a\nB\nBB\nc\n");
}

#[test]
fn a_hunk_without_context_keeps_the_endings_of_the_file() {
    assert_eq!(applied("a\r\nb\r\n", "@@ -1,0 +2 @@\n+x\n"), "a\r\nx\r\nb\r\n");
    assert_eq!(applied("a\r\nb\r\n", "@@ -0,0 +1 @@\n+x\n"), "x\r\na\r\nb\r\n");
}

#[test]
fn lines_of_a_mixed_file_keep_their_own_endings() {
    let file = "a\r\nb\nc\r\nd\ne\r\n";
    let patch = "@@ -1,5 +1,5 @@\n a\n b\n-c\n+C\n d\n e\n";
    assert_eq!(applied(file, patch), "a\r\nb\nC\r\nd\ne\r\n");
}

#[test]
fn an_added_line_takes_the_ending_of_the_line_it_replaces() {
    let file = "a\r\nb\nc\r\nd\n";
    let patch = "@@ -1,3 +1,4 @@\n-a\n-b\n+A\n+B\n+BB\n c\n";
    assert_eq!(applied(file, patch), "A\r\nB\nBB\nc\r\nd\n");
}

#[test]
fn an_inserted_line_takes_the_ending_of_the_line_before_it() {
    assert_eq!(applied("a\r\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"), "a\r\nx\r\nb\n");
    assert_eq!(applied("a\r\nb\n", "@@ -1,2 +1,3 @@\n+x\n a\n b\n"), "x\r\na\r\nb\n");
}

#[test]
fn endings_that_agree_with_the_file_are_meant() {
    let patch = "@@ -1,2 +1,3 @@\n a\r\n+x\n b\n";
    assert_eq!(applied("a\r\nb\n", patch), "a\r\nx\nb\n");
    assert_eq!(applied("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"), "a\nb\r\n");
}

#[test]
fn a_line_that_loses_its_place_at_the_end_gets_an_ending() {
    assert_eq!(applied("a\r\nb", "@@ -2 +2,2 @@\n b\n+c\n"), "a\r\nb\r\nc");
    assert_eq!(applied("b", "@@ -1 +1,2 @@\n b\n+c\n"), "b\nc");
}

#[test]
fn carriage_returns_inside_a_line_are_text() {
    assert_eq!(applied("a\rb\nc\n", "@@ -2 +2 @@\n-c\n+C\n"), "a\rb\nC\n");
    assert_eq!(reason(&refused("a\rb\n", "@@ -1 +1 @@\n-ab\n+x\n")), "stale_context");
}

#[test]
fn half_an_ending_at_the_end_is_completed() {
    assert_eq!(applied("a\r\nb\r", "@@ -2 +2,2 @@\n b\n+c\n"), "a\r\nb\r\nc");
}
