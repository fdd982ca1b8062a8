//! Paths that a patch names more than once.

use super::*;

#[test]
fn sections_that_update_one_file_follow_each_other() {
    let patch = begun(
        "*** Update File: a\n@@\n-2\n+two\n*** Add File: b\n+x\n*** Update File: ./a\n@@\n-1\n+one\n@@\n-two\n+zwei\n",
    );
    let files = parsed(&patch);
    assert_eq!(files.len(), 2);
    let new = files[0].apply(b"1\n2\n").unwrap();
    assert_eq!((new.bytes.as_slice(), new.hunks), (b"one\nzwei\n".as_slice(), 3));
    // The hunks are counted through.
    let error = files[0].apply(b"2\n").unwrap_err();
    assert!(error.to_string().starts_with("hunk 2 "), "{error}");
}

#[test]
fn the_last_of_them_may_move_the_file() {
    let patch =
        begun("*** Update File: a\n@@\n-1\n+2\n*** Update File: a\n*** Move to: b\n@@\n-2\n+3\n");
    assert_eq!(changes(&patch), [moved("a", "b")]);
    assert_eq!(applied("1\n", &patch), "3\n");
}

#[test]
fn every_other_path_has_one_role() {
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-1\n+2\n");
    let add = |path: &str| format!("*** Add File: {path}\n+1\n");
    let delete = |path: &str| format!("*** Delete File: {path}\n");
    let moves = |path: &str, to: &str| format!("*** Update File: {path}\n*** Move to: {to}\n");
    for sections in [
        [add("a"), add("a")],
        [add("a"), update("a")],
        [update("a"), add("a")],
        [delete("a"), add("a")],
        [delete("a"), delete("./a")],
        [update("a"), delete("x/../a")],
        [moves("a", "b"), update("a")],
        [moves("a", "b"), update("b")],
        [moves("a", "b"), moves("b", "a")],
        [moves("a", "b"), moves("b", "c")],
        [moves("a", "c"), moves("b", "c")],
        [moves("a", "a"), add("b")],
        [delete("b"), moves("a", "b")],
    ] {
        assert_eq!(unread(&begun(&sections.concat())), "same_path", "{sections:?}");
    }
    for sections in
        [[add("a"), add("a/b")], [add("a/b/c"), delete("a")], [moves("x", "a/b"), update("a")]]
    {
        assert_eq!(unread(&begun(&sections.concat())), "file_and_directory", "{sections:?}");
    }
    let patch = begun(&[add("a"), add("ab"), add("a-b"), add("b/a"), moves("c", "d")].concat());
    assert_eq!(parsed(&patch).len(), 5);
}
