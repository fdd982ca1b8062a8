//! Searches that give records: limits to the number, files that are not to be seen, odd names.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use tempfile::TempDir;
use toolwright_search::{Found, GrepError, Keep, Named, Scope, find, name};

static NEVER: AtomicBool = AtomicBool::new(false);

fn tree(files: &[(&str, &str)]) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    tree
}

fn scope<'a>(root: &'a Path, keep: &'a Keep<'a>, max_records: u64) -> Scope<'a> {
    Scope {
        root,
        start: Path::new(""),
        keep,
        max_records,
        max_bytes: 1 << 20,
        deadline: None,
        cancel: &NEVER,
    }
}

fn found(tree: &TempDir, pattern: &str, globs: &[&str], keep: &Keep<'_>, most: u64) -> Found {
    let root = tree.path().canonicalize().unwrap();
    find(&scope(&root, keep, most), pattern, globs, false, &|path| File::open(root.join(path)))
        .unwrap()
}

fn named(tree: &TempDir, globs: &[&str], keep: &Keep<'_>, most: u64) -> Named {
    let root = tree.path().canonicalize().unwrap();
    name(&scope(&root, keep, most), globs, &|path| File::open(root.join(path))).unwrap()
}

fn said(found: &Found) -> Vec<String> {
    let shown = found.hits().map(|hit| {
        format!("{}|{}|{}", hit.path.display(), hit.line, String::from_utf8_lossy(hit.text))
    });
    shown.collect()
}

fn paths(named: &Named) -> Vec<String> {
    named.paths().map(|path| path.to_string_lossy().into_owned()).collect()
}

const ALL: &Keep<'static> = &|_| true;

#[test]
fn r28_lines_come_with_path_and_number() {
    let tree = tree(&[
        ("b", "x\ny x\r\nz"),
        ("a/c:1:d", "x"),
        ("a/b\nn", "x"),
        ("bin", "x\0x"),
        ("none", "y"),
    ]);
    let found = found(&tree, "x", &[], ALL, 200);
    assert_eq!(said(&found), ["a/b\nn|1|x", "a/c:1:d|1|x", "b|1|x", "b|2|y x"]);
    assert_eq!(
        (found.count, found.truncated, found.files_scanned, found.unsearched.total),
        (4, false, 5, 0)
    );
}

#[test]
fn r28_no_match_is_an_empty_answer_and_a_bad_pattern_an_error_with_its_place() {
    let tree = tree(&[("a", "x")]);
    assert_eq!(said(&found(&tree, "y", &[], ALL, 200)), Vec::<String>::new());
    let root = tree.path();
    let open = |path: &Path| File::open(root.join(path));
    let error = find(&scope(root, ALL, 200), "a(b", &[], false, &open).unwrap_err();
    assert!(error.to_string().contains('^'), "{error}");
    assert!(matches!(
        find(&scope(root, ALL, 1), "a", &["{"], false, &open),
        Err(GrepError::Glob { .. })
    ));
}

#[test]
fn r28_case_and_names_can_be_chosen() {
    let tree = tree(&[("a.rs", "Foo"), ("b.txt", "foo"), ("d/c.rs", "FOO")]);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let any = |globs: &[&str], case| {
        said(&find(&scope(&root, ALL, 9), "foo", globs, case, &open).unwrap())
    };
    assert_eq!(any(&[], false), ["b.txt|1|foo"]);
    assert_eq!(any(&[], true), ["a.rs|1|Foo", "b.txt|1|foo", "d/c.rs|1|FOO"]);
    assert_eq!(any(&["*.rs"], true), ["a.rs|1|Foo", "d/c.rs|1|FOO"]);
    assert_eq!(any(&[], false), ["b.txt|1|foo"], "the pattern is kept apart by its case");
}

#[test]
fn r19_200_matches_are_not_truncated_and_one_more_is() {
    for (lines, truncated) in [(199, false), (200, false), (201, true), (5000, true)] {
        let tree = tree(&[("a", &"x\n".repeat(150)), ("b", &"x\n".repeat(lines - 150))]);
        let found = found(&tree, "x", &[], ALL, 200);
        assert_eq!((found.count, found.truncated), (lines.min(200) as u64, truncated), "{lines}");
        assert_eq!(found.hits().count(), lines.min(200));
    }
}

#[test]
fn r19_1000_entries_are_not_truncated_and_one_more_is() {
    for (files, truncated) in [(1000, false), (1001, true)] {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..files {
            File::create(tree.path().join(format!("f{number:04}"))).unwrap();
        }
        let named = named(&tree, &["f*"], ALL, 1000);
        assert_eq!((named.count, named.truncated), (1000, truncated), "{files}");
        let paths = paths(&named);
        assert!(paths.is_sorted() && paths.len() == 1000);
    }
}

#[test]
fn r27_names_come_sorted_and_links_are_not_followed() {
    let tree = tree(&[("b.ts", ""), ("a/z.ts", ""), ("a/y.js", ""), ("a\nb.ts", "")]);
    std::os::unix::fs::symlink("a", tree.path().join("link")).unwrap();
    assert_eq!(paths(&named(&tree, &["*.ts"], ALL, 9)), ["a/z.ts", "a\nb.ts", "b.ts"]);
    assert_eq!(paths(&named(&tree, &["a/**"], ALL, 9)), ["a/y.js", "a/z.ts"]);
    assert_eq!(paths(&named(&tree, &["*.py"], ALL, 9)), Vec::<String>::new());
}

#[test]
fn r14_what_is_not_to_be_seen_is_neither_searched_nor_named_nor_counted() {
    let tree = tree(&[("ok/a", "x"), ("secret/b", "x"), ("ok/secret", "x"), ("c", "x")]);
    let keep: &Keep<'_> = &|path| !path.to_string_lossy().contains("secret");
    let seen = found(&tree, "x", &[], keep, 200);
    assert_eq!(
        (said(&seen), seen.files_scanned),
        (vec!["c|1|x".to_owned(), "ok/a|1|x".to_owned()], 2)
    );
    assert_eq!(paths(&named(&tree, &[], keep, 200)), ["c", "ok/a"]);
    // Nor do they count towards the limit.
    assert!(!found(&tree, "x", &[], keep, 2).truncated);
    assert!(!named(&tree, &[], keep, 2).truncated);
}

#[test]
fn one_file_can_be_searched_and_a_binary_one_is_passed_over() {
    let tree = tree(&[("d/a", "x\nx"), ("bin", "x\0")]);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let at = |start| {
        find(&Scope { start: Path::new(start), ..scope(&root, ALL, 9) }, "x", &[], false, &open)
    };
    assert_eq!(said(&at("d/a").unwrap()), ["d/a|1|x", "d/a|2|x"]);
    assert_eq!(at("bin").unwrap().count, 0);
    assert!(matches!(at("none"), Err(GrepError::Missing { .. })));
}

#[test]
fn a_search_stops_when_told_to() {
    let tree = tree(&[("a", "x")]);
    let open = |path: &Path| File::open(tree.path().join(path));
    let now = Some(std::time::Instant::now());
    let late = Scope { deadline: now, ..scope(tree.path(), ALL, 9) };
    assert!(matches!(find(&late, "x", &[], false, &open), Err(GrepError::TimedOut { .. })));
    let cancelled = Scope { cancel: &AtomicBool::new(true), ..scope(tree.path(), ALL, 9) };
    assert!(matches!(name(&cancelled, &[], &open), Err(GrepError::Cancelled { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_first_records_are_the_same_whatever_the_limit(
        files in proptest::collection::vec(proptest::collection::vec("[xy]{0,2}", 0..6), 0..12),
        most in 0u64..20,
    ) {
        let tree = tempfile::tempdir().unwrap();
        for (number, lines) in files.iter().enumerate() {
            std::fs::write(tree.path().join(format!("f{number:02}")), lines.join("\n")).unwrap();
        }
        let all = found(&tree, "x", &[], ALL, u64::MAX);
        let some = found(&tree, "x", &[], ALL, most);
        prop_assert_eq!(some.truncated, all.count > most);
        prop_assert_eq!(said(&some), said(&all)[..usize::try_from(all.count.min(most)).unwrap()].to_vec());
    }
}

/// A wrong "no" is worse than none: it is said which file was not searched.
#[test]
fn what_is_not_searched_is_named() {
    let long = format!("early\n{}\nneedle\n", "a".repeat(toolwright_search::LINE_LIMIT + 1));
    let tree = tree(&[("a", "needle\n"), ("long", &long)]);
    let all = found(&tree, "needle|early", &[], ALL, 200);
    assert_eq!(said(&all), ["a|1|needle", "long|1|early"]);
    let why = "holds a line longer than 32 MiB, searched up to there".to_owned();
    assert_eq!(all.unsearched.named, [(Path::new("long").to_owned(), why.clone())]);
    assert_eq!(all.unsearched.total, 1);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let start = Scope { start: Path::new("long"), ..scope(&root, ALL, 200) };
    let one = find(&start, "needle", &[], false, &open).unwrap();
    assert_eq!(one.unsearched.named, [(Path::new("long").to_owned(), why)]);
}

#[test]
fn only_what_a_pattern_leads_to_is_walked() {
    let tree =
        tree(&[("etc/hosts", ""), ("etc/x/hosts", ""), ("big/etc/hosts", ""), ("hosts", "")]);
    let root = tree.path().canonicalize().unwrap();
    let listed = std::sync::Mutex::new(Vec::new());
    let open = |path: &Path| {
        listed.lock().unwrap().push(path.to_owned());
        File::open(root.join(path))
    };
    let named = |pattern: &str| {
        let named = name(&scope(&root, ALL, 200), &[pattern], &open).unwrap();
        let mut listed = std::mem::take(&mut *listed.lock().unwrap());
        listed.retain(|path| root.join(path).is_dir());
        (paths(&named), listed)
    };
    let opened = |paths: &[&str]| paths.iter().map(|path| Path::new(path).to_owned()).collect();
    let (paths, listed): (_, Vec<_>) = named("etc/host*");
    assert_eq!(paths, ["etc/hosts"]);
    assert!(!listed.iter().any(|path| path.starts_with("big")), "{listed:?}");
    assert_eq!(named("/etc/x/*"), (vec!["etc/x/hosts".to_owned()], opened(&[".", "etc", "etc/x"])));
    assert_eq!(named("hosts").0, ["big/etc/hosts", "etc/hosts", "etc/x/hosts", "hosts"]);
}
