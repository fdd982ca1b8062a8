//! Headerless diffs as `applyDiff` of @openai/agents-core applies them (see `make-v4a-fixtures.mjs`).
//! `TOOLWRIGHT_V4A_CASES` names a file with other cases.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::collections::BTreeMap;
use std::{env, fs};

use serde_json::Value;
use toolwright_patch::{Applied, DiffMode, PatchError, apply_diff};

/// Every reason for another result than that of `applyDiff`. `docs/decisions` explains them.
const DIFFERENCES: [&str; 15] = [
    "line ends as the diff has them",
    "added lines with the file's white space",
    "indentation by more than one difference",
    "two places below an anchor",
    "added lines without a place",
    "anchor repeated as context",
    "anchors above the hunk before",
    "blank after the final newline",
    "blank lines after a hunk",
    "blank lines before the first hunk",
    "empty file",
    "end of the file changed above",
    "no change",
    "several places",
    "shared context",
];

/// How the white space around lines makes another result. See `docs/decisions`.
fn by_spacing(result: &Result<Applied, PatchError>, expected: &str) -> Option<&'static str> {
    let words = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    match result {
        Err(PatchError::StaleContext(stale)) if stale.spacing => {
            Some("indentation by more than one difference")
        }
        Err(PatchError::SeveralFits { header, .. }) if header.len() > 2 => {
            Some("two places below an anchor")
        }
        Ok(new)
            if new.bytes != expected.as_bytes()
                && str::from_utf8(&new.bytes).unwrap().replace('\r', "")
                    == expected.replace('\r', "") =>
        {
            Some("line ends as the diff has them")
        }
        Ok(new) if new.bytes != expected.as_bytes() && !new.notes().is_empty() => {
            let text = str::from_utf8(&new.bytes).unwrap();
            (words(text) == words(expected)).then_some("added lines with the file's white space")
        }
        _ => None,
    }
}

#[test]
fn the_text_of_apply_diff_or_a_difference_with_a_name() {
    let other = env::var("TOOLWRIGHT_V4A_CASES").ok();
    let json = other.as_ref().map(|path| fs::read_to_string(path).unwrap());
    let json = json.as_deref().unwrap_or(include_str!("fixtures/v4a.json"));
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(cases.len() >= 1_000);
    let mut differences: BTreeMap<&str, usize> = BTreeMap::new();
    let mut same = 0;
    let mut wrong = Vec::new();
    for case in &cases {
        let (file, diff) = (case["file"].as_str().unwrap(), case["diff"].as_str().unwrap());
        let result = apply_diff(file.as_bytes(), diff, DiffMode::Update);
        let named = case["why"].as_str();
        let expected = case[if named.is_some() { "ours" } else { "expected" }].as_str();
        if let Some(why) = expected.and_then(|expected| by_spacing(&result, expected)) {
            *differences.entry(why).or_default() += 1;
            continue;
        }
        match named {
            Some(why) => {
                assert!(DIFFERENCES.contains(&why), "{why}");
                *differences.entry(why).or_default() += 1;
            }
            None => same += usize::from(expected.is_some()),
        }
        let text = result.as_ref().ok().map(|new| str::from_utf8(&new.bytes).unwrap());
        if text != expected {
            wrong.push(format!("{named:?}: {result:?}\nnot {expected:?}\n{file:?}\n{diff}"));
        }
    }
    eprintln!("{same} with the same text; {differences:?}");
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.into_iter().take(8).collect::<Vec<_>>().join("\n\n")
    );
    assert!(same * 4 > cases.len(), "{same}");
}

#[test]
fn the_names_of_a_unified_diff_are_passed_over() {
    let diff = "--- a/src/app.ts\n+++ b/src/app.ts\n@@ -2,1 +2,1 @@\n-two\n+2\n";
    let applied = apply_diff(b"one\ntwo\n", diff, DiffMode::Update).unwrap();
    assert_eq!(applied.bytes, b"one\n2\n");
    // Without the second name, the first is a removed line.
    let diff = "--- a\n+2\n";
    assert_eq!(apply_diff(b"-- a\n", diff, DiffMode::Update).unwrap().bytes, b"2\n");
}
