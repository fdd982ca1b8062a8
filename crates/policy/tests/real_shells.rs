//! What real shells run, compared with what is said of a line: one of which every command is known
//! runs those, and no others.

mod shell_scene;

use std::collections::HashSet;

use proptest::prelude::*;
use shell_scene::Scene;
use toolwright_policy::shell::{CommandLine, Dialect, parse};

const PROGRAMS: [&str; 3] = ["aa", "bb", "evil"];

/// Calls that a line makes although it says that it makes only others.
fn undisclosed_by(scene: &Scene, line: &str) -> Vec<Vec<String>> {
    let calls = scene.shells.iter().flat_map(|shell| scene.calls(shell, line)).collect();
    undisclosed(&parse(line, None), &calls)
}

fn undisclosed(parsed: &CommandLine, calls: &HashSet<Vec<String>>) -> Vec<Vec<String>> {
    if parsed.commands.iter().any(|command| command.restricted.is_some()) {
        return Vec::new();
    }
    let known: HashSet<&Vec<String>> =
        parsed.commands.iter().filter_map(|command| command.argv.as_ref()).collect();
    calls.iter().filter(|call| !known.contains(call)).cloned().collect()
}

/// Whether it is no syntax, or the name of a program comes out of an expansion.
fn hides_names(parsed: &CommandLine) -> bool {
    let unknown = parsed.commands.iter().filter(|command| command.argv.is_none());
    parsed.unparseable.is_some()
        || unknown.map(|command| command.text.as_str()).any(|text| {
            let name = text.split_whitespace().next().unwrap_or_default();
            name.contains(['$', '`', '*', '?', '[', '{', '~', '<', '>'])
                || ["eval", "exec", "command", "trap", "sh"].iter().any(|word| text.contains(word))
        })
}

/// Programs that are called although their names are not among a line's commands.
fn unnamed(parsed: &CommandLine, calls: &HashSet<Vec<String>>) -> Vec<String> {
    let texts = parsed.commands.iter().map(|command| command.text.as_str());
    let names = texts.filter_map(|text| text.split_whitespace().next());
    let names: HashSet<&str> = names.map(|name| name.trim_matches('\'')).collect();
    let called = calls.iter().filter_map(|call| call.first());
    called.filter(|name| !names.contains(name.as_str())).cloned().collect()
}

#[test]
fn nothing_runs_undisclosed() {
    let scene = Scene::new("real-shells-known", &PROGRAMS);
    for line in [
        "aa <&-evil",
        "test -v 'a[$(evil)]'",
        "[ -v 'a[$(evil)]' ]",
        "[ -f x -o -v \"a[\\$(evil)]\" ]",
        "jobs -x evil",
        "compgen -C evil",
        "compgen -W '$(evil)'",
        "complete -C evil aa",
        "history -s evil; fc -s evil",
        "set -o history; set -H\n: evil\n!:1",
        "set -k; aa PATH=x",
        "eval -- 'evil'",
        "trap -- evil EXIT",
        "trap evil EXIT",
        ". ./../../../../../../../../../../../dev/stdin <<E\nevil\nE",
        ". //dev/stdin <<E\nevil\nE",
        "cd /dev; . ./stdin <<E\nevil\nE",
        "cd /dev/fd; . ./0 <<E\nevil\nE",
        "/bin/sh /dev/../dev/stdin <<E\nevil\nE",
        "aa \"$(bb ')' ; evil)\"",
        "aa $(bb # )\nevil)",
        "aa <<E\\\nF\nx\nEF\nevil",
        "aa <<'E F'\n$(evil)\nE F\nevil",
        "aa $'x\\'; evil; aa '",
        "aa \"`bb \\\"evil\\\"`\"",
        "aa & evil",
        "alias aa=evil\naa",
        "f() { evil; }; f",
        "PATH=/; evil",
    ] {
        assert_eq!(undisclosed_by(&scene, line), Vec::<Vec<String>>::new(), "{line}");
    }
}

#[test]
fn the_comparison_sees_what_runs() {
    let scene = Scene::new("real-shells-itself", &PROGRAMS);
    assert!(!scene.shells.is_empty());
    for shell in &scene.shells {
        let expected = HashSet::from([vec!["aa".to_owned(), "b c".to_owned(), String::new()]]);
        assert_eq!(scene.calls(shell, "aa 'b c' ''"), expected, "{}", shell.display());
    }
}

/// Pieces of lines, without loops, files and programs that wait.
fn lines() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "aa ",
        "aa ",
        "bb ",
        "evil ",
        "x",
        "y ",
        "1",
        " ",
        " ",
        "; ",
        "; ",
        "\n",
        "\n",
        "&&",
        "|",
        "||",
        "(",
        ")",
        "{ ",
        "; }",
        "'",
        "'",
        "\"",
        "\"",
        "\\",
        "\\\n",
        "#",
        " #",
        "!",
        "$",
        "`",
        "=",
        "~",
        "-",
        "--",
        "[ ",
        " ]",
        "test ",
        "eval ",
        "exec ",
        "command ",
        "builtin ",
        "trap ",
        "set ",
        "sh -c ",
        "if ",
        "then ",
        "fi",
        "else ",
        "case x in x) ",
        ";; esac",
        "in ",
        "f() ",
        "f ",
        "<<E\n",
        "<<'E'\n",
        "<<-E\n",
        "\nE\n",
        "\n\tE\n",
        "</dev/null",
        ">/dev/null ",
        "2>&1",
        "<&-",
        ">&-",
        ">&2",
        "<&0",
        "é",
        "$(evil)",
        "`evil`",
    ]);
    proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

fn cases() -> u32 {
    let factor: u32 =
        std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok()).unwrap_or(1);
    2_000 * factor
}

#[test]
fn no_line_runs_what_it_does_not_say() {
    let scene = Scene::new("real-shells-random", &PROGRAMS);
    let config =
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) };
    proptest!(config, |(line in lines())| {
        prop_assert_eq!(undisclosed_by(&scene, &line), Vec::<Vec<String>>::new(), "{:?}", line);
    });
}

/// Pieces of lines that are bash's own, or nest.
fn nested_lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(vec![
            "aa ", "bb ", "evil", "evil ", "x ", "1", " ", " ", "\n", "; ", "&&", "| ", "|& ", "& ",
            "'", "\"", "\\", "\\\n", "#", "!", " ! ", "`", "=", "+=",
        ]),
        4 => proptest::sample::select(vec![
            "( ", " )", "(", ")", "{ ", "; }", "}", "$(", "$((", "))", "((", "${x:-", "${x#", "\"${x:-",
            "<(", ">(", "[[ ", " ]]", "[", "]", "-eq ", "x=(", "y[", "]=", "$'", "$\"", "${", "$",
        ]),
        3 => proptest::sample::select(vec![
            "if ", "; then ", "; fi", "; else ", "while ", "; do ", "; done", "for x in ", "for x ",
            "case x in ", "x) ", ";; ", " esac", ";& ", "select x in ", "function f ", "f() ", "f ",
            "coproc ", "coproc x ", "time ", "time -p ", "break; ", "exit; ",
        ]),
        2 => proptest::sample::select(vec![
            "<<E\n", "<<-E\n", "<<'E'\n", "\nE\n", "\n\tE\n", "<<<", "&>/dev/null ", "2>&1 ", "<&- ",
            "</dev/null ", ">/dev/null ", "{x}>/dev/null ", "12>&1 ", "<&0 ",
        ]),
        1 => proptest::sample::select(vec!["eval ", "command ", "exec ", "trap ", "sh -c ", "set -- ", ": "]),
    ];
    proptest::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn no_shell_runs_what_its_dialect_does_not_say() {
    let scene = Scene::new("real-shells-dialects", &PROGRAMS);
    let config =
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases() / 4) };
    proptest!(config, |(line in prop_oneof![lines(), nested_lines()])| {
        let parsed = parse(&line, None);
        for shell in &scene.shells {
            let calls = scene.calls(shell, &line);
            let context = (shell.display(), &line);
            prop_assert_eq!(undisclosed(&parsed, &calls), Vec::<Vec<String>>::new(), "{:?}", context);
            // A program that runs is named, also where nothing is allowed by what is said of it: it
            // may be denied.
            if !hides_names(&parsed) {
                prop_assert_eq!(unnamed(&parsed, &calls), Vec::<String>::new(), "{:?}", context);
            }
            let dialect = match shell.to_str() {
                Some("/bin/bash") => Dialect::Bash,
                Some("/bin/dash") => Dialect::Posix,
                _ => continue,
            };
            let parsed = parse(&line, Some(dialect));
            prop_assert_eq!(undisclosed(&parsed, &calls), Vec::<Vec<String>>::new(), "{:?}", context);
        }
    });
}
