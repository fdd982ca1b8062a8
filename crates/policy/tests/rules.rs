//! Permission rules: the worked examples as data, and what each requirement says.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::path::Path;

use support::{action, call, compiled, rule, strictest, user_allows, variables};
use toolwright_policy::{Action, Resource, Rules, Subject, Variables};

/// Number, rules, calls with what becomes of them.
type Example = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const EXAMPLES: &[Example] = &[
    (
        "1",
        &["manifest fs.write **/*.lock deny", "session edit ** allow"],
        &[("edit yarn.lock", "deny")],
    ),
    (
        "2",
        &["manifest bash * ask", "project bash git status* allow"],
        &[("bash git status -s", "allow")],
    ),
    (
        "3",
        &["manifest bash * ask", "project bash git status* allow"],
        &[("bash git status; rm -rf x", "ask")],
    ),
    (
        "4",
        &["manifest fs.write ** allow", "project fs.write src/gen/** deny"],
        &[("write src/gen/a.ts", "deny"), ("write src/a.ts", "allow")],
    ),
    (
        "5",
        &["project fs.write src/** deny", "session fs.write src/a.ts allow"],
        &[("write src/a.ts", "allow"), ("write src/b.ts", "deny")],
    ),
    (
        "6",
        &[
            "manifest fs.write ** deny",
            "manifest fs.write docs/** allow",
            "session fs.write src/** allow",
        ],
        &[("write docs/a", "allow"), ("write src/a", "deny")],
    ),
    ("7", &[], &[("read a", "ask")]),
    (
        "8",
        &["project net.fetch *.example.com allow"],
        &[
            ("web_fetch a.example.com", "allow"),
            ("web_fetch evil.test", "ask"),
            ("web_fetch example.com", "ask"),
        ],
    ),
    ("9", &["session read ** allow"], &[("read a", "allow")]),
];

#[test]
fn the_worked_examples() {
    for (number, rules, calls) in EXAMPLES {
        let rules = compiled(rules);
        for (what, expected) in *calls {
            let decided = call(&rules, what);
            assert_eq!(strictest(&decided), action(expected), "{number}: {what}: {decided:?}");
        }
    }
}

#[test]
fn rules_for_bash_judge_the_lines_of_processes_and_nothing_else_of_them() {
    let rules = compiled(&[
        "project bash npm * allow",
        "project bash rm * deny",
        "project shell.run ls * ask",
        "session process_start npm publish* deny",
    ]);
    let decide = |tool: &str, capability: &str, line: &str| {
        let resource = Resource::Command(line, None);
        strictest(&rules.evaluate(tool, &[Subject { capability, resource }]))
    };
    for tool in ["process_start", "process_write"] {
        assert_eq!(decide(tool, "shell.run", "npm run dev"), Action::Allow, "{tool}");
        assert_eq!(decide(tool, "shell.run", "npm run dev; rm -rf x"), Action::Deny, "{tool}");
        assert_eq!(decide(tool, "shell.run", "ls -l"), Action::Ask, "{tool}");
        assert_eq!(decide(tool, "other", "npm run dev"), Action::Ask, "{tool}");
    }
    assert_eq!(decide("process_start", "shell.run", "npm publish"), Action::Deny);
    assert_eq!(decide("process_write", "shell.run", "npm publish"), Action::Allow);
    assert_eq!(decide("a_tool_of_a_host", "shell.run", "npm run dev"), Action::Ask);
}

#[test]
fn one_denied_path_denies_the_whole_call() {
    let rules = compiled(&["manifest fs.write ok/** allow", "manifest fs.write no/** deny"]);
    let paths = [Path::new("/w/ok/a"), Path::new("/w/no/b"), Path::new("/w/ok/c")];
    let subjects =
        paths.map(|path| Subject { capability: "fs.write", resource: Resource::Path(path) });
    let decided = rules.evaluate("apply_patch", &subjects);
    let actions: Vec<Action> = decided.iter().map(|decided| decided.ruling.action).collect();
    assert_eq!(actions, [Action::Allow, Action::Deny, Action::Allow]);
    assert_eq!(decided[1].ruling.rule, Some(1));
    assert!(decided[1].ruling.is_final);
}

#[test]
fn a_rule_is_for_the_tool_the_capability_or_everything() {
    for permission in ["write", "fs.write", "*"] {
        let rules = compiled(&[&format!("session {permission} src/** allow")]);
        assert_eq!(strictest(&call(&rules, "write src/a")), Action::Allow, "{permission}");
    }
    for permission in ["edit", "fs.read", "fs", "Write"] {
        let rules = compiled(&[&format!("session {permission} src/** allow")]);
        let ruling = call(&rules, "write src/a")[0].ruling;
        assert_eq!((ruling.action, ruling.rule), (Action::Ask, None), "{permission}");
    }
}

#[test]
fn only_the_manifest_makes_exceptions_from_its_denies() {
    let deny = "manifest fs.write ** deny";
    for other in ["session", "project"] {
        let exact = format!("{other} write src/a.ts allow");
        let ruling = call(&compiled(&[deny, &exact]), "write src/a.ts")[0].ruling;
        assert_eq!(ruling.action, Action::Deny);
        assert!(ruling.is_final && !ruling.user_allows);
        assert_eq!(ruling.rule, Some(0), "the manifest's rule is named");
    }
    let decided = call(&compiled(&[deny, "manifest fs.write src/** ask"]), "write src/a.ts");
    assert_eq!(strictest(&decided), Action::Ask);
    // What the manifest asks about, others may decide.
    let rules = compiled(&[deny, "manifest fs.write src/** ask", "session fs.write src/** allow"]);
    assert_eq!(strictest(&call(&rules, "write src/a.ts")), Action::Allow);
}

#[test]
fn the_most_specific_rule_wins() {
    for (loser, winner) in [
        ("session fs.write src/a* deny", "project fs.write src/a.ts allow"), // exact
        ("session fs.write src/** deny", "manifest fs.write src/gen/** allow"), // more literals
        ("session fs.write src/*/?.ts deny", "manifest fs.write src/*/a.ts allow"),
        ("session fs.write src/?.*s deny", "manifest fs.write src/*ts allow"),
        ("session fs.write src/* deny", "manifest write src/* allow"), // the tool before the capability
        ("session * src/* deny", "manifest fs.write src/* allow"),
        ("session fs.write ** deny", "manifest fs.write {workspace}/** allow"),
        ("session fs.write src/** deny", "manifest fs.write /w/src/** ask"), // the same: deny first
    ] {
        let (a, b) = (rule(loser), rule(winner));
        let rules = compiled(&[loser, winner]);
        let decided = call(
            &rules,
            if loser.contains("gen") || winner.contains("gen") {
                "write src/gen/a.ts"
            } else if winner.contains("/*/") || loser.contains("/*/") {
                "write src/x/a.ts"
            } else {
                "write src/a.ts"
            },
        );
        let expected = if b.action == Action::Ask { a.action } else { b.action };
        assert_eq!(strictest(&decided), expected, "{loser} / {winner}: {decided:?}");
    }
}

#[test]
fn a_root_is_no_more_specific_when_it_is_written_out() {
    // The absolute form of a broad pattern does not beat a narrower relative one.
    let rules = compiled(&["project fs.write src/gen/** deny", "session fs.write /w/src/** allow"]);
    assert_eq!(strictest(&call(&rules, "write src/gen/a")), Action::Deny);
    assert_eq!(strictest(&call(&rules, "write src/a")), Action::Allow);
}

#[test]
fn ties_go_to_deny_then_to_the_nearer_scope_then_to_ask() {
    for (rules, expected) in [
        (["session bash ls* allow", "project bash ls* deny"], "deny"),
        (["project bash ls* ask", "session bash ls* allow"], "allow"), // a stored "always"
        (["session bash ls* ask", "project bash ls* allow"], "ask"),
        (["manifest bash ls* ask", "project bash ls* allow"], "allow"),
        (["session bash ls* allow", "session bash ls* ask"], "ask"),
    ] {
        assert_eq!(
            strictest(&call(&compiled(&rules), "bash ls -l")),
            action(expected),
            "{rules:?}"
        );
    }
}

#[test]
fn what_no_rule_matches_is_asked_about() {
    let ruling = call(&compiled(&["session bash ls* allow"]), "todo")[0].ruling;
    assert_eq!((ruling.action, ruling.rule), (Action::Ask, None));
    assert_eq!(strictest(&call(&compiled(&["session todo * deny"]), "todo")), Action::Deny);
    assert_eq!(compiled(&[]).evaluate("x", &[]), []);
}

#[test]
fn each_subject_is_decided_by_itself() {
    let rules = compiled(&["session fs.read ** allow", "session fs.write ** ask"]);
    let actions: Vec<Action> =
        call(&rules, "edit a").iter().map(|decided| decided.ruling.action).collect();
    assert_eq!(actions, [Action::Allow, Action::Ask]);
    let rules = compiled(&["session bash ls allow", "session bash rm* deny"]);
    assert_eq!(strictest(&call(&rules, "bash ls; cat x; rm y")), Action::Deny);
}

#[test]
fn a_pattern_is_never_compared_with_raw_text() {
    let rules = compiled(&["session bash git status* allow", "session bash echo * allow"]);
    for (line, expected) in [
        ("git   status\t-s", "allow"),
        ("git 'status' -s", "allow"),
        ("echo a && git status", "allow"),
        ("'git status'", "ask"),
        ("git\\ status -s", "ask"),
        ("git status > /etc/x", "ask"),
        ("git status >&2 2>/dev/null", "allow"),
        ("git status $(rm -rf x)", "ask"),
        ("git status `rm`", "ask"),
        ("git status & rm x", "ask"),
        ("git status | rm x", "ask"),
        ("git status\nrm x", "ask"),
        ("(git status; rm x)", "ask"),
        ("if git status; then rm x; fi", "ask"),
        ("f() { rm x; }; git status", "ask"),
        ("echo \"$(rm x)\"", "ask"),
        ("echo ${x:-$(rm x)}", "ask"),
        ("echo 'git status; rm x'", "allow"),
        ("echo git status # ; rm x", "allow"),
        ("git status \"", "ask"),
        ("PATH=/tmp git status", "ask"),
        ("export PATH=/tmp; git status", "ask"),
        ("alias git=rm; git status", "ask"),
        ("./git status", "ask"),
        ("git status; $X", "ask"),
        ("eval 'git status'", "ask"), // `eval` itself has no rule
        ("sh -c 'git status'", "ask"),
        ("{ git status; } > x", "ask"),
        ("cat <<E\n$(rm x)\nE", "ask"),
    ] {
        assert_eq!(strictest(&call(&rules, &format!("bash {line}"))), action(expected), "{line}");
    }
}

#[test]
fn what_is_not_known_is_allowed_by_a_bare_star_only() {
    let narrow = compiled(&["session bash ?* allow", "session bash git** allow"]);
    let bare = compiled(&["session bash * allow"]);
    let denied = compiled(&["session bash * allow", "session bash rm* deny"]);
    for line in ["git log $X", "git log > x", "$X", "git 'x", "eval $X", "env git x", "git *.c"] {
        let line = format!("bash {line}");
        assert_eq!(strictest(&call(&narrow, &line)), Action::Ask, "{line}");
        assert_eq!(strictest(&call(&bare, &line)), Action::Allow, "{line}");
    }
    for line in [
        "rm -rf $X",
        "rm x > y",
        "/bin/rm x",
        "r\\m x",
        "env rm x",
        "env -i A=b rm x",
        "xargs rm",
        "sh -c 'rm x'",
        "bash -ec 'ls; rm x'",
        "eval 'rm x'",
        "eval rm x",
        "timeout 5 rm x",
        "timeout -s KILL 5 rm x",
        "sudo -u root rm x",
        "find . -exec rm {} ;",
        "nice -n 5 rm x",
        "ls; rm \"",
        "rm x\n)",
        "f() { rm x; }",
        "trap 'rm x' EXIT",
        "command rm x",
        "a=$(rm x)",
        "[[ -f $(rm x) ]]",
        "((a[$(rm x)]))",
        "ls &> >(rm x)",
        "ls <(rm x)",
        "echo $'a\\'; rm x #'",
        "((rm x))",
        "ls &>y rm x",
        "case x in x) rm x;; esac",
        "for i in $(rm x); do :; done",
        "echo $( # )\n rm x\n)",
        "su -c 'ls; rm x'",
        "coproc rm x",
        "echo \"${a:-`rm x`}\"",
        "cat <<E\n`rm x`\nE",
        "echo $[a; rm x]",
        "! rm x",
        "time rm x",
        "exec rm x",
        "nohup rm x &",
        "while rm x; do :; done",
        "ls | while read a; do rm x; done",
        "echo a;rm x",
        "x=1 rm x",
    ] {
        assert_eq!(strictest(&call(&denied, &format!("bash {line}"))), Action::Deny, "{line}");
    }
}

#[test]
fn a_watchdog_is_satisfied_by_a_rule_of_the_user_only() {
    for (rules, user) in [
        (vec!["manifest bash ls* allow"], false),
        (vec!["session bash ls* allow"], true),
        (vec!["project bash * allow", "manifest bash ls allow"], true),
        (vec!["project bash * allow", "session bash ls deny"], false),
        (vec!["project bash * allow", "manifest bash ls deny"], false),
        (vec![], false),
    ] {
        assert_eq!(user_allows(&call(&compiled(&rules), "bash ls")), user, "{rules:?}");
    }
}

#[test]
fn bad_rules_are_errors_with_their_place() {
    let refused =
        |text: &str| Rules::compile(&[rule("session a b allow"), rule(text)], &variables());
    for text in [
        "session fs.read src/[a allow",
        "session * {worksapce}/** deny",
        "session net.fetch a/b allow",
        "session edit ../x deny",
    ] {
        let error = refused(text).unwrap_err();
        assert_eq!((error.origin.as_str(), error.place.as_str()), ("rule 1", "pattern"), "{text}");
    }
    assert!(refused("session bash awk '{print}' allow").is_ok(), "braces of a command are its own");
}

#[test]
fn relative_paths_are_compared_as_they_are() {
    let rules =
        Rules::compile(&[rule("session write src/** allow")], &Variables::default()).unwrap();
    let on = |path| Subject { capability: "fs.write", resource: Resource::Path(Path::new(path)) };
    assert_eq!(strictest(&rules.evaluate("write", &[on("src/a")])), Action::Allow);
    assert_eq!(strictest(&rules.evaluate("write", &[on("/w/src/a")])), Action::Ask);
}
