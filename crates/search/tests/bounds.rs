//! Limits in bytes, time and place.

#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use support::{Tree, beneath, soak};
use toolwright_search::{GrepError, GrepRequest, grep};

#[test]
fn every_limit_cuts_on_a_line() {
    let tree =
        Tree::new(&[("a", "hit ä\n".repeat(40).as_bytes()), ("b/c", b"hit\nhit no newline")]);
    let cancel = AtomicBool::new(false);
    let all = tree.run(&tree.request("hit", &cancel)).expect("searched");
    assert_eq!(all.matches, 42);
    let all = all.text;
    for max_output_bytes in (0..all.len() + 3).chain([1024, usize::MAX]) {
        let request = GrepRequest { max_output_bytes, ..tree.request("hit", &cancel) };
        let result = tree.run(&request).expect("searched");
        assert!(result.text.len() <= max_output_bytes);
        assert!(all.starts_with(&result.text));
        assert!(result.text.is_empty() || result.text.ends_with(b"\n"));
        assert_eq!(result.truncated, max_output_bytes < all.len());
        let lines = result.text.split(|&byte| byte == b'\n').count() as u64 - 1;
        assert_eq!(result.matches, lines);
    }
}

#[test]
fn a_full_output_ends_the_search_and_says_how_to_narrow() {
    let tree = Tree::new(&[("a", "hit\n".repeat(1000).as_bytes()), ("z", b"hit\n")]);
    let cancel = AtomicBool::new(false);
    let opened = AtomicU64::new(0);
    let root = File::open(&tree.root).expect("root");
    let open = |path: &Path| {
        opened.fetch_add(u64::from(path == Path::new("z")), Ordering::Relaxed);
        beneath(&root, path)
    };
    let request = GrepRequest { max_output_bytes: 1500, ..tree.request("hit", &cancel) };
    let result = grep(&request, &open).expect("searched");
    let text = String::from_utf8(result.text).expect("utf-8");
    assert!(text.len() <= 1500 && result.truncated);
    assert_eq!(
        text.lines().last(),
        Some("[output cut at 1500 bytes: the search stopped in a, later matches are not shown]")
    );
    assert_eq!(opened.load(Ordering::Relaxed), 0, "the search went on");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60 * soak()))]

    #[test]
    fn no_text_is_longer_than_its_limit(
        lines in proptest::collection::vec("[ax\u{e9}]{0,60}", 0..60),
        max_output_bytes in prop_oneof![0usize..50, 1000usize..1100, 0usize..4000],
    ) {
        let tree = Tree::new(&[("f", lines.join("\n").as_bytes()), ("g\n[h]", b"a\n")]);
        let cancel = AtomicBool::new(false);
        let request = GrepRequest { max_output_bytes, ..tree.request("a", &cancel) };
        let result = tree.run(&request).expect("searched");
        prop_assert!(result.text.len() <= max_output_bytes);
        prop_assert!(std::str::from_utf8(&result.text).is_ok());
        prop_assert!(result.text.is_empty() || result.text.ends_with(b"\n"));
        if !result.truncated {
            let expected = lines.iter().filter(|line| line.contains('a')).count() as u64 + 1;
            prop_assert_eq!(result.matches, expected);
        }
    }
}

/// A sparse file of `size` bytes without a line end.
fn hole(tree: &Tree, path: &str, size: u64) {
    let file = File::create(tree.root.join(path)).expect("file");
    file.set_len(size).expect("size");
}

#[test]
fn one_line_of_500_megabytes() {
    let tree = Tree::new(&[("z", b"hit\n")]);
    let mut long = File::create(tree.root.join("long")).expect("file");
    long.write_all(b"hit before\nx").expect("written");
    // Beyond the limit the length makes no difference, so 40 MB are written to disk instead of 500.
    let block = vec![b'x'; 1 << 20];
    for _ in 0..40 {
        long.write_all(&block).expect("written");
    }
    hole(&tree, "zeros", 500 << 20);
    let cancel = AtomicBool::new(false);
    let result = tree.run(&tree.request("hit", &cancel)).expect("searched");
    let text = String::from_utf8(result.text).expect("utf-8");
    assert_eq!(
        text,
        "long:1:hit before\nz:1:hit\n[not searched: long: holds a line longer than 32 MiB, searched up to there]\n"
    );
    // A long matching line that does not fit is not buffered either.
    let request = GrepRequest { max_output_bytes: 5000, ..tree.request("x", &cancel) };
    let result = tree.run(&request).expect("searched");
    assert!(result.text.len() <= 5000);
}

#[test]
fn a_matching_line_longer_than_the_limit() {
    let tree = Tree::new(&[("min.js", "hit".repeat(1 << 20).as_bytes()), ("z", b"hit\n")]);
    let cancel = AtomicBool::new(false);
    let request = GrepRequest { max_output_bytes: 2000, ..tree.request("hit", &cancel) };
    let result = tree.run(&request).expect("searched");
    let text = String::from_utf8(result.text).expect("utf-8");
    assert!(result.truncated && text.contains("the first matching line, in min.js,"), "{text}");
}

/// A file that takes long to search, without a NUL byte that would end the search.
fn slow(tree: &Tree) {
    tree.write("big", "some text to be searched, with nothing in it\n".repeat(400_000).as_bytes());
    tree.write("a", b"zebra\n");
}

#[test]
fn a_deadline_keeps_the_lines_so_far() {
    let tree = Tree::new(&[]);
    slow(&tree);
    let cancel = AtomicBool::new(false);
    let root = File::open(&tree.root).expect("root");
    let started = Instant::now();
    // The file before it is searched. Opening the large one takes until the deadline.
    let open = |path: &Path| {
        if path == Path::new("big") {
            thread::sleep(Duration::from_millis(150));
        }
        beneath(&root, path)
    };
    let request = GrepRequest {
        deadline: Some(started + Duration::from_millis(100)),
        ..tree.request("z[a-z]b", &cancel)
    };
    match grep(&request, &open) {
        Err(GrepError::TimedOut { path, partial, matches }) => {
            assert_eq!(path, Path::new("big"));
            assert_eq!((partial.as_slice(), matches), (b"a:1:zebra\n".as_slice(), 1));
        }
        other => panic!("{other:?}"),
    }
    assert!(started.elapsed() < Duration::from_secs(2));
    let request = GrepRequest { deadline: Some(started), ..tree.request("x", &cancel) };
    assert!(matches!(tree.run(&request), Err(GrepError::TimedOut { .. })));
}

#[test]
fn cancel_in_the_middle_of_a_file() {
    let tree = Tree::new(&[]);
    slow(&tree);
    let cancel = AtomicBool::new(false);
    // The pattern is slow on purpose: without a literal the whole text goes through the automaton.
    let request = tree.request("([a-z ,]+x){3}q", &cancel);
    thread::scope(|scope| {
        let search = scope.spawn(|| (tree.run(&request), Instant::now()));
        thread::sleep(Duration::from_millis(60));
        let cancelled = Instant::now();
        cancel.store(true, Ordering::Relaxed);
        let (result, returned) = search.join().expect("no panic");
        match result {
            Err(GrepError::Cancelled { path }) => assert_eq!(path, Path::new("big")),
            other => panic!("{other:?}"),
        }
        assert!(returned - cancelled < Duration::from_millis(500), "{:?}", returned - cancelled);
    });
    assert!(matches!(tree.run(&request), Err(GrepError::Cancelled { .. })), "set before");
}

/// Ends the swaps, also when a search panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory is exchanged repeatedly with a link to a tree outside while it is searched.
#[test]
fn a_search_never_leaves_the_root() {
    let tree = Tree::new(&[("a/deep/in", b"hit inside\n"), ("b", b"hit inside\n")]);
    let outside = tree.root.with_file_name("outside");
    for n in 0..20 {
        let dir = outside.join(format!("deep/stranger{n}"));
        fs::create_dir_all(&dir).expect("outside");
        fs::write(dir.join("leak"), b"hit OUTSIDE\n").expect("outside");
    }
    fs::write(outside.join("deep/in"), b"hit OUTSIDE\n").expect("outside");
    fs::write(outside.join(".ignore"), b"in\nb\n").expect("outside");
    symlink(&outside, tree.root.join(".swap")).expect("link");
    let (dir, link) = (tree.root.join("a"), tree.root.join(".swap"));
    let stop = AtomicBool::new(false);
    let cancel = AtomicBool::new(false);
    let swaps = AtomicU32::new(0);
    let mut complete = 0;
    thread::scope(|scope| {
        let _end = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).expect("exchanged");
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Runs until both states were searched, however busy the machine is.
        let enough = |searches: u32, complete: u32| {
            searches >= 200 && complete > 0 && swaps.load(Ordering::Relaxed) > 200
        };
        for searches in 0..50_000 {
            if enough(searches, complete) {
                break;
            }
            let result = tree.run(&tree.request("hit", &cancel)).expect("searched");
            let text = String::from_utf8(result.text).expect("utf-8");
            assert!(!text.contains("OUTSIDE") && !text.contains("stranger"), "{text}");
            assert!(text.contains("b:1:hit inside\n"), "a rule from outside was taken: {text}");
            complete += u32::from(text.contains("a/deep/in:1:hit inside\n"));
        }
    });
    assert!(complete > 0, "the race was never lost by the link");
}
