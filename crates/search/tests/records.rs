//! Searches that return records: their limits, their filter, and odd names.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use tempfile::TempDir;
use toolwright_search::{
    FileList, GrepError, LineMatches, LineQuery, Parallelism, PathFilter, Scope, find_lines,
    list_files,
};

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

fn scope<'a>(root: &'a Path, filter: &'a PathFilter<'a>, max_results: u64) -> Scope<'a> {
    Scope {
        root,
        start: Path::new(""),
        filter,
        max_results,
        max_bytes: 1 << 20,
        deadline: None,
        cancel: &NEVER,
        parallelism: Parallelism::default(),
    }
}

fn query<'a>(pattern: &'a str, globs: &'a [&'a str]) -> LineQuery<'a> {
    LineQuery { pattern, globs, case_insensitive: false }
}

fn find(tree: &TempDir, pattern: &str, filter: &PathFilter<'_>, max: u64) -> LineMatches {
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    find_lines(&scope(&root, filter, max), &query(pattern, &[]), &open).unwrap()
}

fn list(tree: &TempDir, globs: &[&str], filter: &PathFilter<'_>, max: u64) -> FileList {
    let root = tree.path().canonicalize().unwrap();
    list_files(&scope(&root, filter, max), globs, &|path| File::open(root.join(path))).unwrap()
}

fn lines(result: &LineMatches) -> Vec<String> {
    let line = result.hits().map(|hit| {
        format!("{}|{}|{}", hit.path.display(), hit.line, String::from_utf8_lossy(hit.text))
    });
    line.collect()
}

fn paths(list: &FileList) -> Vec<String> {
    list.paths().map(|path| path.to_string_lossy().into_owned()).collect()
}

const ALL: &PathFilter<'static> = &|_| true;

#[test]
fn matches_have_path_and_line_number() {
    let tree = tree(&[
        ("b", "x\ny x\r\nz"),
        ("a/c:1:d", "x"),
        ("a/b\nn", "x"),
        ("bin", "x\0x"),
        ("none", "y"),
    ]);
    let result = find(&tree, "x", ALL, 200);
    assert_eq!(lines(&result), ["a/b\nn|1|x", "a/c:1:d|1|x", "b|1|x", "b|2|y x"]);
    assert_eq!(
        (result.count, result.truncated, result.files_searched, result.unsearched.total),
        (4, false, 5, 0)
    );
}

#[test]
fn no_match_is_empty_and_a_bad_pattern_an_error_with_its_position() {
    let tree = tree(&[("a", "x")]);
    assert_eq!(lines(&find(&tree, "y", ALL, 200)), Vec::<String>::new());
    let root = tree.path();
    let open = |path: &Path| File::open(root.join(path));
    let error = find_lines(&scope(root, ALL, 200), &query("a(b", &[]), &open).unwrap_err();
    assert!(error.to_string().contains('^'), "{error}");
    assert!(matches!(
        find_lines(&scope(root, ALL, 1), &query("a", &["{"]), &open),
        Err(GrepError::Glob { .. })
    ));
}

#[test]
fn case_and_names_can_be_chosen() {
    let tree = tree(&[("a.rs", "Foo"), ("b.txt", "foo"), ("d/c.rs", "FOO")]);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let any = |globs: &[&str], case| {
        lines(
            &find_lines(
                &scope(&root, ALL, 9),
                &LineQuery { pattern: "foo", globs, case_insensitive: case },
                &open,
            )
            .unwrap(),
        )
    };
    assert_eq!(any(&[], false), ["b.txt|1|foo"]);
    assert_eq!(any(&[], true), ["a.rs|1|Foo", "b.txt|1|foo", "d/c.rs|1|FOO"]);
    assert_eq!(any(&["*.rs"], true), ["a.rs|1|Foo", "d/c.rs|1|FOO"]);
    assert_eq!(any(&[], false), ["b.txt|1|foo"], "the cache distinguishes patterns by case");
}

#[test]
fn at_most_200_matches_are_not_truncated_and_one_more_is() {
    for (lines, truncated) in [(199, false), (200, false), (201, true), (5000, true)] {
        let tree = tree(&[("a", &"x\n".repeat(150)), ("b", &"x\n".repeat(lines - 150))]);
        let result = find(&tree, "x", ALL, 200);
        assert_eq!((result.count, result.truncated), (lines.min(200) as u64, truncated), "{lines}");
        assert_eq!(result.hits().count(), lines.min(200));
    }
}

#[test]
fn at_most_1000_entries_are_not_truncated_and_one_more_is() {
    for (files, truncated) in [(1000, false), (1001, true)] {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..files {
            File::create(tree.path().join(format!("f{number:04}"))).unwrap();
        }
        let named = list(&tree, &["f*"], ALL, 1000);
        assert_eq!((named.count, named.truncated), (1000, truncated), "{files}");
        let paths = paths(&named);
        assert!(paths.is_sorted() && paths.len() == 1000);
    }
}

#[test]
fn names_come_sorted_and_links_are_not_followed() {
    let tree = tree(&[("b.ts", ""), ("a/z.ts", ""), ("a/y.js", ""), ("a\nb.ts", "")]);
    std::os::unix::fs::symlink("a", tree.path().join("link")).unwrap();
    assert_eq!(paths(&list(&tree, &["*.ts"], ALL, 9)), ["a/z.ts", "a\nb.ts", "b.ts"]);
    assert_eq!(paths(&list(&tree, &["a/**"], ALL, 9)), ["a/y.js", "a/z.ts"]);
    assert_eq!(paths(&list(&tree, &["*.py"], ALL, 9)), Vec::<String>::new());
}

#[test]
fn filtered_files_are_neither_searched_nor_listed_nor_counted() {
    let tree = tree(&[("ok/a", "x"), ("secret/b", "x"), ("ok/secret", "x"), ("c", "x")]);
    let filter: &PathFilter<'_> = &|path| !path.to_string_lossy().contains("secret");
    let seen = find(&tree, "x", filter, 200);
    assert_eq!(
        (lines(&seen), seen.files_searched),
        (vec!["c|1|x".to_owned(), "ok/a|1|x".to_owned()], 2)
    );
    assert_eq!(paths(&list(&tree, &[], filter, 200)), ["c", "ok/a"]);
    // They do not count towards the limit either.
    assert!(!find(&tree, "x", filter, 2).truncated);
    assert!(!list(&tree, &[], filter, 2).truncated);
}

#[test]
fn one_file_can_be_searched_and_a_binary_one_is_passed_over() {
    let tree = tree(&[("d/a", "x\nx"), ("bin", "x\0")]);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let at = |start| {
        find_lines(
            &Scope { start: Path::new(start), ..scope(&root, ALL, 9) },
            &query("x", &[]),
            &open,
        )
    };
    assert_eq!(lines(&at("d/a").unwrap()), ["d/a|1|x", "d/a|2|x"]);
    assert_eq!(at("bin").unwrap().count, 0);
    assert!(matches!(at("none"), Err(GrepError::Missing { .. })));
}

#[test]
fn a_search_stops_at_its_deadline_and_when_cancelled() {
    let tree = tree(&[("a", "x")]);
    let open = |path: &Path| File::open(tree.path().join(path));
    let now = Some(std::time::Instant::now());
    let late = Scope { deadline: now, ..scope(tree.path(), ALL, 9) };
    assert!(matches!(find_lines(&late, &query("x", &[]), &open), Err(GrepError::TimedOut { .. })));
    let cancelled = Scope { cancel: &AtomicBool::new(true), ..scope(tree.path(), ALL, 9) };
    assert!(matches!(list_files(&cancelled, &[], &open), Err(GrepError::Cancelled { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_limit_keeps_the_first_records(
        files in proptest::collection::vec(proptest::collection::vec("[xy]{0,2}", 0..6), 0..12),
        max in 0u64..20,
    ) {
        let tree = tempfile::tempdir().unwrap();
        for (number, lines) in files.iter().enumerate() {
            std::fs::write(tree.path().join(format!("f{number:02}")), lines.join("\n")).unwrap();
        }
        let all = find(&tree, "x", ALL, u64::MAX);
        let some = find(&tree, "x", ALL, max);
        prop_assert_eq!(some.truncated, all.count > max);
        prop_assert_eq!(lines(&some), lines(&all)[..usize::try_from(all.count.min(max)).unwrap()].to_vec());
    }
}

/// A search that could not read a file must not look like one without a match.
#[test]
fn files_that_are_not_searched_are_named() {
    let long = format!("early\n{}\nneedle\n", "a".repeat(toolwright_search::LINE_LIMIT + 1));
    let tree = tree(&[("a", "needle\n"), ("long", &long)]);
    let all = find(&tree, "needle|early", ALL, 200);
    assert_eq!(lines(&all), ["a|1|needle", "long|1|early"]);
    let why = "holds a line longer than 32 MiB, searched up to there".to_owned();
    assert_eq!(all.unsearched.named, [(Path::new("long").to_owned(), why.clone())]);
    assert_eq!(all.unsearched.total, 1);
    let root = tree.path().canonicalize().unwrap();
    let open = |path: &Path| File::open(root.join(path));
    let start = Scope { start: Path::new("long"), ..scope(&root, ALL, 200) };
    let one = find_lines(&start, &query("needle", &[]), &open).unwrap();
    assert_eq!(one.unsearched.named, [(Path::new("long").to_owned(), why)]);
}

#[test]
fn only_directories_that_a_pattern_reaches_are_walked() {
    let tree =
        tree(&[("etc/hosts", ""), ("etc/x/hosts", ""), ("big/etc/hosts", ""), ("hosts", "")]);
    let root = tree.path().canonicalize().unwrap();
    let listed = std::sync::Mutex::new(Vec::new());
    let open = |path: &Path| {
        listed.lock().unwrap().push(path.to_owned());
        File::open(root.join(path))
    };
    let named = |pattern: &str| {
        let named = list_files(&scope(&root, ALL, 200), &[pattern], &open).unwrap();
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
