//! What a killed process left of a change set, and others around it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use support::children::{can_place_kills, killed_before};
use support::{NEVER, Tree, snapshot};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, FileChange, Place, Resolver, Root, WriteOptions, write,
};

fn has_end(name: &str, end: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == end)
}

/// Leaves a tree in the middle of a set, as a kill does: the exchanges with these numbers are made.
fn interrupted(test: &str, tree: &Tree, made: usize) -> bool {
    if !can_place_kills() {
        return false;
    }
    let status = killed_before("renameat2", made + 1, test, tree.root.to_str().unwrap());
    assert!(!status.success());
    assert!(tree.leftovers().iter().any(|name| has_end(name, "plan")), "{:?}", tree.leftovers());
    true
}

fn set_of_three(root: &Root) {
    let at = |path, change| FileChange { place: Place::Path(path), change };
    let changes = [
        at("a", Change::Update),
        at("d/b", Change::Update),
        at("c", Change::Delete),
        at("new/x", Change::Create { mode: None }),
    ];
    let set = ChangeSet { root, changes: &changes, emptied: &[], limits: ChangeLimits::default() };
    set.run(&WriteOptions::default(), &NEVER, |_, _| Ok::<_, Infallible>(b"2".to_vec())).unwrap();
}

fn tree_of_three() -> Tree {
    let tree = Tree::new();
    for name in ["a", "d/b", "c"] {
        tree.put(name, "1");
    }
    tree
}

#[test]
fn an_interrupted_set_is_undone_where_others_changed_a_file_since() {
    const TEST: &str = "an_interrupted_set_is_undone_where_others_changed_a_file_since";
    if let Some(root) = support::child_argument() {
        set_of_three(&Root::open(Path::new(&root)).unwrap());
        return;
    }
    // The order: create new/x, update a, update d/b, delete c.
    for (made, theirs) in [(1, "a"), (2, "d/b"), (2, "c"), (0, "new/x")] {
        let tree = tree_of_three();
        if !interrupted(TEST, &tree, made) {
            return;
        }
        // Written in place, and replaced.
        if made == 2 {
            std::fs::write(tree.root.join(theirs), "theirs").unwrap();
        } else {
            tree.put("aside", "theirs");
            std::fs::rename(tree.root.join("aside"), tree.root.join(theirs)).unwrap();
        }
        write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
        for name in ["a", "d/b", "c"] {
            let expected: &[u8] = if name == theirs { b"theirs" } else { b"1" };
            assert_eq!(tree.get(name), expected, "{made} {theirs} {name}");
        }
        assert_eq!(tree.root.join("new/x").exists(), theirs == "new/x");
        assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
    }
    // What was made and then changed by others stays as they left it, and the rest is finished.
    for theirs in ["a", "new/x"] {
        for replaces in [false, true] {
            let tree = tree_of_three();
            interrupted(TEST, &tree, 2);
            if replaces {
                tree.put("aside", "theirs");
                std::fs::rename(tree.root.join("aside"), tree.root.join(theirs)).unwrap();
            } else {
                std::fs::write(tree.root.join(theirs), "theirs").unwrap();
            }
            write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
            for name in ["a", "d/b", "new/x"] {
                let expected: &[u8] = if name == theirs { b"theirs" } else { b"2" };
                assert_eq!(tree.get(name), expected, "{theirs} {replaces} {name}");
            }
            assert!(!tree.root.join("c").exists());
            assert!(tree.leftovers().is_empty(), "{:?}", tree.listing());
        }
    }
}

#[test]
fn the_next_call_may_have_another_root_or_be_killed_too() {
    const TEST: &str = "the_next_call_may_have_another_root_or_be_killed_too";
    if let Some(argument) = support::child_argument() {
        match argument.strip_prefix("later:") {
            Some(root) => {
                let root = Root::open(Path::new(root)).unwrap();
                write(&root, "later", b"", &WriteOptions::default(), &NEVER).unwrap();
            }
            None => set_of_three(&Root::open(Path::new(&argument)).unwrap()),
        }
        return;
    }
    let settled = |tree: &Tree, name: &str| {
        let of = |tree: &Tree| {
            snapshot(&tree.root)
                .into_iter()
                .filter(|line| !line.starts_with("later "))
                .collect::<Vec<_>>()
        };
        let done = tree_of_three();
        set_of_three(&done.open());
        assert_eq!(of(tree), of(&done), "{name}");
    };
    // A call around the root, on a file of the set.
    let tree = tree_of_three();
    if !interrupted(TEST, &tree, 2) {
        return;
    }
    let around = Root::open_with(tree.base.path(), Resolver::Automatic).unwrap();
    write(&around, "root/d/later", b"", &WriteOptions::default(), &NEVER).unwrap();
    std::fs::remove_file(tree.root.join("d/later")).unwrap();
    settled(&tree, "around");
    for call in ["renameat", "renameat2", "unlinkat", "openat"] {
        for number in 1.. {
            let tree = tree_of_three();
            interrupted(TEST, &tree, 2);
            let argument = format!("later:{}", tree.root.display());
            let ended = killed_before(call, number, TEST, &argument);
            write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
            settled(&tree, &format!("{call} {number}"));
            if ended.success() {
                break;
            }
            assert!(number < 200, "{call}: {ended}");
        }
    }
}

/// A command can put any file into the root. A plan that it makes up changes nothing that it could
/// not change itself.
#[test]
fn a_plan_that_was_made_up_changes_nothing() {
    const TEST: &str = "a_plan_that_was_made_up_changes_nothing";
    if let Some(root) = support::child_argument() {
        set_of_three(&Root::open(Path::new(&root)).unwrap());
        return;
    }
    let options = WriteOptions { protected: vec!["d/b".into()], ..WriteOptions::default() };
    // A plan for a file that is protected by now.
    let tree = tree_of_three();
    if !interrupted(TEST, &tree, 2) {
        return;
    }
    let before = snapshot(&tree.root);
    write(&tree.open(), "later", b"", &options, &NEVER).unwrap();
    std::fs::remove_file(tree.root.join("later")).unwrap();
    assert_eq!(snapshot(&tree.root), before);
    // A plan for a directory in which its maker cannot create files: there is no mark in it.
    for line in tree.leftovers().iter().filter(|name| has_end(name, "mark")) {
        std::fs::remove_file(tree.root.join(line)).unwrap();
    }
    let before = snapshot(&tree.root);
    write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
    std::fs::remove_file(tree.root.join("later")).unwrap();
    assert_eq!(snapshot(&tree.root), before);
    // A directory of the plan is a link now.
    let tree = tree_of_three();
    interrupted(TEST, &tree, 2);
    std::fs::rename(tree.root.join("d"), tree.outside.join("d")).unwrap();
    tree.link("../outside/d", "d");
    let before = snapshot(&tree.outside);
    write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
    assert_eq!(snapshot(&tree.outside), before);
    // Garbage, and a plan that is a link or a pipe.
    let tree = tree_of_three();
    interrupted(TEST, &tree, 2);
    let plan = tree.leftovers().into_iter().find(|name| has_end(name, "plan")).unwrap();
    let place = tree.root.join(&plan);
    let whole = std::fs::read(&place).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&place, bytes).unwrap();
        let before = snapshot(&tree.root);
        let root = tree.open();
        write(&root, "later", b"", &WriteOptions::default(), &NEVER).unwrap();
        std::fs::remove_file(tree.root.join("later")).unwrap();
        assert_eq!(snapshot(&tree.root), before, "{at}");
    }
    std::fs::remove_file(&place).unwrap();
    support::fifo(&place);
    write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
}

/// In a directory such as `/tmp` everybody may create files, but not rename those of others.
#[test]
fn a_plan_of_another_user_changes_nothing() {
    const TEST: &str = "a_plan_of_another_user_changes_nothing";
    const OTHER: u32 = 1234;
    if let Some(root) = support::child_argument() {
        set_of_three(&Root::open(Path::new(&root)).unwrap());
        return;
    }
    if !support::is_root() {
        println!("skipped: only root can give files away");
        return;
    }
    let tree = tree_of_three();
    if !interrupted(TEST, &tree, 0) {
        return;
    }
    for name in tree.leftovers() {
        std::os::unix::fs::chown(tree.root.join(name), Some(OTHER), Some(OTHER)).unwrap();
    }
    let before = snapshot(&tree.root);
    write(&tree.open(), "later", b"", &WriteOptions::default(), &NEVER).unwrap();
    std::fs::remove_file(tree.root.join("later")).unwrap();
    assert_eq!(snapshot(&tree.root), before);
}

/// A command can make up plans, and hold their locks.
#[test]
fn locked_plans_delay_calls_once() {
    let tree = Tree::new();
    write(&tree.open(), "a", b"", &WriteOptions::default(), &NEVER).unwrap();
    let owner = toolwright_process::ShortId::current();
    let dead = toolwright_process::ShortId { start: owner.start + 1, ..owner };
    let locks: Vec<std::fs::File> = (0..20)
        .map(|number| {
            let plan = tree.root.join(format!(".toolwright-{dead}-{number:x}.plan"));
            let plan = std::fs::File::create(plan).unwrap();
            rustix::fs::flock(&plan, rustix::fs::FlockOperation::LockExclusive).unwrap();
            plan
        })
        .collect();
    let started = Instant::now();
    for name in ["a", "b", "c"] {
        std::thread::sleep(Duration::from_millis(5)); // the directory rests after a look
        write(&tree.open(), name, b"1", &WriteOptions::default(), &NEVER).unwrap();
    }
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    drop(locks);
}
