//! Edits: no change is lost, neither the call's nor another process's.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use support::{NEVER, RESOLVERS, Tree, checked, self_checking, tenth_of};
use toolwright_fs::{
    Durability, FsError, FsErrorKind, Root, UpdateError, Updated, WriteOptions, update, write,
};

const LIMIT: u64 = 1 << 20;

fn edit(
    root: &Root,
    path: &str,
    transform: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<Updated, FsError> {
    edit_with(root, path, &WriteOptions::default(), &NEVER, transform)
}

fn edit_with(
    root: &Root,
    path: &str,
    options: &WriteOptions,
    cancel: &AtomicBool,
    transform: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<Updated, FsError> {
    update::<()>(root, path, LIMIT, options, cancel, |old| Ok(transform(old))).map_err(|error| {
        match error {
            UpdateError::Fs(error) => error,
            UpdateError::Refused(()) => unreachable!(),
        }
    })
}

#[test]
fn twenty_edits_at_once_all_land_however_the_file_is_spelled() {
    for resolver in RESOLVERS {
        for durability in [Durability::Process, Durability::Fsync] {
            let tree = Tree::new();
            let root = Root::open_with(&tree.root, resolver).unwrap();
            tree.put("dir/file", "");
            tree.link("dir", "directory-link");
            tree.link("dir/file", "file-link");
            let absolute = tree.root.join("dir/file");
            let spellings = [
                "dir/file",
                "./dir//file",
                "dir/../dir/file",
                "directory-link/file",
                "file-link",
                absolute.to_str().unwrap(),
            ];
            let options = WriteOptions { durability, ..WriteOptions::default() };
            std::thread::scope(|scope| {
                for number in 0..20 {
                    let (root, path, options) =
                        (&root, spellings[number % spellings.len()], &options);
                    scope.spawn(move || {
                        let line = format!("line {number}\n");
                        edit_with(root, path, options, &NEVER, |old| {
                            [old, line.as_bytes()].concat()
                        })
                        .unwrap();
                    });
                }
            });
            let text = String::from_utf8(tree.get("dir/file")).unwrap();
            let mut lines: Vec<_> = text.lines().collect();
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), 20, "{text}");
            assert!(tree.leftovers().is_empty());
            assert!(tree.root.join("file-link").is_symlink());
        }
    }
}

/// What another program can do to the file during the edit.
const STRIKES: [&str; 7] =
    ["rename-over", "in-place", "in-place, same size", "append", "deletion", "fifo", "symlink"];

fn strike(kind: &str, path: &Path) {
    let beside = path.with_file_name("foreign");
    match kind {
        "rename-over" => {
            std::fs::write(&beside, "foreign").unwrap();
            std::fs::rename(&beside, path).unwrap();
        }
        "in-place" => std::fs::write(path, "foreign content").unwrap(),
        "in-place, same size" => {
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(b"X", 1).unwrap();
        }
        "append" => {
            let file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            std::io::Write::write_all(&mut &file, b"more").unwrap();
        }
        "deletion" => std::fs::remove_file(path).unwrap(),
        "fifo" => {
            std::fs::remove_file(path).unwrap();
            support::fifo(path);
        }
        "symlink" => {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("other", path).unwrap();
        }
        _ => {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }
    }
}

#[test]
fn a_foreign_change_during_an_edit_is_a_conflict_and_stays_as_it_is() {
    for resolver in RESOLVERS {
        for kind in STRIKES.into_iter().chain(["directory"]) {
            for allow_in_place in [false, true] {
                let tree = Tree::new();
                let root = Root::open_with(&tree.root, resolver).unwrap();
                tree.put("file", "old");
                tree.put("other", "other");
                let path = tree.root.join("file");
                let mut after = Vec::new();
                let options = WriteOptions { allow_in_place, ..WriteOptions::default() };
                let answer = edit_with(&root, "file", &options, &NEVER, |_| {
                    strike(kind, &path);
                    after = support::snapshot(&tree.root);
                    b"edited".to_vec()
                });
                let error = answer.unwrap_err();
                assert!(
                    matches!(error, FsError { kind: FsErrorKind::Conflict, .. }),
                    "{kind}: {error:?}"
                );
                assert_eq!(support::snapshot(&tree.root), after, "{kind}");
            }
        }
    }
}

#[test]
fn a_touched_file_with_the_same_bytes_is_no_conflict() {
    let tree = Tree::new();
    tree.put("file", "old");
    edit(&tree.open(), "file", |old| {
        std::fs::write(tree.root.join("file"), old).unwrap();
        b"edited".to_vec()
    })
    .unwrap();
    assert_eq!(tree.get("file"), b"edited");
}

/// Another program replaces the file by version 1, 2, 3 and so on. Every edit appends a mark to the
/// version that it has read. From the time when the program has put version N in place, the file is
/// version N with marks, or a later one. An edit that overwrote version N by an older one with a
/// mark would be noticed.
#[test]
fn no_version_of_a_foreign_writer_is_ever_lost() {
    let versions = tenth_of(20_000) as u64;
    for resolver in RESOLVERS {
        let tree = Tree::new();
        let root = Root::open_with(&tree.root, resolver).unwrap();
        let path = tree.root.join("file");
        tree.put("file", "0:");
        let done = AtomicBool::new(false);
        let tally = Mutex::new((0_u64, 0_u64));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    // Once more at the end, without the other program.
                    let mut last = false;
                    while !std::mem::replace(&mut last, done.load(Ordering::Relaxed)) {
                        let answer = edit(&root, "file", |old| [old, b"+"].concat());
                        let mut tally = tally.lock().unwrap();
                        match answer {
                            Ok(_) => tally.0 += 1,
                            Err(FsError { kind: FsErrorKind::Conflict, .. }) => tally.1 += 1,
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                });
            }
            let beside = tree.root.join("foreign");
            for version in 1..=versions {
                std::fs::write(&beside, format!("{version}:")).unwrap();
                std::fs::rename(&beside, &path).unwrap();
                // Undoing an exchange shows the edit's own file for a moment. The file after that
                // moment counts.
                let since = Instant::now();
                loop {
                    let text = std::fs::read_to_string(&path).unwrap();
                    if text.split(':').next().unwrap() == version.to_string() {
                        break;
                    }
                    let lost = since.elapsed() > Duration::from_secs(10);
                    done.store(lost, Ordering::Relaxed);
                    assert!(!lost, "version {version} is lost: {text}");
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let (landed, conflicts) = *tally.lock().unwrap();
        println!("{versions} foreign versions, {landed} edits landed, {conflicts} conflicts");
        assert!(landed > 0);
        let text = String::from_utf8(tree.get("file")).unwrap();
        assert!(text.starts_with(&format!("{versions}:")), "{text}");
        assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
    }
}

#[test]
fn edits_of_other_processes_are_foreign_changes_too_and_none_is_lost() {
    const TEST: &str = "edits_of_other_processes_are_foreign_changes_too_and_none_is_lost";
    if let Some(argument) = support::child_argument() {
        let (path, who) = argument.split_once('|').unwrap();
        let root = Root::open(Path::new(path)).unwrap();
        for number in 0..tenth_of(1000) {
            loop {
                let line = format!("{who} {number}\n");
                match edit(&root, "file", |old| [old, line.as_bytes()].concat()) {
                    Ok(_) => break,
                    Err(FsError { kind: FsErrorKind::Conflict, .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
        return;
    }
    let tree = Tree::new();
    tree.put("file", "");
    let children: Vec<_> = (0..5)
        .map(|who| {
            let argument = format!("{}|{who}", tree.root.display());
            support::child(TEST, &argument).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = String::from_utf8(tree.get("file")).unwrap();
    for who in 0..5 {
        let own: Vec<_> =
            text.lines().filter(|line| line.starts_with(&format!("{who} "))).collect();
        let want: Vec<_> = (0..tenth_of(1000)).map(|number| format!("{who} {number}")).collect();
        assert_eq!(own, want, "every line once, in order");
    }
    assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
}

#[test]
fn a_reader_of_an_edited_file_sees_versions_in_full() {
    let tree = Tree::new();
    let root = tree.open();
    write(&root, "file", &self_checking(0, 100), &WriteOptions::default(), &NEVER).unwrap();
    let tag = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for next in 1..=tenth_of(10_000) as u64 {
                let length = usize::try_from(next % 7 * 5000).unwrap();
                edit(&root, "file", |_| self_checking(next, length)).unwrap();
                tag.store(next, Ordering::Release);
            }
            tag.store(u64::MAX, Ordering::Release);
        });
        loop {
            let at_least = tag.load(Ordering::Acquire);
            if at_least == u64::MAX {
                break;
            }
            assert!(checked(&tree.get("file")).expect("a version in full") >= at_least);
        }
    });
}

#[test]
fn sizes_are_held_to_the_limit_before_and_after() {
    let tree = Tree::new();
    let root = tree.open();
    let options = WriteOptions::default();
    tree.put("file", "12345");
    let call = |limit, new: &'static [u8]| {
        update::<()>(&root, "file", limit, &options, &NEVER, |_| Ok(new.to_vec()))
    };
    let too_large = |answer, want: (u64, bool)| match answer {
        Err(UpdateError::Fs(FsError {
            kind: FsErrorKind::TooLarge { bytes, result, .. }, ..
        })) => {
            assert_eq!((bytes, result), want);
        }
        other => panic!("{other:?}"),
    };
    too_large(call(4, b""), (5, false));
    too_large(call(5, b"123456"), (6, true));
    assert_eq!(tree.get("file"), b"12345");
    assert_eq!(call(5, b"54321").unwrap(), Updated { old_bytes: 5, new_bytes: 5 });
    assert_eq!(call(5, b"").unwrap(), Updated { old_bytes: 5, new_bytes: 0 });
    assert_eq!(tree.listing(), ["file"]);
}

#[test]
fn refused_or_unchanged_content_is_not_written() {
    let tree = Tree::new();
    let root = tree.open();
    tree.put("file", "old");
    let state = || {
        let meta = tree.root.join("file").metadata().unwrap();
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let before = state();
    edit(&root, "file", <[u8]>::to_vec).unwrap();
    let refused = update(&root, "file", LIMIT, &WriteOptions::default(), &NEVER, |_| Err("why"));
    assert!(matches!(refused, Err(UpdateError::Refused("why"))));
    assert_eq!(state(), before);
    assert!(matches!(
        edit(&root, "nope", |_| vec![]),
        Err(FsError { kind: FsErrorKind::NotFound, .. })
    ));
    assert!(matches!(
        edit(&root, "no/pe", |_| vec![]),
        Err(FsError { kind: FsErrorKind::NotFound, .. })
    ));
    assert_eq!(tree.listing(), ["file"], "an edit creates nothing");
}

#[test]
fn a_call_that_waits_gives_up_at_its_limit_or_when_cancelled_and_the_rest_go_in_order() {
    let tree = Tree::new();
    let root = tree.open();
    tree.put("file", "");
    let cancel = AtomicBool::new(false);
    let turns = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (holding, is_held) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let root = &root;
        scope.spawn(move || {
            edit(root, "file", |_| {
                holding.send(()).unwrap();
                released.recv().unwrap();
                b"first\n".to_vec()
            })
            .unwrap();
        });
        is_held.recv().unwrap();
        let impatient = WriteOptions { wait: Duration::from_millis(50), ..WriteOptions::default() };
        let started = Instant::now();
        let error = write(root, "./file", b"", &impatient, &NEVER).unwrap_err();
        let FsError { kind: FsErrorKind::Busy { waited, .. }, .. } = error else {
            panic!("{error:?}")
        };
        assert!(waited >= Duration::from_millis(50) && started.elapsed() < Duration::from_secs(5));
        let cancelled = scope.spawn(|| {
            edit_with(root, "file", &WriteOptions::default(), &cancel, |_| b"never".to_vec())
        });
        for number in 0..10 {
            let turns = &turns;
            scope.spawn(move || {
                edit(root, "file", |old| {
                    turns.lock().unwrap().push(number);
                    [old, b"+"].concat()
                })
                .unwrap()
            });
            // Long enough for the call to be in the queue before the next one.
            std::thread::sleep(Duration::from_millis(50));
        }
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(
            cancelled.join().unwrap(),
            Err(FsError { kind: FsErrorKind::Cancelled, .. })
        ));
        release.send(()).unwrap();
    });
    assert_eq!(*turns.lock().unwrap(), (0..10).collect::<Vec<_>>());
    assert_eq!(tree.get("file"), b"first\n++++++++++");
}
