//! Every patch that cannot be applied has a next move, of a length that a model reads.

use proptest::prelude::*;
use toolwright_core::voice::patches;

const FILE: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";
const PATCH: &str = "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

/// A patch with pieces removed, repeated or replaced.
fn damaged() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        prop::sample::select(PATCH.lines().collect::<Vec<_>>()).prop_map(str::to_owned),
        "[-+ @\\\\]?[a-z0-9,@ -]{0,12}",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn a_patch_that_fails_has_a_short_next_move(patch in damaged()) {
        if let Err(error) = toolwright_patch::apply(FILE, &patch) {
            let hint = patches::hint(&error);
            prop_assert!(!hint.is_empty());
            prop_assert!(hint.len() <= 500, "{} bytes: {hint}", hint.len());
        }
    }
}
