//! Where hunks go.

use super::*;

#[test]
fn a_hunk_goes_where_its_header_says() {
    let file = "x\na\nx\na\nx\n";
    assert_eq!(applied(file, "@@ -3,1 +3,1 @@\n-x\n+y\n"), "x\na\ny\na\nx\n");
}

#[test]
fn counts_left_out_are_one() {
    assert_eq!(applied("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n"), "a\nB\nc\n");
}

#[test]
fn a_hunk_is_found_above_and_below() {
    for start in [1, 2, 5, 9, 10, 400] {
        let patch = format!("@@ -{start},2 +{start},2 @@\n five\n-six\n+6\n");
        assert_eq!(applied(FILE, &patch), FILE.replace("six", "6"), "{start}");
    }
}

#[test]
fn the_nearest_of_several_places_is_taken() {
    let file = "x\n1\n2\nx\n3\n4\n5\n6\nx\n";
    let at = |line: u32| format!("@@ -{line} +{line} @@\n-x\n+y\n");
    assert_eq!(applied(file, &at(2)), file.replacen('x', "y", 1));
    assert_eq!(applied(file, &at(5)), "x\n1\n2\ny\n3\n4\n5\n6\nx\n");
    // Issue: a header far past the end picks the last place, which is the nearest.
    assert_eq!(applied(file, &at(99)), "x\n1\n2\nx\n3\n4\n5\n6\ny\n");
}

#[test]
fn two_places_equally_near_are_refused_and_named() {
    let error = refused("x\n1\n2\n3\nx\n", "@@ -3 +3 @@\n-x\n+y\n");
    assert_eq!(reason(&error), "ambiguous");
    assert!(error.to_string().contains("line 1 and at line 5"), "{error}");
    assert_eq!(detail(&error, "otherLine"), Some(Detail::Number(5)));
}

#[test]
fn a_nearer_place_wins_over_two_that_are_equally_far() {
    let file = "x\n1\nx\n2\n3\n4\nx\n";
    assert_eq!(applied(file, "@@ -4 +4 @@\n-x\n+y\n"), "x\n1\ny\n2\n3\n4\nx\n");
}

#[test]
fn an_offset_is_carried_to_the_next_hunk() {
    // Both hunks are 3 lines off; the second would be ambiguous or wrong without the carry.
    let file = "p\np\np\na\nb\nx\n1\n2\nx\n3\nx\n";
    let patch = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -6 +6 @@\n-x\n+y\n";
    assert_eq!(applied(file, patch), "p\np\np\na\nB\nx\n1\n2\ny\n3\nx\n");
}

#[test]
fn a_hunk_is_not_placed_before_the_end_of_the_one_above() {
    let file = "x\na\nx\n";
    let patch = "@@ -1 +1 @@\n-x\n+y\n@@ -1 +1 @@\n-x\n+z\n";
    assert_eq!(applied(file, patch), "y\na\nz\n");
    assert_eq!(
        reason(&refused("x\na\n", patch)),
        "out_of_order",
        "the only place is changed already"
    );
}

#[test]
fn a_hunk_may_begin_in_the_trailing_context_of_the_one_above() {
    let patch =
        "@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n@@ -2,3 +2,3 @@\n two\n three\n-four\n+4\n";
    assert_eq!(applied(FILE, patch), FILE.replace("one", "1").replace("four", "4"));
}

#[test]
fn hunks_out_of_order_are_refused() {
    let patch = "@@ -6,2 +6,2 @@\n-six\n+6\n seven\n@@ -2,2 +2,2 @@\n-two\n+2\n three\n";
    let error = refused(FILE, patch);
    assert_eq!(reason(&error), "out_of_order");
    assert!(error.to_string().contains("hunk 2 (@@ -2,2 +2,2 @@) fits at line 2"), "{error}");
}

#[test]
fn hunks_out_of_order_are_refused_even_if_a_later_place_fits() {
    let file = "x\n1\n2\n3\n4\nx\n";
    let patch = "@@ -4 +4 @@\n-3\n+33\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(reason(&refused(file, patch)), "out_of_order");
}

#[test]
fn overlapping_hunks_are_refused() {
    let patch = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n";
    assert_eq!(reason(&refused(FILE, patch)), "out_of_order");
}

#[test]
fn headers_that_all_name_line_one_go_forward() {
    let file = "a\nx\nb\nx\nc\nx\n";
    let patch = "@@ -1 +1 @@\n-x\n+1\n@@ -1 +1 @@\n-x\n+2\n@@ -1 +1 @@\n-x\n+3\n";
    assert_eq!(applied(file, patch), "a\n1\nb\n2\nc\n3\n");
}

#[test]
fn an_insertion_at_line_zero_goes_to_the_top() {
    let patch = "@@ -0,0 +1,2 @@\n+a\n+b\n";
    assert_eq!(applied("", patch), "a\nb\n");
    assert_eq!(applied("x\n", patch), "a\nb\nx\n");
    assert_eq!(applied("x", patch), "a\nb\nx");
}

#[test]
fn an_insertion_without_context_goes_after_the_named_line() {
    assert_eq!(applied("a\nb\n", "@@ -1,0 +2 @@\n+x\n"), "a\nx\nb\n");
    assert_eq!(applied("a\nb\n", "@@ -2,0 +3 @@\n+x\n"), "a\nb\nx\n");
    assert_eq!(applied("a\nb", "@@ -2,0 +3 @@\n+x\n"), "a\nb\nx");
}

#[test]
fn an_insertion_without_context_past_the_end_is_refused() {
    let error = refused("a\nb\n", "@@ -99,0 +100 @@\n+x\n");
    assert_eq!(reason(&error), "insertion_outside");
}

#[test]
fn the_blank_after_the_final_newline_can_be_trailing_context() {
    assert_eq!(applied("a\nb\n", "@@ -1,3 +1,3 @@\n a\n-b\n+c\n \n"), "a\nc\n");
    // but it is no line that could be removed or added to
    all_refused(
        "stale_context",
        "a\nb\n",
        &["@@ -2,2 +2,1 @@\n b\n-\n", "@@ -2,2 +2,3 @@\n b\n \n+c\n"],
    );
}

#[test]
fn the_nearest_place_is_taken_far_from_the_header_too() {
    let gap = |count: usize| "-\n".repeat(count);
    let patch = "@@ -500,2 +500,2 @@\n x\n-y\n+z\n";
    let file = format!("{}x\ny\n{}x\ny\n{}", gap(300), gap(500), gap(300));
    let nearest = format!("{}x\nz\n{}x\ny\n{}", gap(300), gap(500), gap(300));
    assert_eq!(applied(&file, patch), nearest);
    // 199 lines before and after
    let file = format!("{}x\ny\n{}x\ny\n", gap(300), gap(396));
    let error = refused(&file, patch);
    assert_eq!(reason(&error), "ambiguous");
    assert!(error.to_string().contains("line 301 and at line 699"), "{error}");
}
