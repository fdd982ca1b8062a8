//! Several files are changed together, or none of them is.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use support::{NEVER, Tree, kind, snapshot, tenth_of};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, ChangedFiles, Durability, FileChange, FsError, FsErrorKind,
    Inverse, Place, Root, Roots, UpdateError, WriteOptions, update, write,
};

const CREATE: Change<'_> = Change::Create { mode: None };

fn at<'a>(path: &'a str, change: Change<'a>) -> FileChange<'a> {
    FileChange { place: Place::Path(path), change }
}

fn moved<'a>(path: &'a str, to: &'a str) -> FileChange<'a> {
    at(path, Change::Move { to: Place::Path(to) })
}

/// Runs a set whose files get the contents in `new`, by the index of their change.
fn run(root: &Root, changes: &[FileChange<'_>], new: &[&str]) -> Result<ChangedFiles, FsError> {
    run_with(root, changes, new, &WriteOptions::default())
}

fn run_with(
    root: &Root,
    changes: &[FileChange<'_>],
    new: &[&str],
    options: &WriteOptions,
) -> Result<ChangedFiles, FsError> {
    let set = ChangeSet { root, changes, emptied: &[], limits: ChangeLimits::default() };
    only_fs(set.run(options, &NEVER, |index, _| Ok(new[index].as_bytes().to_vec())))
}

fn only_fs<T>(answer: Result<T, UpdateError<Infallible>>) -> Result<T, FsError> {
    answer.map_err(|error| match error {
        UpdateError::Fs(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}

/// Undoes a set.
fn revert(root: &Root, done: &ChangedFiles) -> Result<ChangedFiles, FsError> {
    let files: Vec<_> = done.files.iter().map(|file| (file, file.inverse())).collect();
    let changes: Vec<FileChange<'_>> = files
        .iter()
        .map(|(_, (path, inverse))| {
            let change = match inverse {
                Inverse::Delete => Change::Delete,
                Inverse::Create { mode } => Change::Create { mode: *mode },
                Inverse::CreateLink => Change::CreateLink,
                Inverse::Update => Change::Update,
                Inverse::Replace { by } => Change::Replace { by: *by },
                Inverse::Move { to } => Change::Move { to: Place::Path(to.to_str().unwrap()) },
            };
            at(path.to_str().unwrap(), change)
        })
        .collect();
    let emptied = &done.made;
    let set = ChangeSet { root, changes: &changes, emptied, limits: ChangeLimits::default() };
    only_fs(set.run(&WriteOptions::default(), &NEVER, |index, now| {
        let (file, _) = files[index];
        assert_eq!(file.new.as_deref().unwrap_or_default(), now.bytes);
        Ok(file.old.clone().unwrap_or_default())
    }))
}

/// Runs `call`, which must fail as expected and change nothing.
#[track_caller]
fn refused(
    tree: &Tree,
    code: &str,
    call: impl FnOnce() -> Result<ChangedFiles, FsError>,
) -> FsError {
    let before = snapshot(tree.base.path());
    let error = call().unwrap_err();
    assert_eq!(kind(&error), code, "{error:?}");
    assert_eq!(snapshot(tree.base.path()), before, "{error}");
    error
}

#[test]
fn files_are_created_updated_moved_and_deleted_together() {
    let tree = Tree::new();
    for durability in [Durability::Process, Durability::Fsync] {
        tree.put("a", "a1");
        tree.put("dir/b", "b1");
        tree.put("c", "c1");
        tree.put("d", "d1");
        let before = snapshot(&tree.root);
        let changes = [
            at("new/in/x", CREATE),
            at("a", Change::Update),
            moved("dir/b", "new/b"),
            at("c", Change::Delete),
            at("d", Change::Update),
        ];
        let options = WriteOptions { durability, ..WriteOptions::default() };
        let contents = ["x2", "a2", "b2", "ignored", "d1"];
        let done = run_with(&tree.open(), &changes, &contents, &options).unwrap();
        assert_eq!(
            tree.listing(),
            ["a", "d", "dir", "new", "new/b", "new/in", "new/in/x"],
            "{durability:?}"
        );
        assert_eq!(
            ["new/in/x", "a", "new/b", "d"].map(|path| tree.get(path)),
            [b"x2", b"a2", b"b2", b"d1"]
        );
        assert_eq!(done.made, [PathBuf::from("new"), PathBuf::from("new/in")]);
        // The file that stays as it is was not changed.
        assert_eq!(done.files.len(), 4);
        let file = &done.files[2];
        assert_eq!(
            (file.path.to_str(), file.moved_to.as_deref()),
            (Some("dir/b"), Some(Path::new("new/b")))
        );
        assert_eq!(
            (file.old.as_deref(), file.new.as_deref()),
            (Some(&b"b1"[..]), Some(&b"b2"[..]))
        );
        assert_eq!(done.files[3].new, None);

        let back = revert(&tree.open(), &done).unwrap();
        assert_eq!(snapshot(&tree.root), before);
        assert_eq!(back.files.len(), 4);
    }
}

#[test]
fn modes_and_attributes_are_kept() {
    let tree = Tree::new();
    for name in ["edited", "moved"] {
        tree.put(name, "1");
        let path = tree.root.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
        let value =
            rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty());
        assert!(matches!(value, Ok(()) | Err(rustix::io::Errno::NOTSUP)));
    }
    let changes = [
        at("edited", Change::Update),
        moved("moved", "sub/moved"),
        at("made", Change::Create { mode: Some(0o755) }),
    ];
    run(&tree.open(), &changes, &["2", "1", "3"]).unwrap();
    for (name, mode) in [("edited", 0o751), ("sub/moved", 0o751), ("made", 0o755)] {
        let path = tree.root.join(name);
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, mode, "{name}");
        if mode == 0o751 {
            let mut value = [0; 8];
            match rustix::fs::getxattr(&path, "user.note", &mut value[..]) {
                Ok(length) => assert_eq!(&value[..length], b"kept"),
                Err(errno) => assert_eq!(errno, rustix::io::Errno::NOTSUP),
            }
        }
    }
}

#[test]
fn nothing_is_changed_when_one_file_cannot_be() {
    let tree = Tree::new();
    tree.put("a", "a1");
    tree.put("b", "b1");
    tree.put("dir/c", "c1");
    tree.put(".git/config", "[core]");
    tree.put(".git/hooks/pre-commit", "#!/bin/sh");
    tree.link("../outside", "out");
    tree.link("a", "link");
    support::fifo(&tree.root.join("pipe"));
    let root = tree.open();
    let protected = WriteOptions {
        protected: vec![".git/hooks".into(), ".git/config".into()],
        ..WriteOptions::default()
    };
    let long = "x".repeat(300);
    let cases = [
        ("Exists", at("b", CREATE)),
        ("Exists", moved("b", "dir/c")),
        ("NotAFile", at("dir", CREATE)),
        ("NotFound", at("missing", Change::Update)),
        ("NotFound", at("missing", Change::Delete)),
        ("NotFound", at("no/such/file", Change::Update)),
        ("NotAFile", at("dir", Change::Delete)),
        ("NotAFile", at("pipe", Change::Update)),
        ("NotAFile", at("pipe", CREATE)),
        ("NotADirectory", at("b/x", CREATE)),
        ("Escape", at("../outside/x", CREATE)),
        ("Escape", at("out/x", CREATE)),
        ("Escape", at("out/secret", Change::Delete)),
        ("Escape", moved("b", "../outside/b")),
        ("Escape", at("/etc/passwd", Change::Update)),
        ("Escape", at("/proc/self/mem", Change::Update)),
        ("Protected", at(".git/config", Change::Update)),
        ("Protected", at(".git/config", Change::Delete)),
        ("Protected", at(".git/hooks/new", CREATE)),
        ("Protected", moved("b", ".git/hooks/post-commit")),
        ("Protected", moved(".git/hooks/pre-commit", "c")),
        ("PathInvalid", at("a", Change::Delete)),
        ("PathInvalid", at("./a", Change::Delete)),
        ("PathInvalid", at("link", Change::Update)),
        ("Exists", moved("b", "b")),
        ("PathInvalid", at("", CREATE)),
        ("PathInvalid", at("nul\0", CREATE)),
        ("PathInvalid", at("\u{fffd}", CREATE)),
        ("PathInvalid", at(&long, CREATE)),
    ];
    for (code, change) in cases {
        for changes in [[at("a", Change::Update), change], [change, at("a", Change::Update)]] {
            let before = snapshot(tree.base.path());
            let error = run_with(&root, &changes, &["2", "2"], &protected).unwrap_err();
            assert_eq!(kind(&error), code, "{change:?}: {error:?}");
            assert_eq!(snapshot(tree.base.path()), before, "{change:?}");
        }
    }
}

#[test]
fn a_file_that_another_one_needs_as_a_directory_is_refused() {
    let tree = Tree::new();
    let root = tree.open();
    for changes in
        [[at("x", CREATE), at("x/y", CREATE)], [at("n/x/y/z", CREATE), at("n/x", CREATE)]]
    {
        let error = run(&root, &changes, &["1", "2"]).unwrap_err();
        assert_eq!(kind(&error), "PathInvalid", "{error}");
        assert_eq!(tree.listing(), Vec::<String>::new());
    }
}

#[test]
fn a_transformation_that_fails_changes_nothing() {
    let tree = Tree::new();
    tree.put("a", "a1");
    let root = tree.open();
    let changes = [at("new/x", CREATE), at("a", Change::Update)];
    let set =
        ChangeSet { root: &root, changes: &changes, emptied: &[], limits: ChangeLimits::default() };
    let before = snapshot(&tree.root);
    let answer = set.run(&WriteOptions::default(), &NEVER, |index, old| {
        if index == 1 { Err("does not fit") } else { Ok(old.bytes.to_vec()) }
    });
    assert!(matches!(answer, Err(UpdateError::Refused("does not fit"))));
    assert_eq!(snapshot(&tree.root), before);
}

#[test]
fn limits_are_kept_before_anything_is_changed() {
    let tree = Tree::new();
    tree.put("a", "0123456789");
    tree.put("b", "0123456789");
    let root = tree.open();
    let changes = [at("a", Change::Update), at("b", Change::Update)];
    let limits = ChangeLimits { files: 2, file_bytes: 10, total_bytes: 40 };
    let with = |limits: ChangeLimits, new: &str| {
        let set = ChangeSet { root: &root, changes: &changes, emptied: &[], limits };
        only_fs(set.run(&WriteOptions::default(), &NEVER, |_, _| Ok(new.as_bytes().to_vec())))
    };
    refused(&tree, "TooManyFiles", || with(ChangeLimits { files: 1, ..limits }, "x"));
    refused(&tree, "TooLarge", || with(ChangeLimits { file_bytes: 9, ..limits }, "x"));
    refused(&tree, "TooLarge", || with(limits, "01234567890"));
    refused(&tree, "TooLarge", || with(ChangeLimits { total_bytes: 39, ..limits }, "0123456780"));
    with(limits, "0123456780").unwrap();
}

#[test]
fn ten_thousand_files_are_changed_with_few_descriptors() {
    let tree = Tree::new();
    let root = tree.open();
    let paths: Vec<String> = (0..10_000).map(|n| format!("d{}/f{n}", n % 20)).collect();
    let changes: Vec<_> = paths.iter().map(|path| at(path, CREATE)).collect();
    let set = |changes: &[FileChange<'_>], new: &str| {
        let set = ChangeSet { root: &root, changes, emptied: &[], limits: ChangeLimits::default() };
        only_fs(set.run(&WriteOptions::default(), &NEVER, |_, _| Ok(new.as_bytes().to_vec())))
    };
    set(&changes, "1").unwrap();
    assert_eq!(tree.listing().len(), 10_020);
    let changes: Vec<_> = paths.iter().map(|path| at(path, Change::Update)).collect();
    set(&changes, "2").unwrap();
    assert!(paths.iter().all(|path| tree.get(path) == b"2"));
    assert_eq!(tree.listing().len(), 10_020);
}

#[test]
fn a_cancelled_set_changes_nothing() {
    let tree = Tree::new();
    tree.put("a", "a1");
    let root = tree.open();
    let changes = [at("new/x", CREATE), at("a", Change::Update)];
    let set =
        ChangeSet { root: &root, changes: &changes, emptied: &[], limits: ChangeLimits::default() };
    let before = snapshot(&tree.root);
    for calls in 0..2 {
        let cancel = AtomicBool::new(calls == 0);
        let answer = set.run(&WriteOptions::default(), &cancel, |index, _| {
            cancel.store(index == 1, Ordering::Relaxed);
            Ok::<_, Infallible>(b"2".to_vec())
        });
        assert_eq!(kind(&only_fs(answer).unwrap_err()), "Cancelled");
        assert_eq!(snapshot(&tree.root), before);
    }
}

/// Paths of a small tree, in which directories and files take each other's names.
const NAMES: [&str; 9] = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b", "f/g/h", "f/i"];

#[derive(Debug, Clone)]
enum Wish {
    Create(usize, u8),
    Update(usize, u8),
    Move(usize, usize, u8),
    Delete(usize),
}

fn wish() -> impl Strategy<Value = Wish> {
    let name = || 0..NAMES.len();
    prop_oneof![
        (name(), any::<u8>()).prop_map(|(at, tag)| Wish::Create(at, tag)),
        (name(), any::<u8>()).prop_map(|(at, tag)| Wish::Update(at, tag)),
        (name(), name(), any::<u8>()).prop_map(|(from, to, tag)| Wish::Move(from, to, tag)),
        name().prop_map(Wish::Delete),
    ]
}

/// What the tree should be afterwards; `None` where the set has to be refused.
fn model(before: &BTreeMap<String, String>, wishes: &[Wish]) -> Option<BTreeMap<String, String>> {
    let mut after = before.clone();
    let mut seen = Vec::new();
    for wish in wishes {
        let (names, is_new) = match wish {
            Wish::Create(at, _) => (vec![*at], vec![true]),
            Wish::Update(at, _) | Wish::Delete(at) => (vec![*at], vec![false]),
            Wish::Move(from, to, _) => (vec![*from, *to], vec![false, true]),
        };
        for (name, is_new) in names.iter().zip(is_new) {
            if seen.contains(name) || before.contains_key(NAMES[*name]) == is_new {
                return None;
            }
            seen.push(*name);
        }
        let content = |tag: &u8| format!("content {tag}");
        match wish {
            Wish::Create(at, tag) | Wish::Update(at, tag) => {
                after.insert(NAMES[*at].to_owned(), content(tag));
            }
            Wish::Move(from, to, tag) => {
                after.remove(NAMES[*from]);
                after.insert(NAMES[*to].to_owned(), content(tag));
            }
            Wish::Delete(at) => {
                after.remove(NAMES[*at]);
            }
        }
    }
    Some(after)
}

fn files(tree: &Tree) -> BTreeMap<String, String> {
    let names = tree.listing().into_iter().filter(|name| tree.root.join(name).is_file());
    names.map(|name| (name.clone(), String::from_utf8(tree.get(&name)).unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(tenth_of(2000)).unwrap(), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_tree_is_as_before_or_as_after_and_can_be_reverted(
        present in prop::collection::btree_set(0..NAMES.len(), 0..NAMES.len()),
        wishes in prop::collection::vec(wish(), 1..6),
    ) {
        let tree = Tree::new();
        for at in present {
            tree.put(NAMES[at], format!("old {at}"));
        }
        let root = tree.open();
        let before = snapshot(tree.base.path());
        let expected = model(&files(&tree), &wishes);
        let changes: Vec<_> = wishes.iter().map(|wish| match wish {
            Wish::Create(name, _) => at(NAMES[*name], CREATE),
            Wish::Update(name, _) => at(NAMES[*name], Change::Update),
            Wish::Move(from, to, _) => moved(NAMES[*from], NAMES[*to]),
            Wish::Delete(name) => at(NAMES[*name], Change::Delete),
        }).collect();
        let contents: Vec<_> = wishes.iter().map(|wish| match wish {
            Wish::Create(_, tag) | Wish::Update(_, tag) | Wish::Move(_, _, tag) => format!("content {tag}"),
            Wish::Delete(_) => String::new(),
        }).collect();
        let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
        match (run(&root, &changes, &contents), expected) {
            (Ok(done), Some(expected)) => {
                prop_assert_eq!(files(&tree), expected);
                prop_assert!(tree.leftovers().is_empty());
                revert(&root, &done).unwrap();
                prop_assert_eq!(snapshot(tree.base.path()), before);
            }
            (Err(_), None) => prop_assert_eq!(snapshot(tree.base.path()), before),
            (answer, expected) => prop_assert!(false, "{:?} for {:?}", answer, expected),
        }
    }
}

#[test]
fn concurrent_sets_and_edits_of_the_same_files_all_succeed() {
    let tree = Tree::new();
    let names = ["a", "b", "d/c", "d/e/f"];
    for name in names {
        tree.put(name, "0");
    }
    let threads = 8;
    let rounds = tenth_of(200);
    let barrier = Barrier::new(threads);
    let add = |old: &[u8]| {
        let count: usize = std::str::from_utf8(old).unwrap().parse().unwrap();
        (count + 1).to_string().into_bytes()
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (tree, barrier, add) = (&tree, &barrier, &add);
            scope.spawn(move || {
                let root = tree.open();
                barrier.wait();
                for round in 0..rounds {
                    if thread == 0 {
                        let options = WriteOptions::default();
                        for name in names {
                            update::<Infallible>(&root, name, 100, &options, &NEVER, |old| {
                                Ok(add(old))
                            })
                            .unwrap();
                        }
                        continue;
                    }
                    let mut changes: Vec<_> =
                        names.iter().map(|name| at(name, Change::Update)).collect();
                    changes.rotate_left((thread + round) % names.len());
                    let set = ChangeSet {
                        root: &root,
                        changes: &changes,
                        emptied: &[],
                        limits: ChangeLimits::default(),
                    };
                    let options = WriteOptions::default();
                    only_fs(set.run(&options, &NEVER, |_, old| Ok(add(old.bytes)))).unwrap();
                }
            });
        }
    });
    for name in names {
        assert_eq!(tree.get(name), (threads * rounds).to_string().into_bytes(), "{name}");
    }
    assert!(tree.leftovers().is_empty());
}

#[test]
fn files_that_were_opened_before_are_changed_too() {
    let tree = Tree::new();
    tree.put("a", "a1");
    let roots = Roots::of(vec![tree.open()], Vec::new());
    let root = tree.open();
    let (a, new) = (roots.open_target("a").unwrap(), roots.open_target("x/y").unwrap());
    let changes =
        [FileChange { place: Place::Opened(&a), change: Change::Move { to: Place::Opened(&new) } }];
    run(&root, &changes, &["a2"]).unwrap();
    assert_eq!(tree.listing(), ["x", "x/y"]);
    // A directory that was moved since is not the one that was decided about.
    let (x, gone) = (roots.open_target("x/y").unwrap(), roots.open_target("x/z").unwrap());
    std::fs::rename(tree.root.join("x"), tree.root.join("w")).unwrap();
    for target in [&x, &gone] {
        let changes = [FileChange {
            place: Place::Opened(target),
            change: if std::ptr::eq(target, &raw const x) { Change::Delete } else { CREATE },
        }];
        refused(&tree, "Conflict", || run(&root, &changes, &[""]));
    }
}

#[test]
fn a_set_that_waits_for_too_long_is_refused() {
    let tree = Tree::new();
    tree.put("a", "a1");
    tree.put("b", "b1");
    let (started, ended) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let root = tree.open();
            let options = WriteOptions::default();
            update::<Infallible>(&root, "b", 100, &options, &NEVER, |old| {
                started.wait();
                ended.wait();
                Ok(old.to_vec())
            })
            .unwrap();
        });
        started.wait();
        let options = WriteOptions { wait: Duration::from_millis(20), ..WriteOptions::default() };
        let changes = [at("a", Change::Update), at("b", Change::Update)];
        let error = run_with(&tree.open(), &changes, &["2", "2"], &options).unwrap_err();
        assert_eq!((kind(&error), error.path.as_str()), ("Busy", "b"));
        ended.wait();
    });
    assert_eq!((tree.get("a"), tree.get("b")), (b"a1".to_vec(), b"b1".to_vec()));
    write(&tree.open(), "a", b"free", &WriteOptions::default(), &NEVER).unwrap();
}

#[test]
fn directories_to_remove_have_to_be_below_the_root() {
    let tree = Tree::new();
    tree.put("a", "a1");
    let root = tree.open();
    for path in ["/tmp", "..", "a/../..", "../outside"] {
        let emptied = [PathBuf::from(path)];
        let changes = [at("a", Change::Update)];
        let set = ChangeSet {
            root: &root,
            changes: &changes,
            emptied: &emptied,
            limits: ChangeLimits::default(),
        };
        let error = only_fs(set.run(&WriteOptions::default(), &NEVER, |_, _| Ok(Vec::new())));
        assert!(matches!(error.unwrap_err().kind, FsErrorKind::Escape { .. }));
    }
    assert_eq!(tree.get("a"), b"a1");
}
