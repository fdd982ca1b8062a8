//! Any JSON for a set of capabilities, and anything that may be asked of it.
//!
//! The laws: it is compiled or refused, in time; what it says of itself is a set again; and two sets
//! together allow nothing that one of them does not.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use toolwright_policy::{
    Access, Declared, Effective, Host, RequirementSet, Union, Variables, shell,
};

fn compile(set: RequirementSet, variables: &Variables) -> Option<Union> {
    Union::compile(&[Declared { origin: "fuzz".to_owned(), set }], variables).ok()
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (json, asked) = text.split_once('\u{1}').unwrap_or((&text, "a/b"));
    let Ok(value) = serde_json::from_str::<serde_json::Value>(json) else { return };
    let Ok(set) = RequirementSet::parse("fuzz", &value) else { return };
    let variables = Variables { workspace: vec!["/w".into()], ..Variables::default() };
    let Some(union) = compile(set, &variables) else { return };
    let expanded = serde_json::to_value(union.expanded()).expect("a set is JSON");
    assert!(RequirementSet::parse("fuzz", &expanded).is_ok(), "{expanded}");
    let nothing = compile(RequirementSet::default(), &variables).expect("nothing is a set");
    let alone = Effective::new(vec![union.clone()]);
    let both = Effective::new(vec![union, nothing]);
    let path = format!("/w/{asked}");
    for access in [Access::Read, Access::Write] {
        let path = Path::new(&path);
        if alone.allows_path(access, path) {
            let directory = path.parent().unwrap_or(path);
            assert!(alone.allows_below(access, directory), "{path:?} is not found on the way down");
        }
        assert!(!both.allows_path(access, path));
    }
    if let Some(host) = Host::parse(asked) {
        let _ = alone.allows_host(&host);
        assert!(!both.allows_host(&host));
    }
    for command in &shell::parse(asked, None).commands {
        let _ = alone.allows_command(command);
        assert!(!both.allows_command(command));
    }
    let _ = alone.allows_capability(asked);
    let _ = (alone.roots(), alone.grants());
});
