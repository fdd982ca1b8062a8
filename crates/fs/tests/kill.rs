//! Processes that are killed during a write or an edit leave complete versions. The next call
//! removes everything else that they leave.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use support::children::{can_place_kills, kill_after, killed_before};
use support::{NEVER, Random, Tree, checked, self_checking, tenth_of};
use toolwright_fs::{Durability, Root, WriteOptions, update, write};

const FILES: [&str; 4] = ["small", "medium", "large", "new/in/a/directory"];

fn size(random: &mut Random) -> usize {
    let max = [100, 10_000, 200_000, 1 << 20][usize::try_from(random.below(4)).unwrap()];
    usize::try_from(random.below(max)).unwrap()
}

/// Writes and edits until it is killed, and prints which version of which file is finished.
fn work_until_killed(root: &Root, first: u64) -> ! {
    let mut random = Random::new();
    let mut out = std::io::stdout();
    for tag in first.. {
        let path = FILES[usize::try_from(random.below(FILES.len() as u64)).unwrap()];
        let bytes = self_checking(tag, size(&mut random));
        let durability = if random.below(8) == 0 { Durability::Fsync } else { Durability::Process };
        let options = WriteOptions { durability, ..WriteOptions::default() };
        if random.below(2) == 0 {
            write(root, path, &bytes, &options, &NEVER).unwrap();
        } else {
            let answer = update::<()>(root, path, 2 << 20, &options, &NEVER, |old| {
                assert!(checked(old).is_some());
                Ok(bytes)
            });
            if answer.is_err() {
                continue; // not there yet
            }
        }
        writeln!(out, "\ndone {path} {tag}").unwrap();
    }
    unreachable!("killed before")
}

fn kind(temporary: &str) -> &str {
    temporary.rsplit('.').next().unwrap()
}

#[test]
fn a_killed_process_leaves_versions_in_full_and_the_next_call_clears_the_rest() {
    const TEST: &str = "a_killed_process_leaves_versions_in_full_and_the_next_call_clears_the_rest";
    if let Some(argument) = support::child_argument() {
        let (root, first) = argument.split_once('|').unwrap();
        work_until_killed(&Root::open(Path::new(root)).unwrap(), first.parse().unwrap());
    }
    let tree = Tree::new();
    let root = tree.open();
    let mut random = Random::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let kills = tenth_of(500);
    let (mut in_the_middle, mut parts, mut swaps) = (0, 0, 0);
    for round in 0..kills as u64 {
        let argument = format!("{}|{}", tree.root.display(), (round + 1) << 32);
        let mut child = support::child(TEST, &argument)
            .env("TOOLWRIGHT_SEED", (random.below(1 << 40)).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut printed = kill_after(&mut child, &mut output, "done ", &mut random);
        output.read_to_string(&mut printed).unwrap();
        for line in printed.lines().filter_map(|line| line.strip_prefix("done ")) {
            // The kill may have cut the last line.
            if let Some((path, Ok(tag))) =
                line.split_once(' ').map(|(p, tag)| (p, tag.parse::<u64>()))
            {
                last.entry(path.to_owned()).and_modify(|old| *old = tag.max(*old)).or_insert(tag);
            }
        }

        let leftovers = tree.leftovers();
        in_the_middle += usize::from(!leftovers.is_empty());
        parts += leftovers.iter().filter(|name| kind(name) == "part").count();
        swaps += leftovers.iter().filter(|name| kind(name) == "swap").count();
        for path in FILES {
            let Ok(bytes) = std::fs::read(tree.root.join(path)) else {
                assert!(!last.contains_key(path), "{path} is gone");
                continue;
            };
            let version = checked(&bytes).expect("a version in full");
            assert!(version >= last.get(path).copied().unwrap_or(0), "{path} went back");
        }
        // One call for each directory, by another process than the killed one.
        for later in ["later", "new/in/a/later"] {
            write(&root, later, b"", &WriteOptions::default(), &NEVER).unwrap();
        }
        assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
    }
    println!("{kills} kills, {in_the_middle} in the middle: {parts} .part and {swaps} .swap found");
    assert!(in_the_middle * 10 >= kills, "{in_the_middle} of {kills} is no fair share");
}

/// The system calls that change something on disk, or come directly after one that did.
const BOUNDARIES: [&str; 8] =
    ["mkdirat", "flistxattr", "fchmod", "write", "flock", "renameat", "renameat2", "unlinkat"];

#[test]
fn a_kill_before_any_system_call_leaves_the_old_or_the_new_version() {
    const TEST: &str = "a_kill_before_any_system_call_leaves_the_old_or_the_new_version";
    let options = WriteOptions::default();
    if let Some(root) = support::child_argument() {
        let root = Root::open(Path::new(&root)).unwrap();
        write(&root, "written", &self_checking(2, 2 << 20), &options, &NEVER).unwrap();
        write(&root, "a/b/new", &self_checking(2, 10), &options, &NEVER).unwrap();
        let edited = |_: &[u8]| Ok(self_checking(2, 5000));
        update::<()>(&root, "edited", 1 << 20, &options, &NEVER, edited).unwrap();
        return;
    }
    if !can_place_kills() {
        return;
    }
    let mut states = BTreeMap::<String, usize>::new();
    for call in BOUNDARIES {
        for number in 1.. {
            let tree = Tree::new();
            tree.put("written", self_checking(1, 3000));
            tree.put("edited", self_checking(1, 3000));
            let ended = killed_before(call, number, TEST, tree.root.to_str().unwrap());
            let versions = ["written", "a/b/new", "edited"].map(|path| {
                std::fs::read(tree.root.join(path))
                    .ok()
                    .map(|bytes| checked(&bytes).expect("a version in full"))
            });
            assert!(versions[0].is_some() && versions[2].is_some(), "{call} {number}");
            for name in tree.leftovers() {
                *states.entry(format!("{} of {versions:?}", kind(&name))).or_default() += 1;
            }
            let root = tree.open();
            write(&root, "later", b"", &options, &NEVER).unwrap();
            if tree.root.join("a/b").exists() {
                write(&root, "a/b/later", b"", &options, &NEVER).unwrap();
            }
            assert!(tree.leftovers().is_empty(), "{call} {number}: {:?}", tree.leftovers());
            if ended.success() {
                break; // there is no such call any more
            }
            assert!(number < 100, "{call}: the children fail for another reason, {ended}");
        }
    }
    println!("{states:?}");
    assert!(states.keys().any(|state| state.starts_with("part")));
    let swap = |edited: u64| format!("swap of [Some(2), Some(2), Some({edited})]");
    assert!(states.contains_key(&swap(1)) && states.contains_key(&swap(2)), "{states:?}");
}
