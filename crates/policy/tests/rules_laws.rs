//! Laws of permission rules, whatever the rules are.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[expect(dead_code, reason = "the examples use the rest of it")]
mod support;

use proptest::prelude::*;
use support::{call, strictest, user_allows, variables};
use toolwright_policy::{Action, Rule, Rules, Source};

fn any_rule() -> impl Strategy<Value = Rule> {
    let source = prop_oneof![Just(Source::Manifest), Just(Source::Project), Just(Source::Session)];
    let action = prop_oneof![Just(Action::Allow), Just(Action::Ask), Just(Action::Deny)];
    let permission =
        prop_oneof![Just("*"), Just("fs.write"), Just("write"), Just("bash"), Just("read")];
    let pattern = prop_oneof![
        Just("*"),
        Just("**"),
        Just("src/**"),
        Just("src/*"),
        Just("src/a"),
        Just("**/a"),
        Just("?*"),
        Just("/w/src/**"),
        Just("{workspace}"),
        Just("git*"),
        Just("git status"),
        Just("s*"),
    ];
    (source, action, permission, pattern).prop_map(|(source, action, permission, pattern)| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source,
    })
}

fn any_call() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("write src/a"),
        Just("write b"),
        Just("edit src/a"),
        Just("read src/a"),
        Just("bash git status"),
        Just("bash git status; ls $X"),
        Just("todo"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_rules_does_not_matter(
        mut rules in proptest::collection::vec(any_rule(), 0..8),
        what in any_call(),
        seed in any::<u64>(),
    ) {
        let before = call(&Rules::compile(&rules, &variables()).unwrap(), what);
        let mut state = seed | 1;
        for at in (1..rules.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            rules.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        let after = call(&Rules::compile(&rules, &variables()).unwrap(), what);
        prop_assert_eq!(strictest(&before), strictest(&after));
        prop_assert_eq!(user_allows(&before), user_allows(&after));
    }

    #[test]
    fn a_deny_of_the_manifest_never_widens(
        rules in proptest::collection::vec(any_rule(), 0..8),
        mut deny in any_rule(),
        what in any_call(),
    ) {
        deny.action = Action::Deny;
        deny.source = Source::Manifest;
        let before = call(&Rules::compile(&rules, &variables()).unwrap(), what);
        let mut more = rules;
        more.push(deny);
        let after = call(&Rules::compile(&more, &variables()).unwrap(), what);
        prop_assert!(strictest(&after) >= strictest(&before));
    }

    #[test]
    fn rules_of_others_never_lift_a_deny_of_the_manifest(
        rules in proptest::collection::vec(any_rule(), 0..8),
        what in any_call(),
    ) {
        let manifest: Vec<Rule> =
            rules.iter().filter(|rule| rule.source == Source::Manifest).cloned().collect();
        let alone = call(&Rules::compile(&manifest, &variables()).unwrap(), what);
        let all = call(&Rules::compile(&rules, &variables()).unwrap(), what);
        if strictest(&alone) == Action::Deny {
            prop_assert_eq!(strictest(&all), Action::Deny);
        }
    }

    #[test]
    fn the_named_rule_says_what_was_decided(
        rules in proptest::collection::vec(any_rule(), 0..8),
        what in any_call(),
    ) {
        for decided in call(&Rules::compile(&rules, &variables()).unwrap(), what) {
            prop_assert_eq!(
                decided.ruling.action,
                decided.ruling.rule.map_or(Action::Ask, |index| rules[index].action)
            );
        }
    }

    #[test]
    fn more_commands_are_never_less_strict(
        rules in proptest::collection::vec(any_rule(), 0..8),
        separator in prop_oneof![Just("; "), Just(" && "), Just(" | "), Just("\n"), Just(" & ")],
    ) {
        let rules = Rules::compile(&rules, &variables()).unwrap();
        let one = strictest(&call(&rules, "bash git status"));
        let two = strictest(&call(&rules, &format!("bash git status{separator}rm x")));
        prop_assert!(two >= one);
    }
}
