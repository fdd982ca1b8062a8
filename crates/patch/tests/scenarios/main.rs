//! Patches of several files over trees in memory. The first 23 are the situations of the scenarios
//! that Codex publishes for its `apply_patch`, written anew.
//!
//! A scenario has a tree before, and either the tree after or the code of the error and the reason
//! of the engine. After an error the tree is as it was.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::collections::BTreeMap;

use serde_json::Value;
use toolwright_patch::{Detail, FileChange, PatchError, parse_patch};

type Tree = BTreeMap<String, String>;

#[derive(Debug)]
enum Failure {
    Patch(PatchError),
    Missing,
    Directory,
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        Self::Patch(error)
    }
}

/// Applies `patch` to a copy of the tree, in the order of the patch.
fn applied(before: &Tree, patch: &str) -> Result<Tree, Failure> {
    let mut tree = before.clone();
    for file in parse_patch(patch)? {
        let below = format!("{}/", file.path);
        if before.keys().any(|path| path.starts_with(&below)) {
            return Err(Failure::Directory);
        }
        if let FileChange::Create { content } = file.change {
            tree.insert(file.path, content);
            continue;
        }
        let old = tree.remove(&file.path).ok_or(Failure::Missing)?;
        let new = String::from_utf8(file.apply(old.as_bytes())?.bytes).unwrap();
        if let FileChange::Update { move_to } = file.change {
            tree.insert(move_to.unwrap_or(file.path), new);
        }
    }
    Ok(tree)
}

fn reason(error: &PatchError) -> String {
    match error.details().into_iter().find(|(name, _)| *name == "reason") {
        Some((_, Detail::Text(reason))) => reason,
        other => panic!("no reason: {other:?}"),
    }
}

#[test]
fn every_scenario_ends_as_it_says() {
    let scenarios: Vec<Value> = serde_json::from_str(include_str!("patches.json")).unwrap();
    assert!(scenarios.len() >= 35);
    let tree = |value: &Value| -> Option<Tree> { serde_json::from_value(value.clone()).ok() };
    for scenario in &scenarios {
        let name = scenario["name"].as_str().unwrap();
        let before = tree(&scenario["before"]).unwrap();
        let result = applied(&before, scenario["patch"].as_str().unwrap());
        match (result, scenario["error"].as_str()) {
            (Ok(after), None) => assert_eq!(Some(after), tree(&scenario["after"]), "{name}"),
            (Err(Failure::Patch(error)), Some("TOOL_PATCH_FAILED")) => {
                assert_eq!(reason(&error), scenario["reason"], "{name}: {error}");
            }
            (Err(Failure::Missing), Some("TOOL_FILE_NOT_FOUND"))
            | (Err(Failure::Directory), Some("TOOL_NOT_A_FILE")) => {}
            (result, expected) => panic!("{name}: {result:?}, not {expected:?}"),
        }
    }
}
