//! A process that is killed in a change set leaves the files as they were, or as they should be,
//! once the next call below the root has looked.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use support::children::{can_place_kills, kill_after, killed_before};
use support::{NEVER, Random, Tree, snapshot, tenth_of};
use toolwright_fs::{
    Change, ChangeLimits, ChangeSet, Durability, FileChange, Place, Root, UpdateError,
    WriteOptions, write,
};

fn at<'a>(path: &'a str, change: Change<'a>) -> FileChange<'a> {
    FileChange { place: Place::Path(path), change }
}

const CREATE: Change<'_> = Change::Create { mode: None };

/// One of two states of a tree, in which files are edited, moved, created and deleted, in
/// directories that come and go.
fn put_state(tree: &Tree, is_second: bool) {
    if is_second {
        tree.put("edited", "2".repeat(5000));
        tree.put("d/edited", "2");
        tree.put("new/in/moved", "moved 2");
        tree.put("new/made", "made");
    } else {
        tree.put("edited", "1".repeat(3000));
        tree.put("d/edited", "1");
        tree.put("d/moved", "moved 1");
        tree.put("deleted", "deleted");
    }
    tree.put("d/stays", "stays");
}

/// Goes from one state to the other.
fn flip(
    root: &Root,
    is_second: bool,
    durability: Durability,
) -> Result<(), UpdateError<Infallible>> {
    let (first, second) = (Place::Path("d/moved"), Place::Path("new/in/moved"));
    let forth = [
        at("edited", Change::Update),
        at("d/edited", Change::Update),
        FileChange { place: first, change: Change::Move { to: second } },
        at("new/made", CREATE),
        at("deleted", Change::Delete),
    ];
    let back = [
        at("edited", Change::Update),
        at("d/edited", Change::Update),
        FileChange { place: second, change: Change::Move { to: first } },
        at("new/made", Change::Delete),
        at("deleted", CREATE),
    ];
    let new = if is_second {
        ["1".repeat(3000), "1".into(), "moved 1".into(), String::new(), "deleted".into()]
    } else {
        ["2".repeat(5000), "2".into(), "moved 2".into(), "made".into(), String::new()]
    };
    let changes = if is_second { &back } else { &forth };
    let made = ["new".into(), "new/in".into()];
    let emptied = if is_second { &made[..] } else { &[] };
    let set = ChangeSet { root, changes, emptied, limits: ChangeLimits::default() };
    let options = WriteOptions { durability, ..WriteOptions::default() };
    set.run(&options, &NEVER, |index, _| Ok(new[index].clone().into_bytes())).map(drop)
}

/// What both states look like.
fn states() -> [Vec<String>; 2] {
    [false, true].map(|is_second| {
        let tree = Tree::new();
        put_state(&tree, is_second);
        snapshot(&tree.root)
    })
}

/// Has the next call look, and returns which state the tree is in.
#[track_caller]
fn settled(tree: &Tree, states: &[Vec<String>; 2], context: &str) -> bool {
    // Anywhere below the root.
    write(&tree.open(), "d/stays", b"stays", &WriteOptions::default(), &NEVER).unwrap();
    let current = snapshot(&tree.root);
    let state = states.iter().position(|state| *state == current);
    state.unwrap_or_else(|| panic!("{context}: between the states: {current:#?}")) == 1
}

fn state_of(leftovers: &[String]) -> &str {
    let ends = leftovers.iter().filter_map(|name| Path::new(name).extension()?.to_str());
    ends.into_iter().find(|end| ["draft", "plan", "undo", "done"].contains(end)).unwrap_or("none")
}

#[test]
fn a_killed_set_is_finished_or_undone_by_the_next_call() {
    const TEST: &str = "a_killed_set_is_finished_or_undone_by_the_next_call";
    if let Some(root) = support::child_argument() {
        let root = Root::open(Path::new(&root)).unwrap();
        let mut is_second = root.open_file("new/made").is_ok();
        for round in 0.. {
            let durability = if round % 8 == 7 { Durability::Fsync } else { Durability::Process };
            flip(&root, is_second, durability).unwrap();
            is_second = !is_second;
            writeln!(std::io::stdout(), "\ndone").unwrap();
        }
    }
    let tree = Tree::new();
    put_state(&tree, false);
    let states = states();
    let mut random = Random::new();
    let kills = tenth_of(500);
    let mut counts = BTreeMap::<String, usize>::new();
    for _ in 0..kills {
        let mut child = support::child(TEST, tree.root.to_str().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        kill_after(&mut child, &mut output, "done", &mut random);
        let leftovers = tree.leftovers();
        *counts.entry(state_of(&leftovers).to_owned()).or_default() += 1;
        settled(&tree, &states, &format!("{leftovers:?}"));
    }
    println!("{kills} kills: {counts:?}");
    let in_the_middle = kills - counts.get("none").copied().unwrap_or(0);
    assert!(in_the_middle * 10 >= kills, "{in_the_middle} of {kills} is no fair share");
}

/// The system calls that change something on disk, or come directly after one that did.
const BOUNDARIES: [&str; 9] = [
    "mkdirat",
    "openat",
    "flistxattr",
    "fchmod",
    "write",
    "flock",
    "renameat",
    "renameat2",
    "unlinkat",
];

#[test]
fn a_set_killed_before_any_system_call_is_finished_or_undone() {
    const TEST: &str = "a_set_killed_before_any_system_call_is_finished_or_undone";
    if let Some(argument) = support::child_argument() {
        let (state, root) = argument.split_once('|').unwrap();
        let root = Root::open(Path::new(root)).unwrap();
        flip(&root, state == "1", Durability::Process).unwrap();
        return;
    }
    if !can_place_kills() {
        return;
    }
    let states = states();
    let mut seen = BTreeMap::<String, usize>::new();
    for is_second in [false, true] {
        for call in BOUNDARIES {
            for number in 1.. {
                let tree = Tree::new();
                put_state(&tree, is_second);
                if is_second {
                    // Nothing else is in it, as after a set that made it.
                    assert!(tree.root.join("new/in").is_dir());
                }
                let argument = format!("{}|{}", u8::from(is_second), tree.root.display());
                let ended = killed_before(call, number, TEST, &argument);
                let leftovers = tree.leftovers();
                let context = format!("{call} {number} from {is_second}: {leftovers:?}");
                let now = settled(&tree, &states, &context);
                *seen
                    .entry(format!("{} to {}", state_of(&leftovers), now != is_second))
                    .or_default() += 1;
                if ended.success() {
                    assert_ne!(now, is_second);
                    break; // there is no such call any more
                }
                assert!(number < 300, "{call}: the children fail for another reason, {ended}");
            }
        }
    }
    println!("{seen:?}");
    for state in ["draft to false", "plan to true", "done to true"] {
        assert!(seen.contains_key(state), "{seen:?}");
    }
    assert!(seen.keys().all(|state| !state.starts_with("undo")), "{seen:?}");
}
