//! Several threads do not change the result, and stop when they must.

#![cfg(target_os = "linux")]

mod support;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::io::Errno;
use support::{Tree, beneath, soak};
use toolwright_search::{
    GrepError, GrepRequest, LineQuery, Parallelism, Scope, find_lines, grep, list_files,
};

/// Several threads from the first directory on.
fn threads(count: usize) -> Parallelism {
    Parallelism { threshold: 0, threads: Some(count) }
}

/// `dirs` directories of `files` files with `content` each.
fn forest(dirs: usize, files: usize, content: &str) -> Tree {
    let tree = Tree::new(&[]);
    for dir in 0..dirs {
        for file in 0..files {
            tree.write(&format!("d{dir:03}/f{file:03}"), content.as_bytes());
        }
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80 * soak()))]

    #[test]
    fn one_thread_and_several_find_the_same(
        files in proptest::collection::vec((
            "(a|b|c|\\.h|d)(/(a|b|e|x)){0,3}(\\.x|\\.y|)",
            prop_oneof![
                "[ab\u{e9}\n\u{0}]{0,30}",
                (1usize..400).prop_map(|n| format!("a{}\n", "-".repeat(200)).repeat(n)),
            ],
        ), 0..40),
        rules in proptest::collection::vec((
            "((a|b)/)?\\.(git|rg|)ignore",
            "(!?(a|b|c|\\.h|\\*)(/(a|e|\\*))?(\\.x|\\.y)?\n){0,3}",
        ), 0..3),
        refused in "[a-e]",
        max_output_bytes in prop_oneof![0usize..200, 1000usize..5000, 60_000usize..200_000, Just(usize::MAX)],
        count in 2usize..6,
    ) {
        let tree = Tree::new(&[]);
        for (path, content) in files.iter().chain(&rules) {
            let path = tree.root.join(path);
            if std::fs::create_dir_all(path.parent().expect("parent")).is_ok() && !path.is_dir() {
                std::fs::write(path, content).expect("file");
            }
        }
        tree.make_repository("");
        let cancel = AtomicBool::new(false);
        let root = File::open(&tree.root).expect("root");
        let open = |path: &Path| {
            if path.file_name().is_some_and(|name| *name == *refused) {
                return Err(Errno::ACCESS.into());
            }
            beneath(&root, path)
        };
        let request = GrepRequest { max_output_bytes, ..tree.request("a", &cancel) };
        let one = grep(&GrepRequest { parallelism: threads(1), ..request }, &open).expect("searched");
        let several = grep(&GrepRequest { parallelism: threads(count), ..request }, &open).expect("searched");
        prop_assert!(one.text.len() <= max_output_bytes);
        prop_assert_eq!(String::from_utf8_lossy(&several.text), String::from_utf8_lossy(&one.text));
        prop_assert_eq!(several, one);
        let scope = Scope {
            root: &tree.root,
            start: Path::new(""),
            filter: &|path| !path.ends_with("b.x"),
            max_results: (max_output_bytes % 50) as u64,
            max_bytes: max_output_bytes,
            deadline: None,
            cancel: &cancel,
            parallelism: Parallelism::default(),
        };
        let one = list_files(&Scope { parallelism: threads(1), ..scope }, &["!*.y"], &open).expect("listed");
        prop_assert!(one.count <= scope.max_results);
        let several = list_files(&Scope { parallelism: threads(count), ..scope }, &["!*.y"], &open).expect("listed");
        prop_assert_eq!(several, one);
        let query = LineQuery { pattern: "a", globs: &["!*.y"], case_insensitive: count % 2 == 0 };
        let mut one = find_lines(&Scope { parallelism: threads(1), ..scope }, &query, &open).expect("searched");
        let mut several =
            find_lines(&Scope { parallelism: threads(count), ..scope }, &query, &open).expect("searched");
        prop_assert!(one.count <= scope.max_results);
        // Several threads search some files ahead of the limit.
        if one.truncated {
            prop_assert!(several.files_searched >= one.files_searched);
            (one.files_searched, several.files_searched) = (0, 0);
        }
        prop_assert_eq!(several, one);
    }
}

#[test]
fn every_limit() {
    let tree = forest(12, 5, "hit one\nhit two\n");
    let cancel = AtomicBool::new(false);
    for max_output_bytes in (0..3000).step_by(7) {
        let request = GrepRequest { max_output_bytes, ..tree.request("hit", &cancel) };
        let one = tree.run_on(&request, 1).expect("searched");
        assert!(one.text.len() <= max_output_bytes);
        assert_eq!(tree.run_on(&request, 3).expect("searched"), one, "{max_output_bytes}");
    }
}

#[test]
fn threads_are_added_in_the_middle_of_a_tree() {
    let tree = forest(30, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let request = tree.request("hit", &cancel);
    let root = File::open(&tree.root).expect("root");
    let open = |path: &Path| beneath(&root, path);
    let all = grep(&GrepRequest { parallelism: threads(1), ..request }, &open).expect("searched");
    assert_eq!(all.matches, 600);
    for threshold in [1, 17, 299, 600, 10_000] {
        for threads in [Some(3), None] {
            let parallelism = Parallelism { threshold, threads };
            assert_eq!(
                grep(&GrepRequest { parallelism, ..request }, &open).expect("searched"),
                all
            );
        }
    }
}

#[test]
fn a_full_output_ends_the_search_soon() {
    let tree = forest(100, 30, "a line that says hit and then some\n");
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let opened = AtomicUsize::new(0);
    let open = |path: &Path| {
        opened.fetch_add(1, Ordering::Relaxed);
        beneath(&root, path)
    };
    // With about 45 bytes a line, the output is full after about 220 of 3,000 files.
    let request = GrepRequest { max_output_bytes: 10_000, ..tree.request("hit", &cancel) };
    let one = grep(&GrepRequest { parallelism: threads(1), ..request }, &open).expect("searched");
    let alone = opened.swap(0, Ordering::Relaxed);
    assert!(alone < 250, "{alone}");
    let several =
        grep(&GrepRequest { parallelism: threads(4), ..request }, &open).expect("searched");
    assert_eq!(several, one);
    // Four running tasks of 16 files, the results ahead of the output, and their directories.
    let together = opened.load(Ordering::Relaxed);
    assert!(together < alone + 330, "{together} and not {alone}");
}

#[test]
fn results_ahead_of_the_output_are_bounded() {
    // The first file opens late. Unbounded results would take 30 MB or more until then.
    let line = format!("hit{}\n", "-".repeat(996));
    for (content, max_ahead) in [(line.repeat(100), 80), (line.repeat(20), 300)] {
        let tree = forest(15, 40, &content);
        tree.write("a", b"hit\n");
        for dir in 0..15 {
            tree.write(&format!("d{dir:03}/g"), line.repeat(200).as_bytes());
        }
        let cancel = AtomicBool::new(false);
        let root = File::open(&tree.root).expect("root");
        let (opened, ahead) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let open = |path: &Path| {
            if path == Path::new("a") {
                thread::sleep(Duration::from_millis(400));
                ahead.store(opened.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            opened.fetch_add(1, Ordering::Relaxed);
            beneath(&root, path)
        };
        let request = GrepRequest { max_output_bytes: usize::MAX, ..tree.request("hit", &cancel) };
        let several =
            grep(&GrepRequest { parallelism: threads(4), ..request }, &open).expect("searched");
        let ahead = ahead.load(Ordering::Relaxed);
        assert!(ahead < max_ahead, "{ahead} files of {} bytes were ahead", content.len());
        assert_eq!(
            several,
            grep(&GrepRequest { parallelism: threads(1), ..request }, &open).expect("searched")
        );
    }
}

#[test]
fn cancel_ends_all_threads() {
    let tree = forest(50, 20, "nothing\n");
    let root = File::open(&tree.root).expect("root");
    for at in [1, 100, 500] {
        let cancel = AtomicBool::new(false);
        let opened = AtomicUsize::new(0);
        let open = |path: &Path| {
            if opened.fetch_add(1, Ordering::Relaxed) == at {
                cancel.store(true, Ordering::Relaxed);
            }
            beneath(&root, path)
        };
        let ended =
            grep(&GrepRequest { parallelism: threads(4), ..tree.request("hit", &cancel) }, &open);
        assert!(matches!(ended, Err(GrepError::Cancelled { .. })), "{ended:?}");
        let opened = opened.load(Ordering::Relaxed);
        assert!(opened < at + 20, "{opened} after {at}");
    }
}

#[test]
fn a_deadline_keeps_the_results_in_order() {
    let tree = forest(50, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let all = tree.run_on(&tree.request("hit", &cancel), 1).expect("searched").text;
    let root = File::open(&tree.root).expect("root");
    let open = |path: &Path| {
        thread::sleep(Duration::from_millis(1));
        beneath(&root, path)
    };
    for count in [1, 4] {
        let started = Instant::now();
        let request = GrepRequest {
            deadline: Some(started + Duration::from_millis(120)),
            ..tree.request("hit", &cancel)
        };
        match grep(&GrepRequest { parallelism: threads(count), ..request }, &open) {
            Err(GrepError::TimedOut { path, partial, matches }) => {
                assert!(all.starts_with(&partial) && !partial.is_empty());
                assert!(partial.ends_with(b"\n"));
                assert_eq!(partial.split_inclusive(|&byte| byte == b'\n').count() as u64, matches);
                // The error names the file of the next line.
                let next = String::from_utf8_lossy(&all[partial.len()..]).into_owned();
                let path = path.to_string_lossy();
                assert!(next.starts_with(&*path), "{path} is not where {next:.20} begins");
            }
            other => panic!("{other:?}"),
        }
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
}

/// All threads but one wait for a turn that never comes.
#[test]
fn a_deadline_wakes_waiting_threads() {
    let tree = forest(20, 5, &"hit\n".repeat(5_000));
    tree.write("a", b"hit\n");
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let open = |path: &Path| {
        if path == Path::new("a") {
            thread::sleep(Duration::from_millis(300));
        }
        beneath(&root, path)
    };
    let request = GrepRequest {
        deadline: Some(Instant::now() + Duration::from_millis(100)),
        ..tree.request("hit", &cancel)
    };
    match grep(&GrepRequest { parallelism: threads(4), ..request }, &open) {
        Err(GrepError::TimedOut { path, partial, .. }) => {
            assert_eq!((path.as_path(), partial.as_slice()), (Path::new("a"), &b""[..]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_reaches_only_its_caller() {
    let tree = forest(30, 20, &"hit\n".repeat(500));
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let request = tree.request("nothing", &cancel);
    for bad in ["d000/f000", "d007/f003", "d029/f019"] {
        let open = |path: &Path| {
            assert!(path != Path::new(bad), "asked for on purpose");
            beneath(&root, path)
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            grep(&GrepRequest { parallelism: threads(4), ..request }, &open)
        }));
        assert!(ended.is_err());
    }
    assert_eq!(tree.run_on(&request, 4).expect("searched").text, b"");
}

#[test]
fn many_searches_at_the_same_time() {
    let tree = forest(20, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let all = tree.run_on(&tree.request("hit", &cancel), 1).expect("searched");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let result = tree.run(&tree.request("hit", &cancel)).expect("searched");
                    assert_eq!(result, all);
                }
            });
        }
    });
}
