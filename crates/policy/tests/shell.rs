//! Command lines: what would run, what is not known, and that hostile ones are answered in time.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolwright_policy::shell::{CommandLine, LINE_LIMIT, SimpleCommand, parse, suggest};

fn texts(line: &str) -> Vec<String> {
    parse(line, None).commands.into_iter().map(|command| command.text).collect()
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words of each command of a line whose commands are all known.
fn known(line: &str) -> Vec<String> {
    let parsed = parse(line, None);
    assert_eq!(parsed.unparseable, None, "{line}");
    let words = |command: &SimpleCommand| {
        assert_eq!(command.restricted, None, "{line}");
        let words: Vec<String> = command.argv.iter().flatten().map(|word| quoted(word)).collect();
        assert_eq!(command.text, words.join(" "), "{line}");
        words.join(" ")
    };
    parsed.commands.iter().map(words).collect()
}

#[test]
fn simple_commands_are_found_wherever_they_stand() {
    for (line, expected) in [
        ("ls -l", vec!["ls -l"]),
        ("a; b && c || d | e & f", vec!["a", "b", "c", "d", "e", "f"]),
        ("(a; { b; })", vec!["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", vec!["a", "b", "c", "d"]),
        ("case x in y) a;; *) b;; esac", vec!["a", "b"]),
        ("f() { a; }; f", vec!["a", "f"]),
        ("! a", vec!["a"]),
        ("a\nb\n\n# c\nd", vec!["a", "b", "d"]),
        ("a \\\n b", vec!["a b"]),
        ("sh -c 'a; b'", vec!["sh -c 'a; b'", "a", "b"]),
        ("bash -euc 'a'", vec!["bash -euc a", "a"]),
        ("eval a b", vec!["eval a b", "a b"]),
        ("trap 'a' EXIT", vec!["trap a EXIT", "a"]),
        ("eval -- a b", vec!["eval -- a b", "a b"]),
        ("trap -- 'a' EXIT", vec!["trap -- a EXIT", "a"]),
        ("trap - EXIT", vec!["trap - EXIT"]),
        ("nohup a b", vec!["nohup a b", "a b"]),
        ("timeout 5s a b", vec!["timeout 5s a b", "a b"]),
        ("nice -n 5 a", vec!["nice -n 5 a", "a"]),
        ("command -v a", vec!["command -v a"]),
        ("cat <<'E'\n$(a)\nE", vec!["cat"]),
    ] {
        assert_eq!(known(line), expected, "{line}");
    }
}

#[test]
fn words_are_what_the_shell_makes_of_them() {
    for (line, expected) in [
        ("a 'b c' \"d e\" f\\ g", vec!["a", "b c", "d e", "f g"]),
        ("a '' \"\"", vec!["a", "", ""]),
        ("a 'b'\"c\"d", vec!["a", "bcd"]),
        ("a \"\\$b \\\" \\n\"", vec!["a", "$b \" \\n"]),
        ("a foo$ 'x$'", vec!["a", "foo$", "x$"]),
        ("a -- -x=1 b:c [ ] {} '*'", vec!["a", "--", "-x=1", "b:c", "[", "]"]),
    ] {
        let parsed = parse(line, None);
        let argv = parsed.commands[0].argv.clone().unwrap_or_default();
        assert_eq!(
            argv.get(..expected.len().min(argv.len())).unwrap(),
            if argv.is_empty() { vec![] } else { expected.clone() },
            "{line}"
        );
    }
}

#[test]
fn what_is_not_known_says_so() {
    for (line, reason) in [
        ("$X a", "place of its name"),
        ("\"$X\"", "place of its name"),
        ("`a` b", "place of its name"),
        ("a $X", "expansion"),
        ("a *.c", "expansion"),
        ("a ~/x", "expansion"),
        ("a {b,c}", "expansion"),
        ("a > b", "redirects output to b"),
        ("a >> b", "redirects output"),
        ("a >| b", "redirects output"),
        ("a 2> b", "redirects output"),
        ("a <> b", "redirects output"),
        ("a >& b", "redirects output"),
        ("> b", "redirects output"),
        ("X=1 a", "variable"),
        ("X=1", "variables"),
        ("export X=1", "later commands"),
        ("eval $X", "come to"),
        ("sh", "elsewhere"),
        ("curl x | sh", "elsewhere"),
        ("sh -s", "elsewhere"),
        ("sh $X", "elsewhere"),
        ("bash --rcfile x -c a", "elsewhere"),
        (". /dev/stdin", "not known"),
        ("env a", "another command"),
        ("xargs a", "another command"),
        ("sudo a", "another command"),
        ("find . -exec a {} +", "another command"),
        ("for PATH in x; do a; done", "sets variables"),
        ("for PATH do a; done", "sets variables"),
        ("unset PATH", "later commands"),
        ("shopt -s extglob", "later commands"),
        ("wait -p PATH", "later commands"),
        ("printf -vPATH x", "later commands"),
        ("set -k", "later commands"),
        ("set -eH", "later commands"),
        ("set -o histexpand", "later commands"),
        ("test -v 'a[$(b)]'", "index"),
        ("jobs -x a", "another command"),
        ("compgen -C a", "another command"),
        ("a <&-b", "may be an argument"),
        ("a >&-b", "may be an argument"),
        ("sh ../dev/fd/3", "not known"),
        ("eval -- $X", "come to"),
        ("a 'b", "cannot be parsed"),
        ("a )", "cannot be parsed"),
        ("if a", "cannot be parsed"),
        ("a\u{a0}b", "cannot be parsed"),
        ("a\rb", "cannot be parsed"),
        ("a\0b", "cannot be parsed"),
    ] {
        let parsed = parse(line, None);
        let restricted = parsed.commands.iter().any(|one| {
            one.restricted.as_deref().is_some_and(|restricted| restricted.contains(reason))
        });
        assert!(restricted, "{line}: {parsed:?}");
    }
    for line in [
        "a 2>&1",
        "a >/dev/null",
        "a <b",
        "a >&-",
        "a <&-",
        "a <&3",
        "set -euo pipefail",
        "wait",
        "printf %s a",
        "test -f 'a[1]'",
        "[ -v a ]",
        "sh scripts/dev/run.sh",
        "sh /srv/dev/run.sh",
        "sh ../x.sh",
        "sh script.sh",
        "find . -name x",
        "[ -f x ]",
        "test -f x",
    ] {
        assert!(
            parse(line, None).commands.iter().all(|one| one.restricted.is_none()),
            "{line}: {:?}",
            parse(line, None)
        );
    }
}

#[test]
fn what_other_commands_run_shows() {
    for line in [
        "env -S 'rm x'",
        "env '-Srm x'",
        "env --split-string='rm x'",
        "env -i A=b rm x",
        "script '-crm x'",
        "find . -exec sh -c 'rm x' \\;",
        "xargs -n 1 rm x",
        "fakeroot rm x",
        "tcsh -c 'rm x'",
        "jobs -x rm x",
        "compgen -W '$(rm x)'",
        "let 'a[$(rm x)]'",
        "test -v 'a[$(rm x)]'",
        "command eval 'rm x'",
    ] {
        assert!(texts(line).iter().any(|text| text == "rm x"), "{line}: {:?}", texts(line));
    }
}

#[test]
fn what_shells_read_differently_is_not_known() {
    for line in [
        "echo $'a\\'; rm x #'",
        "[[ a == b ]]",
        "((a))",
        "a &> b",
        "a <(b)",
        "a <<< b",
        "a |& b",
        "a=(b c)",
        "echo $[1+1]",
        "echo $\"a\"",
        "select x in a; do b; done",
        "for ((i=0;i<1;i++)); do a; done",
        "coproc a",
    ] {
        let parsed = parse(line, None);
        assert!(parsed.commands.iter().any(|one| one.restricted.is_some()), "{line}: {parsed:?}");
    }
}

#[test]
fn nothing_is_made_of_nothing() {
    for line in ["", "  ", "\n\n", "# a", " # a\n# b"] {
        let CommandLine { commands, unparseable } = parse(line, None);
        assert!(commands.is_empty() && unparseable.is_none(), "{line:?}: {commands:?}");
    }
}

#[test]
fn patterns_for_always_allow_what_was_asked_and_no_more_than_its_kind() {
    assert_eq!(suggest("git status", None), ["git status"]);
    assert_eq!(suggest("git log -3 && ls -l", None), ["git log *", "ls -l"]);
    assert_eq!(suggest("rm -rf x", None), ["rm -rf x"]);
    assert_eq!(suggest("grep 'a*' f", None), ["grep 'a\\*' f"]);
    assert!(suggest("git log $X", None).is_empty() && suggest("a > b", None).is_empty());
}

/// A debug build on a machine with other work; what is meant is "not for ever".
const MAX_PARSE_TIME: Duration = Duration::from_secs(10);

#[test]
fn hostile_lines_are_answered_in_time() {
    let pairs = [
        ("(", ")"),
        ("( ", ")"),
        ("((", "))"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("`", "`"),
        ("{ ", "; }"),
        ("if ", "; then x; fi"),
        ("while ", "; do x; done"),
        ("x=(", ")"),
        ("case x in x) ", "; esac"),
        ("${x:-", "}"),
        ("\"${x:-", "}\""),
        ("f(){ ", "; }"),
        ("! ", ""),
        ("a|", ""),
        ("a&&", ""),
        ("<<a ", ""),
        ("<(", ")"),
        ("$((", "))"),
        ("[[ ( ", " ) ]]"),
        ("a[", "]"),
        ("@(", ")"),
        ("{a,", "}"),
        ("x=$(", ")"),
        ("for x in $(", "); do x; done"),
        ("a\n", ""),
        ("a;", ""),
        ("eval ", ""),
        ("env ", ""),
        ("sh -c '", "'"),
        ("sudo -u x ", ""),
        ("\\", ""),
        ("'", ""),
        ("\"", ""),
        ("$", ""),
        ("~9", ""),
        ("a <<E\n", "\nE\n"),
        ("time ", ""),
        ("find -exec ", ";"),
        ("$(a)", ""),
        ("(a)", ""),
        ("x=", ""),
    ];
    for (open, close) in pairs {
        for count in if cases() > 300 {
            vec![3, 8, 9, 16, 24, 40, 1000, 16_000]
        } else {
            vec![8, 24, 1000, 16_000]
        } {
            for line in [
                format!("{}x{}", open.repeat(count), close.repeat(count)),
                format!("{}x", open.repeat(count)),
                format!("{}x ;; {}", open.repeat(count), close.repeat(count)),
            ] {
                let started = Instant::now();
                let parsed = parse(&line, None);
                let took = started.elapsed();
                assert!(took < MAX_PARSE_TIME, "{open:?} {count} times: {took:?}");
                assert!(line.len() <= LINE_LIMIT || parsed.unparseable.is_some());
                assert!(!parsed.commands.is_empty() || open == "<<a ", "{open:?} {count}");
            }
        }
    }
}

/// Pieces that mean something, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "a",
        "rm",
        " ",
        " ",
        " ",
        ";",
        "&",
        "&&",
        "|",
        "||",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "$",
        "${",
        "$((",
        "))",
        "<",
        ">",
        ">>",
        "<<E",
        "E",
        "<<<",
        "2>&1",
        "#",
        "if",
        "then",
        "fi",
        "case",
        "in",
        "esac",
        ";;",
        "do",
        "done",
        "for",
        "while",
        "eval",
        "sh -c",
        "xargs",
        "env",
        "=",
        "x=",
        "[[",
        "]]",
        "~",
        "*",
        "[",
        "]",
        "!",
        "function",
        "f()",
        "time",
        "999999999999999999999",
        "\u{feff}",
        "é",
        "\0",
        "-c",
    ]);
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn cases() -> u32 {
    let factor: u32 =
        std::env::var("TOOLWRIGHT_SOAK_FACTOR").ok().and_then(|f| f.parse().ok()).unwrap_or(1);
    300 * factor
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn any_line_is_answered(line in pieces()) {
        let started = Instant::now();
        let parsed = parse(&line, None);
        prop_assert!(started.elapsed() < MAX_PARSE_TIME, "{:?}", line);
        if !line.trim().is_empty() && !line.contains('#') {
            prop_assert!(!parsed.commands.is_empty(), "{:?}", line);
        }
        for command in &parsed.commands {
            prop_assert!(command.argv.is_some() || command.restricted.is_some(), "{:?}", parsed);
        }
    }

    #[test]
    fn any_text_is_answered(line in "\\PC{0,40}") {
        let _ = parse(&line, None);
    }

    #[test]
    fn words_in_quotes_come_back(words in proptest::collection::vec("[ -~é\n]{0,8}", 1..5)) {
        let line = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
        let parsed = parse(&line, None);
        prop_assert_eq!(parsed.commands[0].argv.as_ref(), Some(&words), "{}", line);
    }

    #[test]
    fn a_denied_name_shows_whatever_stands_around_it(
        before in proptest::sample::select(vec!["", "ls; ", "ls && ", "ls | ", "(", "{ ", "if ", "! ", "x=$(", "echo \"$(", "echo `", "f() { ", "eval '", "sh -c '", "ls \n"]),
        after in proptest::sample::select(vec!["", "; ls", " | cat", " &", " > y", " $X", " # c", "\nls"]),
    ) {
        let close = match before.trim() {
            "(" | "x=$(" => ")",
            "{" | "f() {" => "; }",
            "if" => "; then :; fi",
            "echo \"$(" => ")\"",
            "echo `" => "`",
            "eval '" | "sh -c '" => "'",
            _ => "",
        };
        let newline = if after.contains('#') { "\n" } else { "" };
        let after = if after == " &" && close.starts_with(';') { "" } else { after };
        let line = format!("{before}rm x{after}{newline}{close}");
        prop_assert!(texts(&line).iter().any(|text| text.starts_with("rm x")), "{:?}: {:?}", line, texts(&line));
    }
}
