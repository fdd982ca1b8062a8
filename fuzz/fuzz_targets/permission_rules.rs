//! Rules with any text for their patterns, and anything they may be compared with: paths, hosts,
//! command lines and names.
//!
//! The laws: a pattern is compiled or refused, in time; the order of rules does not matter; and a deny
//! of everything is final.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use toolwright_policy::{Action, Decided, Host, Resource, Rule, Rules, Source, Subject, Variables};

const PERMISSIONS: [&str; 6] = ["*", "fs.read", "fs.write", "bash", "net.fetch", "todo"];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split('\u{1}');
    let resource = parts.next().unwrap_or_default();
    let rules: Vec<Rule> = parts
        .take(16)
        .enumerate()
        .map(|(index, pattern)| Rule {
            permission: PERMISSIONS[(index + pattern.len()) % PERMISSIONS.len()].to_owned(),
            pattern: pattern.to_owned(),
            action: [Action::Allow, Action::Ask, Action::Deny][pattern.len() % 3],
            source: [Source::Manifest, Source::Project, Source::Session][index % 3],
        })
        .collect();
    let variables =
        Variables { workspace: vec!["/w".into(), "/v/a b".into()], ..Variables::default() };
    let path = format!("/{resource}");
    let subjects = [
        Subject { capability: "fs.read", resource: Resource::Path(Path::new(&path)) },
        Subject { capability: "net.fetch", resource: Resource::Host(resource) },
        Subject { capability: "shell.run", resource: Resource::Command(resource, None) },
        Subject { capability: "todo", resource: Resource::Text(resource) },
    ];
    if let Some(host) = Host::parse(resource) {
        let again = Host::parse(&host.to_string());
        assert_eq!(again.as_ref().map(Host::name), Some(host.name()), "{resource:?}");
    }
    // One that is refused must not hide the others.
    let valid: Vec<Rule> = rules
        .into_iter()
        .filter(|rule| Rules::compile(std::slice::from_ref(rule), &variables).is_ok())
        .collect();
    let compile = |rules: &[Rule]| Rules::compile(rules, &variables).expect("each is valid");
    let before = compile(&valid).evaluate("todo", &subjects);
    let reversed: Vec<Rule> = valid.iter().rev().cloned().collect();
    let after = compile(&reversed).evaluate("todo", &subjects);
    let actions = |decided: Vec<Decided>| -> Vec<Action> {
        decided.iter().map(|decided| decided.ruling.action).collect()
    };
    assert_eq!(actions(before), actions(after), "the order matters: {valid:?}");
    let everything = Rule {
        permission: "todo".to_owned(),
        pattern: "*".to_owned(),
        action: Action::Deny,
        source: Source::Manifest,
    };
    let denied = compile(&[everything]).evaluate("todo", &subjects);
    assert!(denied.iter().all(|decided| decided.ruling.action == Action::Deny));
});
