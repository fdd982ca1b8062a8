//! For any three texts: git reads nothing in the result that was not there and is not harmless.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;
use toolwright_git::config::{Value, merge};

use super::by_git::{by_git, has_git};
use super::list::Places;
use super::times;

/// Lines of which each is harmless, harmless beside others, or not.
const LINES: &[(&str, &str, &[&str])] = &[
    ("remote \"a\"", "url", &["https://a/", "ssh://a/b", "./evil", "ext::x", "", "/usr"]),
    ("remote \"b\"", "url", &["https://b/", "git@b:c", "evil"]),
    ("remote \"evil\"", "url", &["https://evil/", "."]),
    ("remote \"a\"", "pushurl", &["https://p/", "-x"]),
    ("remote \"b\"", "fetch", &["+refs/heads/*:refs/remotes/b/*", "+refs/*:refs/*"]),
    ("remote \"a\"", "prune", &["true"]),
    ("remote \"a\"", "uploadpack", &["x"]),
    ("branch \"m\"", "remote", &["a", "b", "evil", ".", "./evil"]),
    ("branch \"n\"", "pushRemote", &["a", "evil"]),
    ("branch \"n\"", "merge", &["refs/heads/n"]),
    ("remote", "pushDefault", &["a", "b", "evil"]),
    ("checkout", "defaultRemote", &["a", "evil"]),
    ("core", "fsmonitor", &["x", "true"]),
    ("core", "bare", &["true", "false"]),
    ("core", "autocrlf", &["input", "true"]),
    ("alias", "x", &["!x"]),
    ("user", "name", &["A", "B \\\"C\\\"", "$(x)", "A\\nB"]),
    ("include", "path", &["x"]),
    ("status", "showUntrackedFiles", &["no", "all"]),
    ("fetch", "prune", &["true", "false"]),
];

const HARMLESS: &[(&str, &[&str])] = &[
    ("remote.a.url", &["https://a/", "ssh://a/b", "/usr"]),
    ("remote.b.url", &["https://b/", "git@b:c"]),
    ("remote.evil.url", &["https://evil/"]),
    ("remote.a.pushurl", &["https://p/"]),
    ("remote.b.fetch", &["+refs/heads/*:refs/remotes/b/*"]),
    ("remote.a.prune", &["true"]),
    ("branch.m.remote", &["a", "b", "evil", "."]),
    ("branch.n.pushremote", &["a", "evil"]),
    ("branch.n.merge", &["refs/heads/n"]),
    ("remote.pushdefault", &["a", "b", "evil"]),
    ("checkout.defaultremote", &["a", "evil"]),
    ("core.autocrlf", &["input", "true"]),
    ("user.name", &["A"]),
    ("status.showuntrackedfiles", &["all"]),
    ("fetch.prune", &["true", "false"]),
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = select(LINES).prop_flat_map(|(section, key, values)| {
        let key = select(vec![key.to_string(), key.to_uppercase(), key.to_lowercase()]);
        let wrap = select(vec!["{}", "\"{}\"", "{} ; c", "\\\n{}"]);
        (Just(section), key, select(values), wrap, select(vec!["\n", "\r\n", "\n\n"]))
    });
    let line = line.prop_map(|(section, key, value, wrap, end)| {
        format!("[{section}]{end}\t{key} = {}{end}", wrap.replace("{}", value))
    });
    prop::collection::vec(line, 0..9).prop_map(|lines| lines.concat().into_bytes())
}

/// A text that differs from another by some lines.
fn near() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<u8>)> {
    (text(), text(), text(), text(), any::<[bool; 3]>()).prop_map(
        |(base, one, two, three, keeps)| {
            let with =
                |keep: bool, more: Vec<u8>| if keep { [base.clone(), more].concat() } else { more };
            (with(keeps[0], one), with(keeps[1], two), with(keeps[2], three))
        },
    )
}

type Settings = BTreeMap<String, Vec<Option<String>>>;

fn settings(text: &[u8]) -> Settings {
    let mut all = Settings::new();
    for (name, value) in by_git(text).unwrap() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let value: Value = value;
        all.entry(text(name)).or_default().push(value.map(text));
    }
    all
}

/// Names of remotes that have no address, with what names them.
fn nameless(settings: &Settings) -> BTreeSet<(String, String)> {
    let names = |name: &str| {
        name.starts_with("branch.") && (name.ends_with(".remote") || name.ends_with(".pushremote"))
            || matches!(name, "remote.pushdefault" | "checkout.defaultremote")
    };
    let has = |remote: &str| {
        let urls = settings.get(&format!("remote.{remote}.url"));
        urls.and_then(|urls| urls.last()?.clone()).is_some_and(|url| !url.is_empty())
    };
    let mut found = BTreeSet::new();
    for (name, values) in settings.iter().filter(|(name, _)| names(name)) {
        for value in values.iter().flatten().filter(|value| *value != "." && !has(value)) {
            found.insert((name.clone(), value.clone()));
        }
    }
    for remote in ["a", "b", "evil"] {
        if settings.keys().any(|name| name.starts_with(&format!("remote.{remote}.")))
            && !has(remote)
        {
            found.insert((format!("remote.{remote}"), remote.to_owned()));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(100), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_result_has_nothing_new_that_does_harm((snapshot, view, real) in near(), is_strict in any::<bool>()) {
        prop_assume!(has_git());
        let places = Places::new();
        let result = places.carry_with([&snapshot, &view, &real], |policy| policy.is_strict = is_strict);
        let Some(text) = result.text else { return Ok(()) };
        let (before, wanted, began, after) = (settings(&real), settings(&view), settings(&snapshot), settings(&text));
        for (name, values) in &after {
            let known = before.get(name).cloned().unwrap_or_default();
            if known == *values {
                continue;
            }
            // It is what the command wanted, of something that the person has not changed meanwhile.
            prop_assert_eq!(Some(values), wanted.get(name));
            prop_assert_eq!(&known, &began.get(name).cloned().unwrap_or_default());
            let harmless = HARMLESS.iter().find(|(its, _)| its == name).map(|(_, values)| *values);
            for value in values.iter().filter(|value| !known.contains(value)) {
                let value = value.as_deref().unwrap();
                prop_assert!(harmless.is_some_and(|all| all.contains(&value)), "{name} = {value}");
            }
        }
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            prop_assert!(!wanted.contains_key(name) && HARMLESS.iter().any(|(its, _)| its == name));
        }
        let new: Vec<_> = nameless(&after).difference(&nameless(&before)).cloned().collect();
        prop_assert_eq!(new, []);
    }

    #[test]
    fn no_text_has_the_host_fail(snapshot in any::<Vec<u8>>(), view in text(), noise in any::<Vec<u8>>()) {
        let places = Places::new();
        let view = [view, noise].concat();
        let root = places.at("root");
        let policy = toolwright_git::config::Policy {
            scope: toolwright_git::config::Scope::Repository,
            top: Some(&root),
            is_writable: &|_| false,
            is_readable: &|_| true,
            holds_worktree_config: false,
            is_strict: false,
            others: &[&snapshot],
        };
        let _ = merge(&snapshot, &view, b"", &policy);
        let _ = merge(b"", &view, &view, &policy);
        let _ = merge(&view, b"", &view, &policy);
    }
}

#[test]
fn many_settings_take_no_time() {
    let places = Places::new();
    let mut view = String::from("[a]\n");
    while view.len() < 250_000 {
        view.push_str("x\n");
    }
    let start = std::time::Instant::now();
    assert_eq!(places.merge([b"", view.as_bytes(), b""]).refused, ["a.x"]);
    let mut many = String::new();
    for number in 0..3_000 {
        writeln!(many, "[branch \"{number}\"]\n\tremote = .").unwrap();
    }
    assert!(places.at("root").exists() && start.elapsed().as_secs() < 60);
    let root = places.at("root");
    let policy = toolwright_git::config::Policy {
        scope: toolwright_git::config::Scope::Repository,
        top: Some(&root),
        is_writable: &|_| false,
        is_readable: &|_| true,
        holds_worktree_config: false,
        is_strict: false,
        others: &[],
    };
    let result = merge(b"", many.as_bytes(), b"", &policy);
    assert_eq!(result, Err(toolwright_git::config::ConfigError::TooMany(3_000)));
    // As many as are merged, into a file that has many.
    let few: String =
        many.lines().take(400).map(|line| line.replace("remote = .", "rebase") + "\n").collect();
    let view = format!("{many}{few}");
    let result = merge(many.as_bytes(), view.as_bytes(), many.as_bytes(), &policy).unwrap();
    assert!(result.text.is_some() && start.elapsed().as_secs() < 60);
}
