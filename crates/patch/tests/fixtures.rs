//! Patches made and judged by other programs: jsdiff 9 and Git (see `make-fixtures.mjs`). Each
//! patch that this crate once got wrong is a case of its own kind.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use serde_json::Value;
use toolwright_patch::{PatchError, apply};

struct Case {
    kind: String,
    file: String,
    patch: String,
    /// `None` where the other program refuses.
    expected: Option<String>,
}

fn cases(json: &str) -> Vec<Case> {
    let list: Vec<Value> = serde_json::from_str(json).unwrap();
    let text = |case: &Value, name: &str| case[name].as_str().map(str::to_owned);
    list.iter()
        .map(|case| Case {
            kind: text(case, "kind").unwrap(),
            file: text(case, "file").unwrap(),
            patch: text(case, "patch").unwrap(),
            expected: text(case, "expected"),
        })
        .collect()
}

fn outcome(case: &Case) -> Result<String, PatchError> {
    apply(case.file.as_bytes(), &case.patch)
        .map(|applied| String::from_utf8(applied.bytes).unwrap())
}

#[test]
fn jsdiff_gives_the_same() {
    let cases = cases(include_str!("fixtures/jsdiff.json"));
    assert_eq!(cases.len(), 230);
    let mut applied = 0;
    for case in &cases {
        match (outcome(case), &case.expected) {
            (Ok(ours), Some(theirs)) => {
                assert_eq!(ours, *theirs, "{}\n{:?}\n{}", case.kind, case.file, case.patch);
                applied += 1;
            }
            (Err(_), None) => {}
            // Of two places equally near, jsdiff takes the later one.
            (Err(PatchError::Ambiguous { .. }), Some(_)) => assert_ne!(case.kind, "made"),
            (Ok(_), None) if case.kind == "short" => {}
            (ours, theirs) => {
                panic!("{}: {ours:?}, not {theirs:?}\n{:?}\n{}", case.kind, case.file, case.patch)
            }
        }
    }
    assert!(applied > 150, "{applied}");
}

#[test]
fn git_diffs_apply() {
    let cases = cases(include_str!("fixtures/git.json"));
    assert_eq!(cases.len(), 60);
    for case in &cases {
        assert_eq!(outcome(case).ok(), case.expected, "{:?}\n{}", case.file, case.patch);
    }
}
