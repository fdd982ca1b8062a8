//! A rule for `ls` lets bash run `ls`, and never `rm`: lines in the grammar of bash, judged for bash,
//! and what bash then runs.

mod shell_scene;

use std::cell::Cell;
use std::path::Path;

use proptest::prelude::*;
use shell_scene::Scene;
use toolwright_policy::shell::Dialect;
use toolwright_policy::{Action, Resource, Rule, Rules, Source, Subject, Variables};

const PROGRAMS: [&str; 2] = ["ls", "rm"];

fn rules() -> Rules {
    let allow = |pattern: &str| Rule {
        permission: "bash".to_owned(),
        pattern: pattern.to_owned(),
        action: Action::Allow,
        source: Source::Session,
    };
    Rules::compile(&[allow("ls"), allow("ls *")], &Variables::default()).expect("two rules")
}

fn is_allowed(rules: &Rules, line: &str, dialect: Option<Dialect>) -> bool {
    let subject = Subject { capability: "shell.run", resource: Resource::Command(line, dialect) };
    rules.evaluate("bash", &[subject]).iter().all(|one| one.ruling.action == Action::Allow)
}

#[test]
fn what_runs_rm_is_not_allowed_by_a_rule_for_ls() {
    let (scene, rules) = (Scene::new("bash-rules-rm", &PROGRAMS), rules());
    for line in [
        "ls &> /dev/null; rm x",
        "ls &>/dev/null rm; rm",
        "ls &>> /dev/null && rm x",
        "ls |& rm x",
        "ls & rm x",
        "{rm,-rf,x}",
        "r{m,}",
        "{ rm x; }",
        "ls <(rm x)",
        "ls >(rm x)",
        "ls < <(rm x)",
        "ls <<< $(rm x)",
        "ls <<< \"$(rm x)\"",
        "ls <<E\n$(rm x)\nE",
        "[[ $(rm x) ]]",
        "[[ a = b || $(rm x) ]]",
        "[[ -v 'a[$(rm x)]' ]]",
        "((x = $(rm x)0))",
        "((a[$(rm x)0] = 1))",
        "let 'a[$(rm x)0]=1'",
        "for ((i = $(rm x)0; i < 0; i++)); do :; done",
        "for x in $(rm x); do ls; done",
        "case $(rm x) in *) ls;; esac",
        "case x in x) ls;& y) rm x;; esac",
        "case x in x) ls;;& *) rm x;; esac",
        "select x in a; do ls; done <<< 1; rm x",
        "a=(1 $(rm x))",
        "a[$(rm x)0]=1",
        "a+=$(rm x)",
        "function f { rm x; }; f",
        "f() { rm x; }; f",
        "ls() { rm \"$@\"; }; ls x",
        "function ls { rm x; }; ls",
        "coproc rm x; wait",
        "coproc ls { rm x; }; wait",
        "time rm x",
        "time -p rm x",
        "! rm x",
        "! time ! rm x",
        "$'rm' x",
        "$'\\x72m' x",
        "$\"rm\" x",
        "\"r\"m x",
        "\\rm x",
        "x=rm; $x y",
        "x=rm; ${x} y",
        "x=RM; ${x,,} y",
        "x=rm y=x; ${!y} z",
        "x=lm; ${x/l/r} y",
        "x=xrm; ${x:1} y",
        "x=(rm); ${x[0]} y",
        "x='$(rm y)'; ls ${x@P}",
        "ls ${x:-$(rm y)}",
        "ls \"${x:=`rm y`}\"",
        "eval 'rm x'",
        "eval r\\m x",
        "builtin eval 'rm x'",
        "command rm x",
        "exec rm x",
        "exec -a ls rm x",
        "trap 'rm x' EXIT",
        "trap 'rm x' DEBUG; ls",
        "trap 'rm x' ERR; ls; [[ a = b ]]",
        "shopt -s expand_aliases; alias ls='rm x'\nls",
        "set -o posix\nalias ls='rm x'\nls",
        "hash -p \"$PWD/../bin/rm\" ls; ls",
        "source /dev/stdin <<< 'rm x'",
        ". /dev/stdin <<E\nrm x\nE",
        "source <(echo rm x)",
        "mapfile -C 'rm x' -c 1 <<< a",
        "command_not_found_handle() { rm x; }; nothing",
        "PS4='$(rm x)'; set -x; ls",
        "printf -v PS4 '$(rm x)'; set -x; ls",
        "shopt -s extglob\ncase rm in @(rm|ls)) rm x;; esac",
        "ls # a comment\nrm x",
        "ls x\\\n; rm x",
        "echo {rm,x} | { read -r a b; $a; }",
        "bash -c 'rm x'",
        "sh -c 'rm x'",
        "ls >&2 rm; rm x",
        "ls 2>&1 & rm x",
        "ls <&-rm; rm x",
        "ls {x}>&1; rm y",
        "if ls; then rm x; fi",
        "until rm x; do :; done",
        "(ls; (rm x))",
        "((ls); (rm x))",
        "ls $((1 + $(rm x)0))",
        "ls $(( $(rm x) ))",
        "ls `rm x`",
        "ls $(ls `rm x`)",
        "compgen -C 'rm x'",
    ] {
        assert!(!is_allowed(&rules, line, Some(Dialect::Bash)), "{line}");
        assert!(!is_allowed(&rules, line, None), "{line}");
        // Most of them do run it: the table is about something.
        let _ = scene.calls(Path::new("/bin/bash"), line);
    }
}

#[test]
fn what_runs_ls_alone_is_allowed_in_the_grammar_of_bash() {
    let (scene, rules) = (Scene::new("bash-rules-ls", &PROGRAMS), rules());
    for (line, in_any_shell) in [
        ("ls x && ls y", true),
        ("ls 2>&1 | ls", true),
        ("! ls", true),
        ("ls &> /dev/null", false),
        ("ls &>> /dev/null || ls", false),
        ("ls |& ls -l", false),
        ("time ls", false),
        ("ls <<< x", false),
        ("{ ls; } &> /dev/null", false),
    ] {
        assert!(is_allowed(&rules, line, Some(Dialect::Bash)), "{line}");
        assert_eq!(is_allowed(&rules, line, None), in_any_shell, "{line}");
        if Path::new("/bin/bash").exists() {
            let calls = scene.calls(Path::new("/bin/bash"), line);
            assert!(
                !calls.is_empty() && calls.iter().all(|call| call[0] == "ls"),
                "{line}: {calls:?}"
            );
        }
    }
}

/// Lines in the grammar of bash, of `ls` and now and then of `rm`. No function calls itself.
fn lines() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => Just("ls".to_owned()),
        2 => proptest::sample::select(vec![
            "ls x", "l's'", "\\ls", "ls -- 'a b'", "ls &> /dev/null", "ls &>> /dev/null", "ls >& /dev/null",
            "ls <<< x", "ls 2>&1", "ls < /dev/null", "time ls", "time -p ls", "! ls", "command ls", "ls >&2",
            "ls {}", "ls a=b", "nohup ls",
        ]).prop_map(str::to_owned),
        2 => proptest::sample::select(vec![
            "rm", "rm x", "{rm,x}", "r{m,}", "$'rm' x", "$\"rm\"", "\"r\"m", "ls {a,b}", "ls {1..3}", "ls $'a'",
            "ls ${x^^}", "ls ${!x}", "ls ${x:-rm}", "${x:-rm}", "[[ a == b ]]", "[[ -v x ]]", "((1))", "((x++))",
            "x=(ls rm)", "x+=rm", "a[0]=rm", "coproc ls", "coproc rm", "source rm", "builtin ls", "exec ls",
            "exec rm", "trap rm EXIT", "set -o posix", "set -x", "set -o pipefail", "shopt -s extglob",
            "ls <(rm)", "ls >(rm)", "ls <&-", "ls {x}>/dev/null", "ls 12>&1", "ls ~", "ls *", "ls [a]", "ls #rm",
            ":", "ls \\", "ls !(x)", "ls @(a|b)", "hash -p rm ls", "unset x", "declare x", "wait",
        ]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} |& {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} & {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            two.clone().prop_map(|(a, b)| format!("case x in x) {a};& y) {b};; esac")),
            two.prop_map(|(a, b)| format!("ls <<E; {a}\n$({b})\nE\n")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            inner.clone().prop_map(|a| format!("{{ {a}; }} &> /dev/null")),
            inner.clone().prop_map(|a| format!("for x in 1; do {a}; done")),
            inner.clone().prop_map(|a| format!("for x in {{1..2}}; do {a}; done")),
            inner.clone().prop_map(|a| format!("for ((i=0;i<1;i++)); do {a}; done")),
            inner.clone().prop_map(|a| format!("ls $({a})")),
            inner.clone().prop_map(|a| format!("ls \"$({a})\"")),
            inner.clone().prop_map(|a| format!("ls `{a}`")),
            inner.clone().prop_map(|a| format!("ls ${{x:-$({a})}}")),
            inner.clone().prop_map(|a| format!("ls <({a})")),
            inner.clone().prop_map(|a| format!("ls <<< \"$({a})\"")),
            inner.clone().prop_map(|a| format!("ls <<'E'\n$({a})\nE\n")),
            inner.clone().prop_map(|a| format!("[[ $({a}) ]]")),
            inner.clone().prop_map(|a| format!("((1 + $({a})0))")),
            inner.clone().prop_map(|a| format!("f() {{ {a}; }}")),
            inner.clone().prop_map(|a| format!("function f {{ {a}; }}")),
            inner.clone().prop_map(|a| format!("coproc ls {{ {a}; }}")),
            inner.clone().prop_map(|a| format!("time {a}")),
            inner.clone().prop_map(|a| format!("! {a}")),
            inner.clone().prop_map(|a| format!("eval '{a}'")),
            inner.prop_map(|a| format!("ls '{a}'")),
        ]
    })
}

/// The same with something in a place where it was not meant to be.
fn disturbed() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "", "", "", "\\", "'", "\"", "&", ">", "<", "|", "{", "}", "(", ")", "$", "`", "\n", "#",
        "!", " ", ";", "\\\n", "&>", "<<<", "rm ", "[[ ", "]]", "=", "é",
    ]);
    (lines(), any::<prop::sample::Index>(), piece).prop_map(|(mut line, at, piece)| {
        let places: Vec<usize> =
            line.char_indices().map(|(place, _)| place).chain([line.len()]).collect();
        line.insert_str(places[at.index(places.len())], piece);
        line
    })
}

fn cases() -> u32 {
    let factor: u32 =
        std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok()).unwrap_or(1);
    1_500 * factor
}

#[test]
fn no_line_that_a_rule_for_ls_allows_runs_anything_else() {
    let (scene, rules) = (Scene::new("bash-rules-random", &PROGRAMS), rules());
    let config =
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) };
    let allowed = Cell::new(0);
    proptest!(config, |(line in disturbed())| {
        for shell in &scene.shells {
            let dialect = shell.ends_with("bash").then_some(Dialect::Bash);
            if !is_allowed(&rules, &line, dialect) {
                continue;
            }
            allowed.set(allowed.get() + 1);
            let calls = scene.calls(shell, &line);
            prop_assert!(calls.iter().all(|call| call[0] == "ls"), "{}: {line:?} {calls:?}", shell.display());
        }
    });
    assert!(allowed.get() > cases() / 20, "only {} lines were run", allowed.get());
}
