//! A patch that ends in the middle of a line, before its last hunk has the lines of its header, is refused.

use std::ops::Range;

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

    #[test]
    fn a_cut_where_another_hunk_or_file_begins_is_refused(
        files in vec(vec(0_usize..4, 1..4), 1..4),
        at in any::<Index>(),
        crlf in any::<bool>(),
    ) {
        let lines = |range: Range<usize>, sign: &str| {
            range.map(|line| format!("{sign}line {line}\n")).collect::<Vec<_>>().concat()
        };
        let old = lines(0..60, "");
        let mut parts = Vec::new();
        for (file, hunks) in files.iter().enumerate() {
            parts.push(format!("diff --git a/f{file} b/f{file}\nindex 1234567..89abcde 100644\n--- a/f{file}\n+++ b/f{file}\n"));
            for (hunk, after) in hunks.iter().enumerate() {
                let first = hunk * 16 + after;
                let start = first + 1;
                parts.push(format!("@@ -{start},7 +{start},7 @@ fn a()\n"));
                parts.push(lines(first..first + 3, " "));
                parts.push(lines(first + 3..first + 4, "-"));
                parts.push("+new\n".to_owned());
                parts.push(lines(first + 4..first + 7, " "));
            }
        }
        let patch = parts.concat();
        let head = patch.find("+new").unwrap_or_default();
        let cut = head + at.index(patch.len() - head - 1);
        prop_assume!(!patch[..cut].ends_with('\n') && patch[cut..].matches('\n').count() > 1);
        // Behind the last line of a hunk nothing shows that more was meant.
        prop_assume!(!["\n@@", "\ndiff"].iter().any(|next| patch[cut..].starts_with(next)));
        let mut text = patch[..cut].to_owned();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        if files.len() == 1 {
            prop_assert!(apply(old.as_bytes(), &text).is_err(), "{}", text);
            prop_assert!(apply_by_content(old.as_bytes(), &text).is_err(), "{}", text);
        }
        let changes = parse_patch(&text);
        let all = changes.and_then(|files| {
            files.iter().map(|file| file.apply(old.as_bytes())).collect::<Result<Vec<_>, _>>()
        });
        prop_assert!(all.is_err(), "{}", text);
    }
}
