//! Byte order mark and text that is not UTF-8.

use super::*;

#[test]
fn the_byte_order_mark_stays_in_front() {
    let mark = '\u{feff}';
    let file = format!("{mark}a\nb\n");
    for (patch, want) in [
        ("@@ -1,2 +1,2 @@\n-a\n+A\n b\n".to_owned(), format!("{mark}A\nb\n")),
        ("@@ -1,2 +1,3 @@\n+x\n a\n b\n".to_owned(), format!("{mark}x\na\nb\n")),
        ("@@ -0,0 +1 @@\n+x\n".to_owned(), format!("{mark}x\na\nb\n")),
        (format!("@@ -1,2 +1,2 @@\n-{mark}a\n+{mark}A\n b\n"), format!("{mark}A\nb\n")),
        (format!("@@ -1,2 +1,2 @@\n-{mark}a\n+a\n b\n"), "a\nb\n".to_owned()),
        (format!("{mark}@@ -2 +2 @@\n-b\n+B\n"), format!("{mark}a\nB\n")),
    ] {
        assert_eq!(applied(&file, &patch), want, "{patch}");
    }
    assert_eq!(applied("a\n", &format!("@@ -1 +1 @@\n-a\n+{mark}a\n")), format!("{mark}a\n"));
    let twice = format!("{mark}{mark}a\nb\n");
    assert_eq!(applied(&twice, "@@ -2 +2 @@\n-b\n+B\n"), format!("{mark}{mark}a\nB\n"));
}

#[test]
fn bytes_that_are_not_utf8_are_compared_decoded_and_copied_as_they_are() {
    let patch = "@@ -1,3 +1,3 @@\n caf\u{fffd}\n-b\n+B\n na\u{fffd}ve\n";
    let new = apply(b"caf\xe9\nb\nna\xefve\n", patch).unwrap();
    assert_eq!((new.bytes.as_slice(), new.hunks), (&b"caf\xe9\nB\nna\xefve\n"[..], 1));
}

#[test]
fn bytes_that_are_not_utf8_can_be_found_and_removed() {
    let patch = "@@ -1,2 +1,1 @@\n x\n-caf\u{fffd}\n";
    assert_eq!(apply(b"a\nx\ncaf\xe9\ny\n", patch).unwrap().bytes, b"a\nx\ny\n");
}

#[test]
fn an_added_replacement_character_is_refused() {
    let error = refused("a\n", "@@ -1 +1 @@\n-a\n+caf\u{fffd}\n");
    assert_eq!(reason(&error), "replacement_character");
    assert_eq!(detail(&error, "patchLine"), Some(Detail::Number(3)));
    // also where the file has the character itself
    let patch = "@@ -1 +1 @@\n-\u{fffd}\n+\u{fffd}!\n";
    assert_eq!(reason(&refused("\u{fffd}\n", patch)), "replacement_character");
    assert_eq!(applied("\u{fffd}\na\n", "@@ -1,2 +1,2 @@\n \u{fffd}\n-a\n+b\n"), "\u{fffd}\nb\n");
}
