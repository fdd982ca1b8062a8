//! A patch that ends in the middle of a line, before its last hunk has the lines of its header, is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use toolwright_patch::{apply, apply_by_content, parse_patch};

/// A file, and a patch with counts for it.
fn file_and_patch() -> impl Strategy<Value = (String, String)> {
    let lines = vec((0_u8..5, "[a-z]{0,6}"), 3..14);
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let (mut file, mut body) = (String::new(), String::new());
        let (mut old, mut new) = (0, 0);
        for (at, (kind, word)) in lines.iter().enumerate() {
            let line = format!("{at} {word}");
            if *kind != 1 {
                file.extend([&*line, "\n"]);
                old += 1;
            }
            new += usize::from(*kind != 0);
            let sign = ["-", "+", " ", " ", " "][usize::from(*kind)];
            body.extend([sign, &line, "\n"]);
        }
        if !ends {
            file.pop();
        }
        let patch = format!("--- a/f\n+++ b/f\n@@ -1,{old} +1,{new} @@\n{body}");
        (file, patch)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_global_rejects: 20_000, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn a_cut_in_the_middle_of_a_line_is_refused(
        (file, patch) in file_and_patch(),
        at in any::<Index>(),
        fenced in any::<bool>(),
        crlf in any::<bool>(),
    ) {
        let head = patch.find("@@\n").map_or(0, |at| at + 3);
        let cut = head + at.index(patch.len() - head - 1);
        // The last line alone may be complete: only the author knows.
        prop_assume!(!patch[..cut].ends_with('\n') && patch[cut..].matches('\n').count() > 1);
        let fence = if fenced { "Here it is:\n```diff\n" } else { "" };
        let mut text = format!("{fence}{}", &patch[..cut]);
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let old = file.as_bytes();
        prop_assert!(apply(old, &text).is_err(), "{}", text);
        prop_assert!(apply_by_content(old, &text).is_err(), "{}", text);
        let files = parse_patch(&text).and_then(|files| files[0].apply(old));
        prop_assert!(files.is_err(), "{}", text);
    }
}
