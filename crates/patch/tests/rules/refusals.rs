//! Patches that are refused whatever the file holds, and the reason.

use super::*;

const HUNK: &str = "@@ -1 +1 @@\n-one\n+1\n";

#[test]
fn empty() {
    all_refused("empty", FILE, &["", "\n", " \n\t\n"]);
}

#[test]
fn garbage() {
    all_refused("not_a_diff", FILE, &["hello", "- one\n+ two\n", "```\n```", "*** Begin Patch"]);
    assert!(refused(FILE, "hello").to_string().contains("it begins \"hello\""));
}

#[test]
fn no_hunks() {
    all_refused(
        "no_hunks",
        FILE,
        &["--- a/f\n+++ b/f\n", "diff --git a/f b/f\nindex 1..2\n", "Index: f\n===\n"],
    );
}

#[test]
fn a_bare_header() {
    all_refused(
        "bare_header",
        FILE,
        &["@@\n-one\n+1\n", "@@ @@\n-one\n+1\n", "@@ fn main() @@\n-one\n+1\n", "@@ ... @@\n"],
    );
}

#[test]
fn an_unreadable_header() {
    all_refused(
        "bad_header",
        FILE,
        &[
            "@@ -1,1 @@\n-one\n",
            "@@ -1 +1\n-one\n+1\n",
            "@@ -1, +1 @@\n-one\n+1\n",
            "@@ -99999999999999999999 +1 @@\n-one\n+1\n",
            "@@ -1,99999999999999999999 +1 @@\n-one\n+1\n",
        ],
    );
    let far = format!("@@ -{0},1 +{0},1 @@\n-one\n+1\n", u64::MAX);
    assert_eq!(applied(FILE, &far), FILE.replacen("one", "1", 1), "large, but a number");
}

#[test]
fn several_files() {
    let a = format!("--- a/f\n+++ b/f\n{HUNK}");
    let b = "--- a/g\n+++ b/g\n@@ -5 +5 @@\n-five\n+5\n";
    all_refused(
        "several_files",
        FILE,
        &[
            &format!("{a}{b}"),
            &format!("{a}\n{b}"),
            &format!("```diff\n{a}```\n\n```diff\n{b}```\n"),
            &format!("diff --git a/f b/f\n{a}diff --git a/g b/g\n{b}"),
            &format!("diff --git a/f b/f\nold mode 1\nnew mode 2\ndiff --git a/g b/g\n{b}"),
            &format!("{a}diff --git a/g b/g\nnew file mode 100644\n"),
            &format!("{}{b}", a.replace("-1 +1", "-1,3 +1,3")),
            &format!("{a}--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n"),
        ],
    );
}

#[test]
fn creation() {
    let patches = [
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/f b/f\nnew file mode 100644\nindex 000..e69\n",
    ];
    all_refused("creation", FILE, &patches);
}

#[test]
fn deletion() {
    all_refused(
        "deletion",
        "one\n",
        &[
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
            "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
        ],
    );
    assert_eq!(applied("one\n", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-one\n"), "", "emptied");
}

#[test]
fn renames_and_copies() {
    let with = |lines: &str| format!("diff --git a/f b/g\nsimilarity index 90%\n{lines}\n{HUNK}");
    all_refused(
        "rename",
        FILE,
        &[&with("rename from f\nrename to g"), &with("copy from f\ncopy to g")],
    );
    let prose = format!("copy from the docs, and\nrename to taste:\n{HUNK}");
    assert_eq!(applied(FILE, &prose), FILE.replacen("one", "1", 1));
}

#[test]
fn binary_patches() {
    all_refused(
        "binary",
        FILE,
        &[
            "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n",
            "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n",
        ],
    );
}

#[test]
fn mode_only_changes() {
    all_refused("mode_only", FILE, &["diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"]);
}

#[test]
fn a_patch_that_changes_nothing() {
    all_refused("no_changes", FILE, &["@@ -1,2 +1,2 @@\n one\n two\n"]);
    let rewritten = "@@ -1,2 +1,2 @@\n-one\n+one\n two\n";
    assert_eq!(applied(FILE, rewritten), FILE, "a line replaced by itself is an edit");
}

#[test]
fn a_repetitive_file_and_patch_are_given_up() {
    let file = "ab".repeat(60_000).replace('a', "a\n").replace('b', "b\n");
    let mut patch = format!("@@ -1,{0} +1,{1} @@\n", 20_001, 20_002);
    for _ in 0..10_000 {
        patch.push_str(" a\n b\n");
    }
    patch.push_str("+x\n b\n");
    assert_eq!(reason(&refused(&file, &patch)), "too_repetitive");
}
