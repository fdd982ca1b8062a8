//! Unified diffs of several files.

use super::*;

#[test]
fn git_headers_say_what_happens() {
    let patch = "From: someone\n\ndiff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@ fn f() {\n-a\n+b\ndiff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\ndiff --git a/empty b/empty\nnew file mode 100644\nindex 0..0\ndiff --git a/old b/old\ndeleted file mode 100755\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\ndiff --git a/none b/none\ndeleted file mode 100644\ndiff --git a/p q b/r\nsimilarity index 90%\nrename from p q\nrename to r\n--- a/p q\t\n+++ b/r\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/s b/t\nsimilarity index 100%\nrename from s\nrename to t\n-- \n2.45.0\n";
    assert_eq!(
        changes(patch),
        [
            updated("x.rs"),
            created("new", "1\n2"),
            created("empty", ""),
            deleted("old"),
            deleted("none"),
            moved("p q", "r"),
            moved("s", "t"),
        ]
    );
    let files = parsed(patch);
    assert_eq!(files[0].apply(b"a\nz\n").unwrap().bytes, b"b\nz\n");
    assert_eq!(files[3].apply(b"gone\n").unwrap().bytes, b"");
    assert_eq!(reason(&files[3].apply(b"gone\nkept\n").unwrap_err()), "not_emptied");
    assert_eq!(files[5].apply(b"a\n").unwrap().bytes, b"b\n");
    assert_eq!(files[6].apply(b"a\n").unwrap().bytes, b"a\n");
}

#[test]
fn plain_diffs_name_files_in_their_own_way() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (names, path) in [
        ("--- a/x\n+++ b/x\n", "x"),
        ("--- x\t2026-11-23 10:00:00\n+++ x\t2026-11-23 10:01:00\n", "x"),
        ("--- src/x\n+++ src/x\n", "src/x"),
        ("--- a/x\n+++ a/x\n", "a/x"),
        ("--- i/x\n+++ w/x\n", "x"),
        ("--- \"a/caf\\303\\251\"\n+++ \"b/caf\\303\\251\"\n", "café"),
        ("Index: x\n===================\n--- x\n+++ x\n", "x"),
    ] {
        let patch = format!(
            "{names}{hunk}{}",
            format!("{names}{hunk}").replace('x', "y").replace("caf", "y")
        );
        let files = parsed(&patch);
        assert_eq!(files[0].path, path, "{names}");
        assert_eq!(files.len(), 2, "{names}");
        assert_eq!(files[0].apply(b"a\n").unwrap().bytes, b"b\n", "{names}");
    }
}

#[test]
fn removed_and_added_lines_that_look_like_names_are_lines() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n z\n@@ -9 +9 @@\n-m\n+n\n";
    assert_eq!(
        applied("-- a/y\nz\n3\n4\n5\n6\n7\n8\nm\n", patch),
        "++ b/y\nz\n3\n4\n5\n6\n7\n8\nn\n"
    );
}

#[test]
fn wrong_counts_and_missing_numbers_are_as_in_an_edit() {
    let patch =
        "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n-two\n+2\n--- a/y\n+++ b/y\n@@\n-three\n+3\n";
    let files = parsed(patch);
    assert_eq!(files[0].apply(b"one\ntwo\n").unwrap().bytes, b"one\n2\n");
    assert_eq!(files[1].apply(b"three\n").unwrap().bytes, b"3\n");
    assert_eq!(unread("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-tw"), "cut_off");
}

#[test]
fn new_files_end_as_their_lines_do() {
    let new = |end: &str| format!("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n{end}");
    assert_eq!(changes(&new("")), [created("x", "a\r\nb\r\n")]);
    // A patch that was sent with CRLF does not ask for it.
    assert_eq!(changes(&new("").replace('\r', "").replace('\n', "\r\n")), [created("x", "a\nb\n")]);
    // One place is clear without counts.
    assert_eq!(changes("--- /dev/null\n+++ b/x\n@@\n+a\n"), [created("x", "a\n")]);
    assert_eq!(changes("--- /dev/null\n+++ b/x\n@@ -0,0 +1,9 @@\n+a\n"), [created("x", "a\n")]);
}

#[test]
fn what_is_no_change_of_text_is_refused() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let git = |lines: &str| format!("diff --git a/x b/x\n{lines}");
    for (patch, why) in [
        (git("old mode 100644\nnew mode 100755\n"), "mode"),
        (git("new file mode 100755\n"), "mode"),
        (git("new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n"), "mode"),
        (git("deleted file mode 160000\n"), "mode"),
        (git("GIT binary patch\nliteral 0\n"), "binary"),
        (git("Binary files a/x and b/x differ\n"), "binary"),
        (git("copy from x\ncopy to y\n"), "copy"),
        (git("index 1..2 100644\n"), "no_hunks"),
        (format!("--- a/x\n+++ b/y\n{hunk}"), "names_differ"),
        (
            format!("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/z\n{hunk}"),
            "names_differ",
        ),
        (hunk.to_owned(), "no_path"),
        ("--- a/x\n+++ b/x\n".to_owned(), "no_hunks"),
        (format!("--- /dev/null\n+++ /dev/null\n{hunk}"), "no_path"),
        (format!("--- /dev/null\n+++ b/x\n{hunk}"), "old_line_of_new_file"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n".to_owned(), "no_changes"),
    ] {
        assert_eq!(unread(&patch), why, "{patch}");
    }
}
