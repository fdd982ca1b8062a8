//! One test for each rule of the `edit` tool's contract.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

mod around_the_diff;
mod bytes;
mod counts;
mod endings;
mod final_newline;
mod placement;
mod refusals;
mod stale_context;

use toolwright_patch::{Detail, PatchError, apply, parse_patch};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

fn applied(file: &str, patch: &str) -> String {
    match apply(file.as_bytes(), patch) {
        Ok(applied) => String::from_utf8(applied.bytes).unwrap(),
        Err(error) => panic!("{error}"),
    }
}

fn refused(file: &str, patch: &str) -> PatchError {
    match apply(file.as_bytes(), patch) {
        Ok(applied) => panic!("applied: {:?}", String::from_utf8_lossy(&applied.bytes)),
        Err(error) => error,
    }
}

fn reason(error: &PatchError) -> String {
    match error.details().into_iter().find(|(name, _)| *name == "reason") {
        Some((_, Detail::Text(reason))) => reason,
        other => panic!("no reason: {other:?}"),
    }
}

fn detail(error: &PatchError, name: &str) -> Option<Detail> {
    error.details().into_iter().find(|(own, _)| *own == name).map(|(_, value)| value)
}

fn text(text: &str) -> Detail {
    Detail::Text(text.to_owned())
}

/// Every patch is refused for the given reason.
fn all_refused(why: &str, file: &str, patches: &[&str]) {
    for patch in patches {
        assert_eq!(reason(&refused(file, patch)), why, "{patch}");
    }
}
