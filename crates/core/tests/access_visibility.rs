//! What a search may show: exactly what `read` may read.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use toolwright_core::access::permission::{Call, Strictness, Touched, decide};
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::access::visibility::Visibility;
use toolwright_policy::{Access, Action, Resource, Rule, Rules, Source, Subject, Variables};

fn variables() -> Variables {
    Variables { workspace: vec!["/w".into()], ..Variables::default() }
}

fn policy() -> Policy {
    let set = json!({ "fs": { "read": ["{workspace}/src/**", "{workspace}/b"] } });
    let request = PolicyRequest {
        variables: variables(),
        conjunction: vec![vec![Requirements { source: "manifest.requires".to_owned(), set }]],
        implicit_read: vec!["/w/own".into()],
        closed: vec!["/w/src/closed".into()],
        ..PolicyRequest::default()
    };
    Policy::compile(&request, None).unwrap()
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let source = prop_oneof![Just(Source::Manifest), Just(Source::Project), Just(Source::Session)];
    let action = prop_oneof![Just(Action::Allow), Just(Action::Ask), Just(Action::Deny)];
    let permission = prop_oneof![Just("*"), Just("fs.read"), Just("fs.write")];
    let pattern = prop_oneof![Just("**"), Just("src/**"), Just("src/a"), Just("own/**"), Just("b")];
    (source, action, permission, pattern).prop_map(|(source, action, permission, pattern)| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source,
    })
}

const PATHS: [&str; 7] =
    ["/w/src/a", "/w/src/c", "/w/src/closed/a", "/w/b", "/w/own/a", "/w/other", "/elsewhere"];

/// Whether `read` may read a file after the user has agreed to the call, or without a question.
fn may_read(policy: &Policy, chain: &[Arc<Rules>], path: &str, is_approved: bool) -> bool {
    let real_path = Path::new(path);
    let subject = Subject { capability: "fs.read", resource: Resource::Path(real_path) };
    let is_implicit = policy.is_implicit(Access::Read, real_path);
    let touched = [Touched { subject, is_implicit, exempt: &[] }];
    let call = Call { tool: "read", touched: &touched, requires_nothing: false };
    let strictness = decide(chain, &call).strictness;
    // A file that no rule mentions was decided about with the directory.
    let is_decided = strictness == Strictness::AskUnmentioned;
    policy.allows(Access::Read, real_path)
        && match strictness.action() {
            Action::Allow => true,
            Action::Ask => is_decided || is_approved,
            Action::Deny => false,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_search_shows_exactly_what_read_may_read(
        lists in vec(vec(any_rule(), 0..5), 1..5),
        is_approved in any::<bool>(),
    ) {
        let policy = policy();
        let compile = |rules: &Vec<Rule>| Arc::new(Rules::compile(rules, &variables()).unwrap());
        let chain: Vec<Arc<Rules>> = lists.iter().map(compile).collect();
        let search = Visibility { policy: &policy, rules: &chain, tool: "grep", is_approved };
        for path in PATHS {
            let expected = may_read(&policy, &chain, path, is_approved);
            prop_assert_eq!(search.shows(Path::new(path)), expected, "{} {:?}", path, lists);
        }
    }
}

fn shows(lists: &[&[(&str, Action, Source)]], path: &str, is_approved: bool) -> bool {
    let policy = policy();
    let rule = |(pattern, action, source): &(&str, Action, Source)| Rule {
        permission: "grep".to_owned(),
        pattern: (*pattern).to_owned(),
        action: *action,
        source: *source,
    };
    let compile = |list: &&[(&str, Action, Source)]| {
        let rules: Vec<Rule> = list.iter().map(rule).collect();
        Arc::new(Rules::compile(&rules, &variables()).unwrap())
    };
    let chain: Vec<Arc<Rules>> = lists.iter().map(compile).collect();
    Visibility { policy: &policy, rules: &chain, tool: "grep", is_approved }.shows(Path::new(path))
}

#[test]
fn a_file_that_no_rule_mentions_belongs_to_its_directory() {
    assert!(shows(&[&[]], "/w/src/a", false));
    assert!(!shows(&[&[]], "/w/other", true), "capabilities come first");
    assert!(!shows(&[&[]], "/w/src/closed/a", true));
}

#[test]
fn a_question_is_answered_by_the_agreement_to_the_search() {
    let ask: &[_] = &[("src/a", Action::Ask, Source::Manifest)];
    assert!(!shows(&[ask], "/w/src/a", false));
    assert!(shows(&[ask], "/w/src/a", true));
    assert!(shows(&[ask], "/w/src/c", false));
}

#[test]
fn a_deny_is_not_answered_at_all() {
    let deny: &[_] = &[("src/a", Action::Deny, Source::Session)];
    assert!(!shows(&[deny], "/w/src/a", true));
    assert!(!shows(&[&[], &[], deny], "/w/src/a", true));
}

#[test]
fn a_grandchild_sees_what_the_user_agreed_to_with_its_parent() {
    let allow: &[_] = &[("**", Action::Allow, Source::Manifest)];
    let agreed: &[_] = &[("**", Action::Allow, Source::Session)];
    let ask: &[_] = &[("**", Action::Ask, Source::Manifest)];
    assert!(shows(&[allow, agreed, ask], "/w/src/a", false));
    assert!(!shows(&[allow, ask, agreed], "/w/src/a", false));
    assert!(!shows(&[allow, allow, ask], "/w/src/a", false));
}

#[test]
fn own_files_are_hidden_by_a_manifest_alone() {
    let deny = |source| -> [(&'static str, Action, Source); 1] { [("**", Action::Deny, source)] };
    assert!(shows(&[&deny(Source::Session), &deny(Source::Project)], "/w/own/a", false));
    assert!(!shows(&[&[], &deny(Source::Manifest)], "/w/own/a", true));
}
