//! What several threads must not change, and what they must not do.

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
use toolwright_search::{GlobRequest, GrepError, GrepRequest, Spread, glob_spread, grep_spread};

/// Several threads from the first directory on.
fn threads(count: usize) -> Spread {
    Spread { switch: 0, threads: Some(count) }
}

/// `dirs` directories of `files` files with `content` each.
fn wood(dirs: usize, files: usize, content: &str) -> Tree {
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
    fn one_thread_and_several_say_the_same(
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
        std::fs::create_dir(tree.root.join(".git")).expect("git");
        let cancel = AtomicBool::new(false);
        let root = File::open(&tree.root).expect("root");
        let open = |path: &Path| {
            if path.file_name().is_some_and(|name| *name == *refused) {
                return Err(Errno::ACCESS.into());
            }
            beneath(&root, path)
        };
        let request = GrepRequest { max_output_bytes, ..tree.request("a", &cancel) };
        let one = grep_spread(&request, &open, threads(1)).expect("searched");
        let several = grep_spread(&request, &open, threads(count)).expect("searched");
        prop_assert!(one.text.len() <= max_output_bytes);
        prop_assert_eq!(String::from_utf8_lossy(&several.text), String::from_utf8_lossy(&one.text));
        prop_assert_eq!(several, one);
        let request = GlobRequest {
            root: &tree.root,
            start: Path::new(""),
            patterns: &["!*.y"],
            hidden: count % 2 == 0,
            max_results: (max_output_bytes % 50) as u64,
            deadline: None,
            cancel: &cancel,
        };
        let one = glob_spread(&request, &open, threads(1)).expect("listed");
        prop_assert!(one.count <= request.max_results);
        prop_assert_eq!(glob_spread(&request, &open, threads(count)).expect("listed"), one);
    }
}

#[test]
fn every_limit() {
    let tree = wood(12, 5, "hit one\nhit two\n");
    let cancel = AtomicBool::new(false);
    for max_output_bytes in (0..3000).step_by(7) {
        let request = GrepRequest { max_output_bytes, ..tree.request("hit", &cancel) };
        let one = tree.run_spread(&request, 1).expect("searched");
        assert!(one.text.len() <= max_output_bytes);
        assert_eq!(tree.run_spread(&request, 3).expect("searched"), one, "{max_output_bytes}");
    }
}

#[test]
fn the_switch_in_the_middle_of_a_tree() {
    let tree = wood(30, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let request = tree.request("hit", &cancel);
    let root = File::open(&tree.root).expect("root");
    let open = |path: &Path| beneath(&root, path);
    let all = grep_spread(&request, &open, threads(1)).expect("searched");
    assert_eq!(all.matches, 600);
    for switch in [1, 17, 299, 600, 10_000] {
        let spread = Spread { switch, threads: Some(3) };
        assert_eq!(grep_spread(&request, &open, spread).expect("searched"), all);
        let spread = Spread { switch, threads: None };
        assert_eq!(grep_spread(&request, &open, spread).expect("searched"), all);
    }
}

#[test]
fn a_full_output_ends_it_soon() {
    let tree = wood(100, 30, "a line that says hit and then some\n");
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let opened = AtomicUsize::new(0);
    let open = |path: &Path| {
        opened.fetch_add(1, Ordering::Relaxed);
        beneath(&root, path)
    };
    // Some 45 bytes a line: full after some 220 of 3,000 files.
    let request = GrepRequest { max_output_bytes: 10_000, ..tree.request("hit", &cancel) };
    let one = grep_spread(&request, &open, threads(1)).expect("searched");
    let alone = opened.swap(0, Ordering::Relaxed);
    assert!(alone < 250, "{alone}");
    let several = grep_spread(&request, &open, threads(4)).expect("searched");
    assert_eq!(several, one);
    // Four tasks of 16 files in hand, the findings ahead, and the directories they are in.
    let together = opened.load(Ordering::Relaxed);
    assert!(together < alone + 330, "{together} and not {alone}");
}

#[test]
fn what_is_ahead_waits_for_the_first() {
    // The first file is opened late; what is found meanwhile would be 30 MB or more.
    let line = format!("hit{}\n", "-".repeat(996));
    for (content, most) in [(line.repeat(100), 80), (line.repeat(20), 300)] {
        let tree = wood(15, 40, &content);
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
        let several = grep_spread(&request, &open, threads(4)).expect("searched");
        let ahead = ahead.load(Ordering::Relaxed);
        assert!(ahead < most, "{ahead} files of {} bytes were ahead", content.len());
        assert_eq!(several, grep_spread(&request, &open, threads(1)).expect("searched"));
    }
}

#[test]
fn cancel_ends_all_threads() {
    let tree = wood(50, 20, "nothing\n");
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
        let ended = grep_spread(&tree.request("hit", &cancel), &open, threads(4));
        assert!(matches!(ended, Err(GrepError::Cancelled { .. })), "{ended:?}");
        let opened = opened.load(Ordering::Relaxed);
        assert!(opened < at + 20, "{opened} after {at}");
    }
}

#[test]
fn a_deadline_keeps_what_is_in_order() {
    let tree = wood(50, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let all = tree.run_spread(&tree.request("hit", &cancel), 1).expect("searched").text;
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
        match grep_spread(&request, &open, threads(count)) {
            Err(GrepError::TimedOut { path, partial, matches }) => {
                assert!(all.starts_with(&partial) && !partial.is_empty());
                assert!(partial.ends_with(b"\n"));
                assert_eq!(partial.split_inclusive(|&byte| byte == b'\n').count() as u64, matches);
                // What is next in order is where it was.
                let next = String::from_utf8_lossy(&all[partial.len()..]).into_owned();
                let path = path.to_string_lossy();
                assert!(next.starts_with(&*path), "{path} is not where {next:.20} begins");
            }
            other => panic!("{other:?}"),
        }
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
}

/// All but one of the threads sleep, for findings that are never taken.
#[test]
fn a_deadline_wakes_who_waits() {
    let tree = wood(20, 5, &"hit\n".repeat(5_000));
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
    match grep_spread(&request, &open, threads(4)) {
        Err(GrepError::TimedOut { path, partial, .. }) => {
            assert_eq!((path.as_path(), partial.as_slice()), (Path::new("a"), &b""[..]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_reaches_the_caller_and_nobody_else() {
    let tree = wood(30, 20, &"hit\n".repeat(500));
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let request = tree.request("nothing", &cancel);
    for bad in ["d000/f000", "d007/f003", "d029/f019"] {
        let open = |path: &Path| {
            assert!(path != Path::new(bad), "asked for on purpose");
            beneath(&root, path)
        };
        let ended = catch_unwind(AssertUnwindSafe(|| grep_spread(&request, &open, threads(4))));
        assert!(ended.is_err());
    }
    assert_eq!(tree.run_spread(&request, 4).expect("searched").text, b"");
}

#[test]
fn many_at_once() {
    let tree = wood(20, 20, "hit\n");
    let cancel = AtomicBool::new(false);
    let all = tree.run_spread(&tree.request("hit", &cancel), 1).expect("searched");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let found = tree.run(&tree.request("hit", &cancel)).expect("searched");
                    assert_eq!(found, all);
                }
            });
        }
    });
}
