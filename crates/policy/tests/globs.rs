//! Globs of paths: what a star crosses, and what compiling a thousand of them costs.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use globset::GlobBuilder;
use proptest::prelude::*;
use serde_json::json;
use toolwright_policy::{
    Access, Action, Declared, Effective, RequirementSet, Rule, Rules, Source, Union, Variables,
};

fn workspace() -> Variables {
    Variables { workspace: vec!["/w".into()], ..Variables::default() }
}

fn compiled(pattern: &str) -> Result<Effective, String> {
    let set = RequirementSet::parse("test", &json!({ "fs": { "read": [pattern] } })).unwrap();
    let declared = Declared { origin: "test".to_owned(), set };
    let union = Union::compile(&[declared], &workspace());
    union.map(|union| Effective::new(vec![union])).map_err(|error| error.problem)
}

fn matches(pattern: &str, path: &str) -> bool {
    let compiled = compiled(pattern).unwrap();
    compiled.allows_path(Access::Read, &Path::new("/w").join(path))
}

#[test]
fn no_wildcard_but_two_stars_crosses_a_slash() {
    for (pattern, path) in [
        ("*.ts", "a.ts"),
        ("*.ts", ".hidden.ts"),
        ("src/*.ts", "src/a.ts"),
        ("**/*.ts", "a.ts"),
        ("**/*.ts", "src/deep/a.ts"),
        ("src/**/a", "src/a"),
        ("src/**/a", "src/b/c/a"),
        ("src/**/b/**/c", "src/x/b/b/y/c"),
        ("*/**", "a/b"),
        ("a**b", "axb"),
        ("?", "é"),
        ("[é-ü]", "ö"),
        ("[!a]", "b"),
        ("[]]", "]"),
        ("[a-]", "-"),
        ("\\[a\\]*", "[a]b"),
        ("a\\*?", "a*b"),
    ] {
        assert!(matches(pattern, path), "{pattern} matches {path}");
    }
    for (pattern, path) in [
        ("*.ts", "src/a.ts"),
        ("src/*", "src/a/b"),
        ("src/*", "src"),
        ("*/**", "a"),
        ("a**b", "a/b"),
        ("a?b", "a/b"),
        ("a[!x]b", "a/b"),
        ("a[.-0]b", "a/b"),
        ("**/a", "ba"),
        ("src/**/a*", "lib/a"),
    ] {
        assert!(!matches(pattern, path), "{pattern} does not match {path}");
    }
}

#[test]
fn a_byte_that_is_no_character_is_one_for_a_wildcard() {
    let odd = Path::new("/w").join(OsStr::from_bytes(b"a\xFFb"));
    let allows = |pattern: &str| compiled(pattern).unwrap().allows_path(Access::Read, &odd);
    assert!(allows("a?b") && allows("a*") && allows("a[!x]b"));
    assert!(!allows("a??b") && !allows("a\u{FFFD}*") && !allows("a[x]b"));
}

#[test]
fn what_is_no_glob_is_refused_with_what_to_write() {
    for (pattern, expected) in [
        ("*[", "is not closed"),
        ("*[a/b]", "in the same name"),
        ("*\\", "escapes nothing"),
        ("*}", "write `\\}`"),
        ("*[b-a]", "is no range"),
        ("*[a-c-b]", "is no range"),
    ] {
        let problem = compiled(pattern).unwrap_err();
        assert!(problem.contains(expected), "{pattern}: {problem}");
    }
}

#[test]
fn a_thousand_rules_are_compiled_at_once_and_asked_at_once() {
    let rules: Vec<Rule> = (0..1_000)
        .map(|n| Rule {
            permission: "fs.read".to_owned(),
            pattern: format!("a{n}/**/*.txt"),
            action: Action::Allow,
            source: Source::Project,
        })
        .collect();
    let start = Instant::now();
    let compiled = Rules::compile(&rules, &workspace()).unwrap();
    // Some ten milliseconds without optimisation; regular expressions took a second with it.
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    let start = Instant::now();
    for _ in 0..100 {
        let ruling = compiled.about_path("read", "fs.read", Path::new("/w/a999/b/c/d.txt"));
        assert_eq!(ruling.rule, Some(999));
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn many_stars_take_no_more_than_the_product_of_the_lengths() {
    let pattern = format!("{}x", "*a**/".repeat(400));
    let path = format!("{}y", "aaaaaaaaaa/".repeat(200));
    let start = Instant::now();
    assert!(!matches(&pattern, &path));
    let names = format!("{}x", "**/*a/".repeat(100));
    assert!(!matches(&names, &path));
    let letters = "*a".repeat(100);
    assert!(!matches(&letters, &"ab".repeat(100)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4_096, ..ProptestConfig::default() })]

    /// The same as the globs of ripgrep, where names are of ASCII and no class holds a slash.
    #[test]
    fn globs_mean_what_those_of_ripgrep_mean(
        names in proptest::collection::vec("\\*\\*|[ab*?-]{1,4}|[ab]?\\[!?[ab]\\][ab*]?|\\\\[*?a]b?", 1..5),
        path in proptest::collection::vec("[ab*?-]{1,3}", 1..6),
    ) {
        // One of ripgrep's oddities: it matches nothing.
        if names.windows(2).any(|two| two[0] == "**" && two[1] == "**") {
            return Ok(());
        }
        // With a wildcard in front: names without any are compared by themselves.
        let (pattern, path) = (format!("?/{}", names.join("/")), format!("x/{}", path.join("/")));
        let oracle = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
        let expected = oracle.unwrap().compile_matcher().is_match(&path);
        // A class of ripgrep takes a slash.
        let crosses = pattern.contains("[!");
        let ours = matches(&pattern, &path);
        prop_assert!(ours == expected || (crosses && !ours), "{} on {}: {}", pattern, path, ours);
    }
}
