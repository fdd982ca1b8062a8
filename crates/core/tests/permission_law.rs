//! The permission law: examples of each clause, and laws over random chains of rules.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_core::access::permission::{Call, CallVerdict, Strictness, Touched, decide};
use toolwright_policy::{Action, Resource, Rule, Rules, Source, Subject, Variables};

/// `manifest fs.write **/*.lock deny`: the pattern is what stands between.
fn rule(text: &str) -> Rule {
    let words: Vec<&str> = text.split(' ').collect();
    let [source, permission, pattern @ .., action] = words.as_slice() else {
        panic!("no rule: {text}");
    };
    Rule {
        permission: (*permission).to_owned(),
        pattern: pattern.join(" "),
        action: match *action {
            "allow" => Action::Allow,
            "deny" => Action::Deny,
            _ => Action::Ask,
        },
        source: match *source {
            "manifest" => Source::Manifest,
            "project" => Source::Project,
            _ => Source::Session,
        },
    }
}

fn compiled(rules: &[Rule]) -> Arc<Rules> {
    let variables = Variables { workspace: vec!["/w".into()], ..Variables::default() };
    Arc::new(Rules::compile(rules, &variables).unwrap())
}

fn chain(lists: &[&[&str]]) -> Vec<Arc<Rules>> {
    let list = |rules: &&[&str]| rules.iter().map(|text| rule(text)).collect::<Vec<_>>();
    lists.iter().map(|rules| compiled(&list(rules))).collect()
}

fn file(path: &str) -> Touched<'_> {
    let subject = Subject { capability: "fs.read", resource: Resource::Path(Path::new(path)) };
    Touched { subject, is_implicit: false, exempt: &[] }
}

fn own_file(path: &str) -> Touched<'_> {
    Touched { is_implicit: true, ..file(path) }
}

fn line<'a>(text: &'a str, exempt: &'a [String]) -> Touched<'a> {
    let subject = Subject { capability: "shell.run", resource: Resource::Command(text, None) };
    Touched { subject, is_implicit: false, exempt }
}

fn call<'a>(tool: &'a str, touched: &'a [Touched<'a>]) -> Call<'a> {
    Call { tool, touched, requires_nothing: false }
}

fn read(lists: &[&[&str]], path: &str) -> CallVerdict {
    decide(&chain(lists), &call("read", &[file(path)]))
}

fn strictness(lists: &[&[&str]]) -> Strictness {
    read(lists, "/w/a").strictness
}

#[test]
fn one_list_decides_by_itself() {
    use Strictness::{Allow, AskByRule, AskUnmentioned, Deny, FinalDeny};
    assert_eq!(strictness(&[&[]]), AskUnmentioned);
    assert_eq!(strictness(&[&["session read a allow"]]), Allow);
    assert_eq!(strictness(&[&["session read a ask"]]), AskByRule);
    assert_eq!(strictness(&[&["session read a deny"]]), Deny);
    assert_eq!(strictness(&[&["manifest read a deny"]]), FinalDeny);
    assert_eq!(strictness(&[]), AskUnmentioned, "without any list nothing is allowed");
}

#[test]
fn each_strictness_has_its_action() {
    let actions = [
        (Strictness::Allow, Action::Allow),
        (Strictness::AskUnmentioned, Action::Ask),
        (Strictness::AskByRule, Action::Ask),
        (Strictness::Deny, Action::Deny),
        (Strictness::FinalDeny, Action::Deny),
    ];
    for (strictness, action) in actions {
        assert_eq!(strictness.action(), action);
    }
}

#[test]
fn the_strictest_list_of_a_chain_counts() {
    let allow: &[&str] = &["manifest read ** allow"];
    let ask: &[&str] = &["manifest read ** ask"];
    let deny: &[&str] = &["session read ** deny"];
    assert_eq!(strictness(&[allow, ask]), Strictness::AskByRule);
    assert_eq!(strictness(&[ask, allow]), Strictness::AskByRule);
    assert_eq!(strictness(&[allow, allow, deny]), Strictness::Deny);
    assert_eq!(strictness(&[deny, allow, allow]), Strictness::Deny);
    assert_eq!(strictness(&[&[], ask]), Strictness::AskByRule, "a rule is stricter than none");
    assert_eq!(strictness(&[deny, &["manifest read ** deny"]]), Strictness::FinalDeny);
    assert_eq!(read(&[allow, deny], "/w/a").level, 1);
    assert_eq!(read(&[deny, deny], "/w/a").level, 0, "of equals the nearest is named");
}

#[test]
fn an_agreement_answers_what_the_sessions_above_ask() {
    let agreed: &[&str] = &["session read ** allow"];
    let by_manifest: &[&str] = &["manifest read ** allow"];
    let ask: &[&str] = &["manifest read ** ask"];
    let deny: &[&str] = &["session read ** deny"];
    assert_eq!(strictness(&[agreed, ask]), Strictness::Allow);
    assert_eq!(strictness(&[agreed, &[]]), Strictness::Allow, "also where no rule mentions it");
    assert_eq!(strictness(&[by_manifest, ask]), Strictness::AskByRule, "a manifest is no user");
    assert_eq!(strictness(&[agreed, deny]), Strictness::Deny, "a deny is no question");
    assert_eq!(strictness(&[ask, agreed]), Strictness::AskByRule, "nor does it reach downwards");
}

#[test]
fn an_agreement_with_a_parent_answers_its_grandparent() {
    let allow: &[&str] = &["manifest read ** allow"];
    let agreed: &[&str] = &["session read ** allow"];
    let ask: &[&str] = &["manifest read ** ask"];
    assert_eq!(strictness(&[allow, agreed, ask]), Strictness::Allow);
    assert_eq!(strictness(&[allow, ask, agreed]), Strictness::AskByRule);
    assert_eq!(strictness(&[agreed, ask, ask]), Strictness::Allow);
}

#[test]
fn an_own_question_is_not_answered_by_a_wider_agreement() {
    let lists: &[&[&str]] = &[&["manifest read a ask", "session read ** allow"], &[]];
    let verdict = read(lists, "/w/a");
    assert_eq!(verdict.strictness, Strictness::AskByRule);
    assert!(verdict.user_allows, "the watchdog's question is answered all the same");
}

#[test]
fn a_user_allows_only_what_every_list_lets_the_user_allow() {
    let agreed: &[&str] = &["session read ** allow"];
    let by_manifest: &[&str] = &["manifest read ** allow"];
    assert!(read(&[agreed], "/w/a").user_allows);
    assert!(!read(&[by_manifest], "/w/a").user_allows);
    assert!(read(&[agreed, agreed], "/w/a").user_allows);
    assert!(!read(&[agreed, by_manifest], "/w/a").user_allows);
    assert!(!read(&[by_manifest, agreed], "/w/a").user_allows);
    assert!(read(&[agreed, &["manifest read ** ask"]], "/w/a").user_allows);
}

#[test]
fn a_tool_that_requires_nothing_needs_no_rule() {
    let note = |lists: &[&[&str]], requires_nothing| {
        let call = Call { tool: "note", touched: &[], requires_nothing };
        decide(&chain(lists), &call).strictness
    };
    assert_eq!(note(&[&[]], true), Strictness::Allow);
    assert_eq!(note(&[&[]], false), Strictness::AskUnmentioned);
    assert_eq!(note(&[&[], &[]], true), Strictness::Allow);
    assert_eq!(note(&[&["session note * ask"]], true), Strictness::AskByRule);
    assert_eq!(note(&[&[], &["session note * allow"]], true), Strictness::Allow);
    assert_eq!(note(&[&[], &["session note * allow"]], false), Strictness::AskUnmentioned);
    assert_eq!(note(&[&["manifest note * allow"], &[]], true), Strictness::Allow);
    assert_eq!(note(&[&["manifest note * allow"], &[]], false), Strictness::AskUnmentioned);
    assert_eq!(note(&[&[], &["session note * ask"]], true), Strictness::AskByRule);
    assert_eq!(note(&[&[], &["session note * deny"], &[]], true), Strictness::Deny);
}

#[test]
fn what_a_tool_touches_needs_a_rule_also_where_it_requires_nothing() {
    let touched = [file("/w/a")];
    let call = Call { tool: "note", touched: &touched, requires_nothing: true };
    assert_eq!(decide(&chain(&[&[]]), &call).strictness, Strictness::AskUnmentioned);
    assert_eq!(decide(&chain(&[&[], &[]]), &call).strictness, Strictness::AskUnmentioned);
}

#[test]
fn a_session_s_own_files_need_no_rule_and_only_a_manifest_closes_them() {
    let own = [own_file("/w/a")];
    let decide = |lists: &[&[&str]]| decide(&chain(lists), &call("read", &own));
    let open = decide(&[&["session read ** deny"], &["project read ** deny"]]);
    assert_eq!(open.strictness, Strictness::Allow);
    assert!(open.user_allows && !open.is_matched && open.decisive.is_none());
    for lists in [
        [&["manifest read a deny"][..], &[][..], &[][..]],
        [&["session read a deny"][..], &["manifest read a deny"][..], &[][..]],
        [&[][..], &[][..], &["manifest read a deny"][..]],
    ] {
        let closed = decide(&lists);
        assert_eq!(closed.strictness, Strictness::FinalDeny, "{lists:?}");
        assert!(closed.is_matched && !closed.user_allows);
        let level = lists.iter().position(|list| list.iter().any(|it| it.starts_with("manifest")));
        assert_eq!((Some(closed.level), closed.decisive), (level, Some(0)));
    }
}

#[test]
fn a_command_in_an_own_directory_needs_a_rule_all_the_same() {
    let touched = [Touched { is_implicit: true, ..line("ls", &[]) }];
    let decide = |rules| decide(&chain(&[rules]), &call("bash", &touched)).strictness;
    assert_eq!(decide(&[]), Strictness::AskUnmentioned);
    assert_eq!(decide(&["session bash ls deny"]), Strictness::Deny);
}

#[test]
fn other_files_of_the_same_call_are_decided_by_rules() {
    let rules = chain(&[&["session read b allow", "session read c deny"]]);
    let decide = |paths: [&'static str; 2]| {
        let touched = [own_file(paths[0]), file(paths[1])];
        decide(&rules, &call("read", &touched)).strictness
    };
    assert_eq!(decide(["/w/c", "/w/b"]), Strictness::Allow);
    assert_eq!(decide(["/w/b", "/w/c"]), Strictness::Deny);
    let closed = chain(&[&["manifest read a deny", "session read b allow"]]);
    let touched = [own_file("/w/a"), file("/w/b")];
    let verdict = read_all(&closed, &touched);
    assert_eq!(verdict.strictness, Strictness::FinalDeny);
}

fn read_all(rules: &[Arc<Rules>], touched: &[Touched<'_>]) -> CallVerdict {
    decide(rules, &call("read", touched))
}

#[test]
fn the_first_of_the_strictest_subjects_is_decisive() {
    let rules = chain(&[&["session read a allow", "session read b deny", "session read c deny"]]);
    let touched = [file("/w/a"), file("/w/b"), file("/w/c")];
    assert_eq!(read_all(&rules, &touched).decisive, Some(1));
    assert_eq!(read_all(&rules, &touched[..1]).decisive, Some(0));
}

#[test]
fn an_exempt_command_needs_no_rule() {
    let exempt = ["cd src".to_owned()];
    let line = |lists: &[&[&str]], text: &str, exempt: &[String]| {
        let touched = [line(text, exempt)];
        decide(&chain(lists), &call("bash", &touched))
    };
    let git: &[&str] = &["session bash git* allow"];
    let verdict = line(&[git], "cd src && git status", &exempt);
    assert_eq!(verdict.strictness, Strictness::Allow);
    assert!(verdict.user_allows && verdict.is_matched);
    assert_eq!(verdict.decisive, Some(0));
    assert_eq!(line(&[git], "cd src && git status", &[]).strictness, Strictness::AskUnmentioned);
    assert_eq!(
        line(&[git], "cd lib && git status", &exempt).strictness,
        Strictness::AskUnmentioned
    );
    let alone = line(&[&[]], "cd src", &exempt);
    assert_eq!(alone.strictness, Strictness::Allow);
    assert!(!alone.user_allows && !alone.is_matched);
    // A rule about it counts, and so does what is only known when it runs.
    let denied: &[&str] = &["session bash cd* deny"];
    assert_eq!(line(&[denied], "cd src", &exempt).strictness, Strictness::Deny);
    let redirected = line(&[&[]], "cd src > log", &exempt);
    assert!(redirected.decided[0].restricted.is_some(), "{redirected:?}");
    assert_eq!(redirected.strictness, Strictness::AskUnmentioned);
    let manifest: &[&str] = &["manifest bash git* allow"];
    assert!(!line(&[manifest], "cd src && git status", &exempt).user_allows);
}

#[test]
fn an_exempt_command_is_exempt_beside_other_subjects() {
    let exempt = ["cd src".to_owned()];
    let touched = [file("/w/a"), line("cd src", &exempt)];
    let rules = chain(&[&["session fs.read a allow"]]);
    assert_eq!(decide(&rules, &call("bash", &touched)).strictness, Strictness::Allow);
}

#[test]
fn an_exemption_is_for_its_own_capability() {
    let exempt = ["/w/a".to_owned()];
    let touched = [file("/w/a"), line("ls", &exempt)];
    let rules = chain(&[&["session bash ls allow"]]);
    assert_eq!(decide(&rules, &call("bash", &touched)).strictness, Strictness::AskUnmentioned);
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let source = prop_oneof![Just(Source::Manifest), Just(Source::Project), Just(Source::Session)];
    let action = prop_oneof![Just(Action::Allow), Just(Action::Ask), Just(Action::Deny)];
    let permission = prop_oneof![Just("*"), Just("fs.read"), Just("read"), Just("grep")];
    let pattern = prop_oneof![Just("**"), Just("src/**"), Just("src/a"), Just("**/a"), Just("b")];
    (source, action, permission, pattern).prop_map(|(source, action, permission, pattern)| Rule {
        permission: permission.to_owned(),
        pattern: pattern.to_owned(),
        action,
        source,
    })
}

fn any_chain() -> impl Strategy<Value = Vec<Arc<Rules>>> {
    vec(vec(any_rule(), 0..5), 1..5)
        .prop_map(|lists| lists.iter().map(|rules| compiled(rules)).collect())
}

fn any_path() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("/w/src/a"), Just("/w/src/c"), Just("/w/a"), Just("/w/b")]
}

/// The law as it reads, from the inside out: the verdict on one file with what the user agreed to.
fn specified(chain: &[Arc<Rules>], path: &str) -> (Strictness, bool) {
    let Some((own, above)) = chain.split_first() else {
        return (Strictness::Allow, true);
    };
    let ruling = own.about_path("read", "fs.read", Path::new(path));
    let here = match (ruling.action, ruling.rule, ruling.is_final) {
        (Action::Allow, ..) => Strictness::Allow,
        (Action::Ask, None, _) => Strictness::AskUnmentioned,
        (Action::Ask, Some(_), _) => Strictness::AskByRule,
        (Action::Deny, _, false) => Strictness::Deny,
        (Action::Deny, _, true) => Strictness::FinalDeny,
    };
    let (mut there, user_allows_there) = specified(above, path);
    let is_question = matches!(there, Strictness::AskUnmentioned | Strictness::AskByRule);
    let is_answered = is_question && ruling.user_allows;
    if is_answered {
        there = Strictness::Allow;
    }
    (here.max(there), ruling.user_allows && (is_answered || user_allows_there))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_chain_is_judged_as_specified(chain in any_chain(), path in any_path()) {
        let touched = [file(path)];
        let verdict = decide(&chain, &call("read", &touched));
        prop_assert_eq!((verdict.strictness, verdict.user_allows), specified(&chain, path));
    }

    #[test]
    fn the_deciding_list_says_what_was_decided(chain in any_chain(), path in any_path()) {
        let touched = [file(path)];
        let verdict = decide(&chain, &call("read", &touched));
        let alone = decide(&chain[verdict.level..=verdict.level], &call("read", &touched));
        prop_assert_eq!(verdict.strictness, alone.strictness);
        prop_assert_eq!(verdict.is_matched, alone.is_matched);
        let decisive = verdict.decisive.map(|index| verdict.decided[index].ruling.action);
        prop_assert_eq!(decisive, Some(verdict.strictness.action()));
    }

    #[test]
    fn a_session_below_never_gets_more_than_the_user_agrees_to(
        chain in any_chain(),
        own in vec(any_rule(), 0..5),
        path in any_path(),
    ) {
        let touched = [file(path)];
        let parent = decide(&chain, &call("read", &touched));
        let mut longer = vec![compiled(&own)];
        longer.extend(chain);
        let child = decide(&longer, &call("read", &touched));
        let own = decide(&longer[..1], &call("read", &touched));
        let is_answered = parent.strictness.action() == Action::Ask && own.user_allows;
        prop_assert!(child.strictness >= parent.strictness || is_answered);
        prop_assert!(child.strictness >= own.strictness);
    }

    #[test]
    fn more_subjects_are_never_less_strict(chain in any_chain(), a in any_path(), b in any_path()) {
        let both = [file(a), file(b)];
        let verdict = decide(&chain[..1], &call("read", &both));
        for touched in &both {
            let one = decide(&chain[..1], &call("read", &[*touched]));
            prop_assert!(verdict.strictness >= one.strictness);
            prop_assert!(one.user_allows || !verdict.user_allows);
        }
    }

    #[test]
    fn an_own_file_is_closed_by_the_manifests_alone(chain in any_chain(), path in any_path()) {
        let touched = [own_file(path)];
        let verdict = decide(&chain, &call("read", &touched));
        let is_final =
            chain.iter().any(|list| list.about_path("read", "fs.read", Path::new(path)).is_final);
        let expected = if is_final { Strictness::FinalDeny } else { Strictness::Allow };
        prop_assert_eq!(verdict.strictness, expected);
    }
}
