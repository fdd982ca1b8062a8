//! What is ignored.

use super::*;

const HUNK: &str = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

#[test]
fn ignored() {
    let want = FILE.replace("two", "2");
    for patch in [
        format!("--- a/any\n+++ b/other\n{HUNK}"),
        format!("--- a/any\t2026-01-01\n+++ b/any\t2026-01-02\n{HUNK}"),
        format!("diff --git a/f b/f\nindex 123..456 100644\n--- a/f\n+++ b/f\n{HUNK}"),
        format!("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n{HUNK}"),
        format!("Index: f\n{}\n--- f\n+++ f\n{HUNK}", "=".repeat(67)),
        format!("```diff\n{HUNK}```\n"),
        format!("```\n{HUNK}```"),
        format!("~~~ patch\n--- a\n+++ b\n{HUNK}~~~\n\nDone.\n- a list\n+ of prose\n"),
        format!("Here is the change:\n\n--- of course ---\n\n{HUNK}"),
        format!("{HUNK}\n\n\n"),
        format!("{HUNK}  "),
        format!("{HUNK}\nThat is all:\n- it counts\n"),
        format!("--- a/f\n{HUNK}"),
        format!("+++ b/f\n{HUNK}"),
        format!("{HUNK}-- \n2.47.3\n\n"),
        HUNK.trim_end().to_owned(),
        HUNK.replace(" @@\n", " @@ fn main() {\n"),
        HUNK.replace('\n', "\r\n"),
    ] {
        assert_eq!(applied(FILE, &patch), want, "{patch}");
    }
}

#[test]
fn counts_decide_what_looks_like_a_file_name() {
    let file = "a\n-- x\nb\n";
    let patch = "@@ -1,3 +1,3 @@\n a\n--- x\n+++ x\n b\n";
    assert_eq!(applied(file, patch), "a\n++ x\nb\n");
    let last = "@@ -1,2 +1,2 @@\n a\n--- x\n+++ x\n";
    assert_eq!(applied(file, last), "a\n++ x\nb\n");
    let two = format!("{last}@@ -3 +3 @@\n-b\n+B\n");
    assert_eq!(applied(file, &two), "a\n++ x\nB\n");
}

#[test]
fn an_empty_line_in_a_hunk_is_empty_context() {
    assert_eq!(applied("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n"), "a\n\nB\n");
    assert_eq!(applied("a\n\nb\n", "@@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+B\r\n"), "a\n\nB\n");
}

#[test]
fn a_blank_line_after_a_short_hunk_is_context_or_not() {
    let patch = "@@ -1,2 +1,2 @@\n-a\n+A\n\n";
    assert_eq!(applied("a\nb\n", patch), "A\nb\n");
    assert_eq!(applied("a\n\nb\n", patch), "A\n\nb\n");
    // Where the header says wins over a place far away that has the blank line.
    assert_eq!(applied("a\nb\na\n\n", patch), "A\nb\na\n\n");
}
