//! Where the hunks of `apply_patch` go.

use super::*;

const FILE: &str = "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 1\nclass B:\n    def f(self):\n        return 1\n";

fn place(diff: &str) -> Result<Vec<usize>, String> {
    apply_diff(FILE.as_bytes(), diff, DiffMode::Update)
        .map(|new| new.places.iter().map(|place| place.placed_at).collect())
        .map_err(|error| reason(&error))
}

#[test]
fn the_nearest_place_below_the_anchor_is_meant() {
    let hunk = "-        return 1\n+        return 2\n";
    for (anchors, line) in [
        ("@@     def g(self):", 5),
        ("@@ def g(self):", 5),
        ("@@ class B:", 8),
        ("@@ class B:\n@@     def f(self):", 8),
        ("@@ class A:\n@@ def f(self):", 3),
        ("@@ class B: @@", 8),
        ("@@ -8 +8 @@", 8),
        ("@@ -8,1 +8,1 @@ class B:", 8),
    ] {
        assert_eq!(place(&format!("{anchors}\n{hunk}")), Ok(vec![line]), "{anchors}");
    }
}

#[test]
fn two_readings_are_refused() {
    let hunk = "-        return 1\n+        return 2\n";
    for anchors in ["@@", "@@ def f(self):", "@@ not in the file", "@@ class A:"] {
        assert_eq!(
            place(&format!("{anchors}\n{hunk}")),
            Err("several_fits".to_owned()),
            "{anchors}"
        );
    }
    // The anchor of the first hunk does not hold for the second.
    let diff = format!("@@ class A:\n{hunk}@@\n{hunk}");
    assert_eq!(place(&diff), Err("several_fits".to_owned()));
    // One of the two places is left.
    assert_eq!(place(&format!("@@ def g(self):\n{hunk}@@\n{hunk}")), Ok(vec![5, 8]));
}

#[test]
fn an_anchor_that_is_not_in_the_file_is_a_remark_if_one_place_fits() {
    let hunk = "     def g(self):\n-        return 1\n+        return 2\n";
    let diff = format!("@@ some function\n{hunk}");
    assert_eq!(place(&diff), Ok(vec![4]));
    let new = apply_diff(FILE.as_bytes(), &diff, DiffMode::Update).unwrap();
    assert_eq!(
        new.summary(),
        "Applied at line 5. Hunk 1: the line after `@@` is not in the file, and one place fits, at line 4."
    );
    assert_eq!(
        place(&format!("@@ class A:\n@@ def h(self):\n{hunk}")),
        Err("anchor_missing".to_owned())
    );
}

#[test]
fn an_anchor_may_be_repeated_as_context() {
    let hunk = "     def g(self):\n-        return 1\n+        return 2\n";
    assert_eq!(place(&format!("@@     def g(self):\n{hunk}")), Ok(vec![4]));
    let hunk = "     def f(self):\n-        return 1\n+        return 2\n";
    assert_eq!(place(&format!("@@     def f(self):\n{hunk}")), Err("several_fits".to_owned()));
    assert_eq!(place(&format!("@@ class A:\n@@ def f(self):\n{hunk}")), Ok(vec![2]));
}

#[test]
fn white_space_at_the_ends_of_lines_counts_last() {
    let file = "a\n  a\n  a \nb\n";
    assert_eq!(diffed(file, "@@\n-  a\n+x\n"), Ok("a\nx\n  a \nb\n".to_owned()));
    assert_eq!(diffed(file, "@@\n-  a\t\n+x\n"), Err("several_fits".to_owned()));
    // The added lines are indented as the file is, if the difference is one.
    assert_eq!(diffed(file, "@@\n-\tb\n+\tx\n"), Ok("a\n  a\n  a \nx\n".to_owned()));
    assert_eq!(diffed(file, "@@\n-\tb\n+x\n"), Err("stale_context".to_owned()));
    assert_eq!(diffed(file, "@@\n     a \n-  b\n+  x\n"), Ok("a\n  a\n  a \nx\n".to_owned()));
    assert_eq!(diffed(file, "@@\n      a \n-  b\n+  x\n"), Err("stale_context".to_owned()));
}

#[test]
fn the_end_of_the_file_decides() {
    let file = "x\ny\nx\n";
    assert_eq!(diffed(file, "@@\n-x\n+z\n"), Err("several_fits".to_owned()));
    assert_eq!(diffed(file, "@@\n-x\n+z\n*** End of File\n"), Ok("x\ny\nz\n".to_owned()));
    let new =
        apply_diff(file.as_bytes(), "@@\n-y\n+z\n*** End of File\n", DiffMode::Update).unwrap();
    assert_eq!(
        new.summary(),
        "Applied at line 2. Hunk 1: its lines are not at the end of the file, and were found at line 2."
    );
}

#[test]
fn added_lines_alone_need_a_place() {
    let add = "+        pass\n";
    assert_eq!(place(&format!("@@ class B:\n{add}")), Ok(vec![7]));
    assert_eq!(place(&format!("@@\n{add}*** End of File\n")), Ok(vec![9]));
    assert_eq!(place(&format!("@@ -2,0 +3 @@\n{add}")), Ok(vec![3]));
    for (diff, why) in [
        (format!("@@\n{add}"), "unplaced_insertion"),
        (format!("@@ def f(self):\n{add}"), "several_fits"),
        (format!("@@ not in the file\n{add}"), "anchor_missing"),
        (format!("@@ class B:\n{add}\n\n@@\n-x\n"), "unplaced_insertion"),
        (format!("@@ -99,0 +99 @@\n{add}"), "insertion_outside"),
    ] {
        assert_eq!(place(&diff), Err(why.to_owned()), "{diff}");
    }
    assert_eq!(diffed("", "@@\n+a\n"), Ok("a\n".to_owned()));
    // The envelope appends, if it is the only hunk.
    let patch = begun("*** Update File: a\n@@\n+b\n");
    assert_eq!(applied("a", &patch), "a\nb");
    let two = begun("*** Update File: a\n@@\n-a\n+c\n@@\n+b\n");
    let error = parsed(&two)[0].apply(b"a\n").unwrap_err();
    assert_eq!(reason(&error), "unplaced_insertion");
}

#[test]
fn hunks_follow_each_other() {
    let diff = "@@\n class B:\n     def f(self):\n-        return 1\n+        return 2\n@@\n class A:\n-    def f(self):\n+    def h(self):\n";
    assert_eq!(place(diff), Err("out_of_order".to_owned()));
    let above = "@@ class B:\n     def g(self):\n-        return 1\n+        return 2\n";
    assert_eq!(place(above), Err("above_anchor".to_owned()));
}

#[test]
fn blank_lines_between_hunks_are_no_context() {
    let diff = "@@ class A:\n-    def f(self):\n+    def h(self):\n\n@@ class B:\n-    def f(self):\n+    def h(self):\n\n";
    assert_eq!(place(diff), Ok(vec![2, 7]));
}

#[test]
fn the_final_newline_stays_as_it_is() {
    assert_eq!(diffed("a\nb", "@@\n-b\n+c\n"), Ok("a\nc".to_owned()));
    assert_eq!(diffed("a\nb\n", "@@\n-b\n+c"), Ok("a\nc\n".to_owned()));
    assert_eq!(diffed("a\nb", "@@\n b\n+c\n"), Ok("a\nb\nc".to_owned()));
    assert_eq!(diffed("a\r\nb\r\n", "@@\n a\n+c\n"), Ok("a\r\nc\r\nb\r\n".to_owned()));
}

#[test]
fn lines_that_are_not_utf8_are_found_and_kept() {
    let new =
        apply_diff(b"caf\xe9 \none\n", "@@\n caf\u{fffd}\n-one\n+1\n", DiffMode::Update).unwrap();
    assert_eq!(new.bytes, b"caf\xe9 \n1\n");
}
