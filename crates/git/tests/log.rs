//! Logs as data.

mod overlay;

use overlay::{Repository, has_git};
use proptest::prelude::*;
use toolwright_git::log::{Appended, Change, Line, LogName, appended, changes, parse};
use toolwright_git::refs::Refusal;
use toolwright_git::upper::Bounds;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn line(message: &str) -> String {
    format!("{ONE} {TWO} A U Thor <a@example.com> 1700000000 +0100\t{message}\n")
}

#[test]
fn a_line_is_what_git_writes_and_nothing_that_a_terminal_obeys() {
    for text in [
        line("commit: x"),
        line("commit: ünï"),
        line(""),
        format!("{ONE} {TWO} A <a> 1 -0000\n"),
        format!("{ONE} {TWO} <a> 1 -0000\n"),
        format!("{ONE} {TWO}  <> 1 -0000\n"),
    ] {
        assert!(parse(text.as_bytes()).is_ok(), "{text}");
    }
    for text in [
        "\n".to_owned(),
        "x\n".to_owned(),
        line("x").trim_end().to_owned(),
        line("a\u{1b}[31m"),
        line("a\rb"),
        line("a\u{9b}31m"),
        line("a\0"),
        line("a\u{7f}"),
        line("x").replace("Thor", "Th\u{1b}or"),
        line("x").replace("example", "exam\rple"),
        line("x").replace("+0100", "+01000"),
        line("x").replace("+0100", "0100"),
        line("x").replace("17000", "x"),
        line("x").replace('<', ""),
        line("x").replace("1111", "zzzz"),
        line(&"x".repeat(70_000)),
    ] {
        assert!(parse(text.as_bytes()).is_err(), "{text:?}");
    }
    let latin = [line("x").trim_end().as_bytes(), b"\xfc"].concat();
    assert!(Line::parse(&latin).is_ok());
    let control = [line("x").trim_end().as_bytes(), b"\x9b31m"].concat();
    assert!(Line::parse(&control).is_err());
}

#[test]
fn what_is_added_is_told_from_what_is_taken_out() {
    let (a, b, c, d) = (line("a"), line("b"), line("c"), line("d"));
    let lines = |text: &str| parse(text.as_bytes()).expect("lines");
    let rewritten =
        |text: &str, whole: &str| Appended::Rewritten { lines: lines(text), whole: lines(whole) };
    for (now, command, expected) in [
        (String::new(), a.clone(), Appended::Lines(lines(&a))),
        (a.clone(), a.clone(), Appended::Lines(vec![])),
        (a.clone(), a.clone() + &b, Appended::Lines(lines(&b))),
        // The person has added a line as well.
        (a.clone() + &b, a.clone() + &c, Appended::Lines(lines(&c))),
        // Lines are taken out: at the beginning, in the middle, at the end, and one is added.
        (a.clone() + &b, b.clone(), rewritten("", &b)),
        (a.clone() + &b, b.clone() + &c, rewritten(&c, &(b.clone() + &c))),
        (a.clone() + &b + &c, a.clone() + &c, rewritten("", &(a.clone() + &c))),
        (a.clone() + &b, a.clone(), rewritten("", &a)),
        (a.clone() + &b, String::new(), rewritten("", "")),
        (a.clone() + &b, d.clone(), rewritten(&d, &d)),
        (a.clone(), a.clone() + "x\n", Appended::Malformed),
        (a.clone(), a.clone() + b.trim_end(), Appended::Malformed),
    ] {
        assert_eq!(appended(now.as_bytes(), command.as_bytes()), expected, "{now}\n{command}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_that_are_added_are_found_and_no_bytes_panic(
        old in proptest::collection::vec(0_u8..5, 0..6), new in proptest::collection::vec(5_u8..9, 0..4),
        noise in any::<Vec<u8>>(),
    ) {
        let text = |numbers: &[u8]| -> String { numbers.iter().map(|number| line(&number.to_string())).collect() };
        let now = text(&old);
        let command = now.clone() + &text(&new);
        prop_assert_eq!(
            appended(now.as_bytes(), command.as_bytes()),
            Appended::Lines(parse(text(&new).as_bytes()).expect("lines"))
        );
        let _ = (appended(now.as_bytes(), &noise), appended(&noise, command.as_bytes()), parse(&noise));
    }
}

#[test]
fn the_logs_of_a_command_are_found() {
    if !has_git() {
        return;
    }
    let repository = Repository::new();
    repository.sh("git branch a; git branch b");
    let script = "git commit -q --allow-empty -m two; git branch -D a; git checkout -qb c; git branch -m b b/x";
    let Some((upper, _)) = repository.in_overlay(script) else { return };
    let found = changes(&repository.directory(), &upper, Bounds::default()).expect("logs");
    assert_eq!(found.left_out, []);
    let found: Vec<String> = found
        .logs
        .iter()
        .map(|log| {
            let change = match &log.change {
                Change::Appended(lines) => format!("+{}", lines.len()),
                Change::Rewritten { .. } => "rewritten".to_owned(),
                Change::Deleted => "deleted".to_owned(),
            };
            format!("{} {change}", log.name.path().display())
        })
        .collect();
    assert_eq!(
        found,
        [
            "logs/HEAD +2",
            "logs/refs/heads/a deleted",
            "logs/refs/heads/b deleted",
            "logs/refs/heads/b/x +2",
            "logs/refs/heads/c +1",
            "logs/refs/heads/main +1"
        ]
    );
}

#[test]
fn what_is_no_log_stays_out() {
    let repository = Repository::by_hand_only();
    std::fs::create_dir_all(repository.path().join(".git")).expect("a directory");
    let git = repository.directory();
    for (script, expected) in [
        ("mkdir logs; ln -s /etc/passwd logs/HEAD", ("logs/HEAD", Refusal::NotAFile)),
        ("ln -s / logs", ("logs", Refusal::NotAFile)),
        ("mkdir logs; mkfifo logs/HEAD", ("logs/HEAD", Refusal::NotAFile)),
        ("mkdir logs; echo x > logs/HEAD", ("logs/HEAD", Refusal::Value)),
        ("mkdir logs; echo x > logs/x", ("logs/x", Refusal::Name)),
        (
            "mkdir -p logs/refs/replace/x; echo x > logs/refs/replace/x/y",
            ("logs/refs/replace/x/y", Refusal::Name),
        ),
    ] {
        let found = changes(&git, &repository.by_hand(script), Bounds::default()).expect("logs");
        assert_eq!(found.logs, [], "{script}");
        let left: Vec<_> = found
            .left_out
            .iter()
            .map(|left| (left.path.to_str().expect("a path"), left.reason))
            .collect();
        assert_eq!(left, [expected], "{script}");
    }
    assert_eq!(LogName::at("logs/HEAD".as_ref()), Some(LogName::Head));
}
