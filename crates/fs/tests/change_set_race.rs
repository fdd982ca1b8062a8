//! Change sets among others who change the same files, and systems that refuse.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::convert::Infallible;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use rustix::process::{Resource, Rlimit};
use support::children::{mount, unshared};
use support::{NEVER, Random, Stop, Tree, kind, snapshot, tenth_of};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, ChangedFiles, FileChange, FsError, Place, Root, UpdateError,
    WriteOptions, write,
};

const CREATE: Change<'_> = Change::Create { mode: None };

fn at<'a>(path: &'a str, change: Change<'a>) -> FileChange<'a> {
    FileChange { place: Place::Path(path), change }
}

fn run(
    root: &Root,
    changes: &[FileChange<'_>],
    options: &WriteOptions,
    mut new: impl FnMut(usize, &[u8]) -> Result<Vec<u8>, Infallible>,
) -> Result<ChangedFiles, FsError> {
    let set = ChangeSet { root, changes, emptied: &[], limits: ChangeLimits::default() };
    set.run(options, &NEVER, |index, old| new(index, old.bytes)).map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}

#[test]
fn a_file_that_changed_since_it_was_read_refuses_the_set() {
    for change in ["written", "replaced", "deleted", "linked", "appeared", "made a directory"] {
        let tree = Tree::new();
        for name in ["a", "b", "c"] {
            tree.put(name, "1");
        }
        let before = |tree: &Tree| {
            // As it is after the other's change.
            let path = tree.root.join("b");
            match change {
                "written" => std::fs::write(&path, "theirs").unwrap(),
                "replaced" => {
                    tree.put("other", "1");
                    std::fs::rename(tree.root.join("other"), &path).unwrap();
                }
                "deleted" => std::fs::remove_file(&path).unwrap(),
                "linked" => {
                    std::fs::remove_file(&path).unwrap();
                    symlink("../outside/secret", &path).unwrap();
                }
                "appeared" => tree.put("new/x", "theirs"),
                _ => {
                    std::fs::remove_file(&path).unwrap();
                    std::fs::create_dir(&path).unwrap();
                }
            }
        };
        for change_of_b in [Change::Update, Change::Delete] {
            if !tree.root.join("b").symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                break;
            }
            let changes = [
                at("a", Change::Update),
                at("b", change_of_b),
                at("c", Change::Delete),
                at("new/x", CREATE),
            ];
            let _ = std::fs::remove_dir_all(tree.root.join("new"));
            let mut expected = Vec::new();
            let error = run(&tree.open(), &changes, &WriteOptions::default(), |index, _| {
                if index == 3 {
                    before(&tree);
                    expected = snapshot(tree.base.path());
                }
                Ok(b"2".to_vec())
            })
            .unwrap_err();
            assert_eq!(kind(&error), "Conflict", "{change}");
            assert_eq!(snapshot(tree.base.path()), expected, "{change}");
        }
    }
}

/// Another program replaces, deletes and makes the files all the time. Whatever it does stays, and the
/// set changes all files or none.
#[test]
fn sets_among_other_writers_are_made_in_full_or_not_at_all() {
    let tree = Tree::new();
    let root = tree.open();
    let stop = AtomicBool::new(false);
    let mut random = Random::new();
    let (mut made, mut refused) = (0, 0);
    let contested = tree.root.join("contested");
    std::thread::scope(|scope| {
        let _end = Stop(&stop);
        scope.spawn(|| {
            let aside = tree.root.join("aside");
            while !stop.load(Ordering::Relaxed) {
                std::fs::write(&aside, "theirs").unwrap();
                std::fs::rename(&aside, &contested).unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        while !contested.exists() {}
        for round in 0..tenth_of(5000) {
            tree.put("a", "1");
            tree.put("z/b", "1");
            let second = if random.below(2) == 0 { Change::Update } else { Change::Delete };
            let changes = [
                at("a", Change::Update),
                at("contested", second),
                at("z/b", Change::Delete),
                at("new", CREATE),
            ];
            let answer =
                run(&root, &changes, &WriteOptions::default(), |_, _| Ok(b"ours".to_vec()));
            let exist = [
                tree.get("a") == b"ours",
                !tree.root.join("z/b").exists(),
                tree.root.join("new").exists(),
            ];
            match answer {
                Ok(_) => {
                    assert_eq!(exist, [true; 3], "round {round}");
                    std::fs::remove_file(tree.root.join("new")).unwrap();
                    made += 1;
                    while !contested.exists() {}
                }
                Err(error) => {
                    assert!(matches!(kind(&error), "Conflict" | "NotFound"), "{error:?}");
                    assert_eq!(exist, [false; 3], "round {round}: {error:?}");
                    refused += 1;
                }
            }
        }
    });
    println!("{made} made, {refused} refused");
    assert!(made > 0 && refused > 0);
    assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
}

/// Directories become links to the outside and back while sets run.
#[test]
fn no_set_leaves_the_root_while_links_are_swapped() {
    for resolver in support::RESOLVERS {
        let tree = Tree::new();
        let root = Root::open_with(&tree.root, resolver).unwrap();
        tree.put("d/a", "inside");
        tree.put("d/deep/b", "inside");
        std::fs::create_dir_all(tree.outside.join("deep")).unwrap();
        for path in ["a", "deep/b", "secret"] {
            std::fs::write(tree.outside.join(path), "secret").unwrap();
        }
        let before = snapshot(&tree.outside);
        let stop = AtomicBool::new(false);
        let mut made = 0;
        std::thread::scope(|scope| {
            let _end = Stop(&stop);
            scope.spawn(|| {
                let (place, link) = (tree.root.join("d"), tree.root.join("link"));
                symlink("../outside", &link).unwrap();
                let mut exchanges = 0;
                while !stop.load(Ordering::Relaxed) {
                    let exchange = RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(CWD, &place, CWD, &link, exchange).unwrap();
                    exchanges += 1;
                    // The directory is in place for long enough that a set can be made on a busy machine.
                    if exchanges % 64 == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    std::thread::yield_now();
                }
            });
            let rounds = tenth_of(10_000);
            for round in 0..10 * rounds {
                if round >= rounds && made > 0 {
                    break;
                }
                let new = format!("d/new{round}/x");
                let changes =
                    [at("d/a", Change::Update), at("d/deep/b", Change::Update), at(&new, CREATE)];
                match run(&root, &changes, &WriteOptions::default(), |_, _| {
                    Ok(round.to_string().into_bytes())
                }) {
                    Ok(_) => made += 1,
                    Err(error) => assert!(
                        ["Escape", "NotFound", "Conflict", "NotADirectory", "NotAFile", "Io"]
                            .contains(&kind(&error)),
                        "{error:?}"
                    ),
                }
            }
        });
        assert_eq!(snapshot(&tree.outside), before, "{resolver:?}");
        println!("{resolver:?}: {made} made");
        assert!(made > 0);
    }
}

#[test]
fn sets_of_two_processes_on_the_same_files_take_turns() {
    const TEST: &str = "sets_of_two_processes_on_the_same_files_take_turns";
    let rounds = tenth_of(500);
    if let Some(root) = support::child_argument() {
        let root = Root::open(Path::new(&root)).unwrap();
        let mut names = ["a", "d/b", "d/e/c"];
        for round in 0..rounds {
            names.rotate_left(round % 2);
            let changes = names.map(|name| at(name, Change::Update));
            let started = Instant::now();
            let answer = run(&root, &changes, &WriteOptions::default(), |_, old| {
                let count: usize = std::str::from_utf8(old).unwrap().parse().unwrap();
                Ok((count + 1).to_string().into_bytes())
            });
            answer.unwrap();
            assert!(started.elapsed() < Duration::from_secs(8));
        }
        return;
    }
    let tree = Tree::new();
    for name in ["a", "d/b", "d/e/c"] {
        tree.put(name, "0");
    }
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut child = support::child(TEST, tree.root.to_str().unwrap());
            child.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for name in ["a", "d/b", "d/e/c"] {
        assert_eq!(tree.get(name), (3 * rounds).to_string().into_bytes(), "{name}");
    }
    assert!(tree.leftovers().is_empty());
}

#[test]
fn a_full_disk_changes_nothing() {
    const TEST: &str = "a_full_disk_changes_nothing";
    let Some(directory) = support::child_argument() else {
        unshared(TEST, &Tree::new());
        return;
    };
    let directory = Path::new(&directory);
    mount(&["-t", "tmpfs", "-o", "size=256k,nr_inodes=40", "none"], directory);
    let root = Root::open(directory).unwrap();
    let put = |path: &str| {
        write(&root, path, &vec![1; 30_000], &WriteOptions::default(), &NEVER).unwrap();
    };
    put("a");
    put("d/b");
    let before = snapshot(directory);
    // Without space, and without room for another file.
    for (size, count) in [(60_000, 8), (10, 60)] {
        let paths: Vec<String> = (0..count).map(|n| format!("n{}/{n}", n % 3)).collect();
        let mut changes = vec![at("a", Change::Update), at("d/b", Change::Delete)];
        changes.extend(paths.iter().map(|path| at(path, CREATE)));
        let error =
            run(&root, &changes, &WriteOptions::default(), |_, _| Ok(vec![2; size])).unwrap_err();
        assert_eq!((kind(&error), error.errno()), ("Io", Some("ENOSPC")), "{error:?}");
        assert_eq!(snapshot(directory), before);
    }
    let changes = [at("a", Change::Update), at("d/b", Change::Delete), at("n/x", CREATE)];
    run(&root, &changes, &WriteOptions::default(), |_, _| Ok(vec![2; 10])).unwrap();
}

#[test]
fn without_descriptors_all_files_change_or_none() {
    const TEST: &str = "without_descriptors_all_files_change_or_none";
    let Some(directory) = support::child_argument() else {
        let tree = Tree::new();
        let mut child = support::child(TEST, tree.root.to_str().unwrap());
        let limit = Rlimit { current: Some(64), maximum: Some(64) };
        // SAFETY: one system call between fork and exec.
        unsafe {
            child.pre_exec(move || Ok(rustix::process::setrlimit(Resource::Nofile, limit)?));
        }
        assert!(child.status().unwrap().success());
        return;
    };
    let directory = Path::new(&directory);
    let root = Root::open(directory).unwrap();
    let paths: Vec<String> = (0..12).map(|n| format!("d{n}/f")).collect();
    let mut refused = 0;
    for free in (0..60).rev() {
        for path in &paths {
            write(&root, path, b"1", &WriteOptions::default(), &NEVER).unwrap();
        }
        let before = snapshot(directory);
        let changes: Vec<_> = paths
            .iter()
            .enumerate()
            .map(|(at_, path)| at(path, if at_ % 3 == 0 { Change::Delete } else { Change::Update }))
            .collect();
        let occupied: Vec<_> =
            (0..free).map_while(|_| std::fs::File::open("/dev/null").ok()).collect();
        let answer = run(&root, &changes, &WriteOptions::default(), |_, _| Ok(b"2".to_vec()));
        drop(occupied);
        match answer {
            Ok(_) => assert!(paths.iter().enumerate().all(|(at, path)| {
                let content = std::fs::read(directory.join(path)).ok();
                content.as_deref() == if at % 3 == 0 { None } else { Some(b"2") }
            })),
            Err(error) => {
                assert_eq!((kind(&error), error.errno()), ("Io", Some("EMFILE")), "{error:?}");
                assert_eq!(snapshot(directory), before, "{free}: {error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && refused < 60, "{refused}");
}
