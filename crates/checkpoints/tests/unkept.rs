//! An undo never removes the only copy of something, and says what it leaves.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a failed unwrap is a failed test, and random numbers are small"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{GO_ON, Project, Random, restore_to, tenth_of};
use toolwright_checkpoints::{
    ChangeKind, CheckpointError, Options, Progress, Restore, Restored, WindowKind,
};

const MAX_FILE_BYTES: u64 = 1000;

fn project() -> Project {
    let project = Project::with(Options { max_file_bytes: MAX_FILE_BYTES, ..Options::default() });
    project.write(".ignore", "*.env\n*.gz\ncache/\n");
    project
}

/// Makes a call of `act`, and undoes it.
fn undone(project: &Project, act: impl FnOnce()) -> Restored {
    // A file of the same tick of the clock could be one that the call has made.
    std::thread::sleep(Duration::from_millis(10));
    let (none, progress) = (&GO_ON, Progress::default());
    let checkpoints = &project.checkpoints;
    let running = checkpoints.begin_call("c", None, none, &progress).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    act();
    checkpoints.end_call(&running, None, none, &progress).unwrap();
    let (target, until) = checkpoints.window(WindowKind::Call, "c").unwrap();
    let restore = Restore { until: Some(until), ..restore_to(target) };
    let told = project.restore_with(Restore { dry_run: true, ..restore }).unwrap();
    let done = match project.restore_with(restore) {
        // Nothing has changed.
        Err(CheckpointError::Conflicts { conflicts }) => {
            return Restored { conflicts, ..Restored::default() };
        }
        done => done.unwrap(),
    };
    for left in &told.left {
        assert!(done.left.contains(left), "{left:?} of a dry run is not in {:?}", done.left);
    }
    done
}

fn left(restored: &Restored) -> Vec<&str> {
    restored.left.iter().map(|(path, _)| path.to_str().unwrap()).collect()
}

#[test]
fn a_renamed_ignored_file_is_left() {
    let project = project();
    project.write("key.env", "KEY=1\n");
    project.write("cache/deep/blob", "blob\n");
    let restored = undone(&project, || {
        fs::rename(project.path("key.env"), project.path("key.bak")).unwrap();
        fs::rename(project.path("cache/deep/blob"), project.path("blob")).unwrap();
    });
    assert_eq!(left(&restored), ["blob", "key.bak", "key.env"]);
    assert!(restored.left[0].1.contains("only copy"), "{:?}", restored.left);
    assert_eq!(
        (project.read("key.bak"), project.read("blob")),
        ("KEY=1\n".into(), "blob\n".into())
    );
}

#[test]
fn what_is_unpacked_from_an_ignored_file_is_left() {
    let project = project();
    project.write("a.gz", "packed");
    let restored = undone(&project, || {
        project.write("a", "unpacked\n");
        fs::remove_file(project.path("a.gz")).unwrap();
    });
    assert_eq!(left(&restored), ["a", "a.gz"]);
    assert_eq!(project.read("a"), "unpacked\n");
}

#[test]
fn other_calls_are_undone_as_before() {
    let project = project();
    project.write("key.env", "KEY=1\n");
    project.write("kept", "kept\n");
    let before = project.tree();
    let restored = undone(&project, || {
        fs::rename(project.path("kept"), project.path("moved")).unwrap();
        project.write("new/made", "by the call\n");
    });
    assert_eq!((left(&restored), project.tree()), (vec![], before));
    // A rename explains that a name has gone.
    let restored = undone(&project, || {
        fs::rename(project.path("key.env"), project.path("key.bak")).unwrap();
        project.write("made", "by the call\n");
    });
    assert_eq!(left(&restored), ["key.bak", "key.env"]);
    assert!(!project.path("made").exists());
}

#[test]
fn a_changed_file_that_is_not_kept_is_named() {
    let project = project();
    let large = "L".repeat(3000);
    project.write("large", &large);
    project.write("one", "linked\n");
    fs::hard_link(project.path("one"), project.path("two")).unwrap();
    project.write("key.env", "KEY=1\n");
    let restored = undone(&project, || {
        project.write("large", "small");
        project.write("one", "changed\n");
        project.write("key.env", "KEY=2\n");
    });
    assert_eq!(restored.changes, []);
    assert_eq!(left(&restored), ["key.env", "large", "one", "two"]);
    let reasons: Vec<_> = restored.left.iter().map(|(_, reason)| &**reason).collect();
    assert_eq!(
        reasons[..3],
        [
            "it is ignored, and checkpoints do not keep it",
            "it is too large to be kept",
            "it has several names (hard links), and checkpoints do not keep it"
        ]
    );
}

#[test]
fn a_file_that_was_left_stays_left_after_further_calls() {
    let project = project();
    project.write("key.env", "KEY=1\n");
    let first = project.take().id;
    undone_later(&project, first);
}

fn undone_later(project: &Project, first: i64) {
    let progress = Progress::default();
    std::thread::sleep(Duration::from_millis(10));
    let call = |name: &str, act: &dyn Fn()| {
        let running = project.checkpoints.begin_call(name, None, &GO_ON, &progress).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        act();
        project.checkpoints.end_call(&running, None, &GO_ON, &progress).unwrap();
    };
    let rename = |from: &str, to: &str| fs::rename(project.path(from), project.path(to)).unwrap();
    call("a", &|| rename("key.env", "key.bak"));
    call("b", &|| rename("key.bak", "key.old"));
    let restored = project.restore(first).unwrap();
    assert!(left(&restored).contains(&"key.old"), "{:?}", restored.left);
    assert_eq!(project.read("key.old"), "KEY=1\n");
}

const PACKED: &str = "packed ";
const NEXT: &str = "\n--\n";

/// The contents of all files, also of those that are packed.
fn contents(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(contents(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let unpacked = text.split(NEXT).map(|part| part.trim_start_matches(PACKED).to_owned());
            found.extend(unpacked);
        }
    }
    found
}

const NAMES: [&str; 11] = [
    "a",
    "b",
    "c.env",
    "d.env",
    "e.gz",
    "cache/f",
    "cache/g/h",
    "cache/k",
    "dir/i",
    "dir/j.env",
    "dir/l",
];

fn some_path(random: &mut Random, project: &Project) -> PathBuf {
    let path = project.path(NAMES[random.below(NAMES.len() as u64) as usize]);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// What a command does to one or two files, as `mv`, `cp`, `ln`, `gzip`, `gunzip`, `tar`, `rm` and a shell do it.
fn act(random: &mut Random, project: &Project, round: u64) {
    let (from, to) = (some_path(random, project), some_path(random, project));
    let is_free = to.symlink_metadata().is_err();
    let write = |to: &Path, text: String| fs::write(to, text).unwrap();
    let Ok(content) = fs::read_to_string(&from) else {
        let size = [10, 3000][random.below(2) as usize];
        write(&from, format!("{round} {}", "x".repeat(size)));
        return;
    };
    if from == to {
        return;
    }
    match random.below(9) {
        0 | 1 => fs::rename(&from, &to).unwrap(),
        2 => write(&to, content),
        3 if is_free => fs::hard_link(&from, &to).unwrap(),
        4 => {
            write(&to, format!("{PACKED}{content}"));
            fs::remove_file(&from).unwrap();
        }
        5 if content.starts_with(PACKED) => {
            write(&to, content.trim_start_matches(PACKED).to_owned());
            fs::remove_file(&from).unwrap();
        }
        6 => {
            let second = some_path(random, project);
            let more = fs::read_to_string(&second).unwrap_or_default();
            write(&to, format!("{content}{NEXT}{more}"));
            if random.below(2) == 0 {
                fs::remove_file(&from).unwrap();
            }
        }
        7 if content.contains(NEXT) => {
            let (one, other) = content.split_once(NEXT).unwrap();
            write(&to, one.to_owned());
            let second = some_path(random, project);
            if second != to {
                write(&second, other.to_owned());
            }
            if second != from && to != from {
                fs::remove_file(&from).unwrap();
            }
        }
        8 => fs::remove_file(&from).unwrap(),
        _ => write(&from, format!("{round} anew")),
    }
}

/// Whatever a call does to kept files and to others: each content that was there before it and after it is there
/// after its undo. What a file that is kept held for a while comes back when the undo is undone. An undo that is not
/// complete says so.
#[test]
fn an_undo_loses_no_content() {
    let mut random = Random::new();
    for round in 0..tenth_of(600) as u64 {
        let project = project();
        for at in 0..8 {
            act_first(&mut random, &project, round * 100 + at);
        }
        let (before, tree) = (contents(project.root.path()), project.tree());
        let mut after = BTreeSet::new();
        let restored = undone(&project, || {
            for at in 0..=random.below(5) {
                act(&mut random, &project, round * 100 + 50 + at);
            }
            after = contents(project.root.path());
        });
        let now = contents(project.root.path());
        let mut missing =
            before.intersection(&after).filter(|content| !now.contains(*content)).peekable();
        if missing.peek().is_some() {
            let missing: Vec<&String> = missing.collect();
            assert!(
                restored.changes.iter().any(|change| change.kind == ChangeKind::Modified),
                "round {round}: {missing:?} are nowhere: {restored:?}"
            );
            project.restore(restored.before).unwrap();
            let back = contents(project.root.path());
            for content in missing {
                assert!(
                    back.contains(content),
                    "round {round}: {content:?} is nowhere: {restored:?}"
                );
            }
            continue;
        }
        let is_whole = project.tree() == tree;
        let is_told = !restored.left.is_empty() || !restored.conflicts.is_empty();
        let is_below_ignored = |path: &std::ffi::OsString| {
            Path::new(path).starts_with("cache") || Path::new(path).starts_with("dir")
        };
        let now = project.tree();
        let differs = tree.iter().any(|(path, entry)| {
            !is_below_ignored(path) && now.get(path).is_none_or(|now| now.content != entry.content)
        });
        assert!(is_whole || is_told || !differs, "round {round}: an empty success: {restored:?}");
    }
}

/// As `cp -p`, `mv` and unpacking leave it. The time of a change cannot be set.
#[test]
fn an_ignored_file_replaced_by_one_of_the_same_time_is_left() {
    let project = project();
    let time = std::time::SystemTime::now() - Duration::from_secs(100);
    let write = |name: &str, text: &str| {
        project.write(name, text);
        let file = fs::File::options().write(true).open(project.path(name)).unwrap();
        file.set_modified(time).unwrap();
    };
    for (round, name) in ["a.env", "cache.gz"].into_iter().enumerate() {
        write(name, "first");
        write("cache/k", "other");
        let restored = undone(&project, || {
            fs::rename(project.path("cache/k"), project.path(name)).unwrap();
        });
        assert_eq!(left(&restored), [name], "{round}");
        // In place, too.
        let restored = undone(&project, || write(name, "third"));
        assert_eq!(left(&restored), [name], "{round}");
    }
}

#[test]
fn what_is_unpacked_from_an_ignored_directory_is_left() {
    for gone in [true, false] {
        let project = project();
        project.write("cache/deep/a.tar", "packed");
        let restored = undone(&project, || {
            project.write("a", "unpacked\n");
            if gone {
                fs::remove_file(project.path("cache/deep/a.tar")).unwrap();
            } else {
                // As a program that truncates it.
                project.write("cache/deep/a.tar", "");
            }
        });
        assert_eq!((left(&restored), project.read("a")), (vec!["a"], "unpacked\n".into()));
    }
}

#[test]
fn what_was_packed_before_an_ignored_file_was_written_anew_is_left() {
    for replaced in [true, false] {
        let project = project();
        project.write("key.env", "KEY=1\n");
        let restored = undone(&project, || {
            project.write("key.packed", "packed KEY=1\n");
            if replaced {
                fs::remove_file(project.path("key.env")).unwrap();
            }
            project.write("key.env", "KEY=2\n");
        });
        assert_eq!(left(&restored), ["key.env", "key.packed"]);
        assert_eq!(project.read("key.packed"), "packed KEY=1\n");
    }
}

#[test]
fn ignored_directories_that_a_call_makes_or_leaves_alone_leave_nothing() {
    let project = project();
    project.write("cache/deep/blob", "blob\n");
    project.write("node_modules/p/index.js", "1\n");
    project.write(".ignore", "*.env\ncache/\nbuilt/\nnode_modules/\n");
    let before = project.tree();
    let restored = undone(&project, || {
        project.write("built/out/a.o", "made\n");
        project.write("node_modules/p/notes", "of a program\n");
        project.write("new", "by the call\n");
    });
    assert_eq!(
        left(&restored).iter().filter(|path| !path.starts_with("built")).count(),
        0,
        "{restored:?}"
    );
    assert!(!project.path("new").exists() && before.len() <= project.tree().len());
}

fn act_first(random: &mut Random, project: &Project, at: u64) {
    let path = some_path(random, project);
    if path.symlink_metadata().is_err() {
        let size = [10, 10, 3000][random.below(3) as usize];
        fs::write(path, format!("{at} {}", "x".repeat(size))).unwrap();
    }
}
