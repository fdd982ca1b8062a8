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
use toolwright_checkpoints::{CheckpointError, Options, Progress, Restore, Restored, WindowKind};

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
        project.write("made", "by the call\n");
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

/// The contents of all files, each without the mark of its packing.
fn contents(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(
                fs::read_to_string(&path).unwrap().trim_start_matches("packed ").to_owned(),
            );
        }
    }
    found
}

const NAMES: [&str; 9] =
    ["a", "b", "c.env", "d.env", "e.gz", "cache/f", "cache/g/h", "dir/i", "dir/j.env"];

fn some_path(random: &mut Random, project: &Project) -> PathBuf {
    let path = project.path(NAMES[random.below(NAMES.len() as u64) as usize]);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// What cannot be told from other files, so that nobody knows of what is made from it.
#[derive(Default)]
struct Untold {
    /// The contents of an ignored directory.
    contents: BTreeSet<String>,
    /// Where a file was packed. Another file there looks like the same with another content.
    places: BTreeSet<PathBuf>,
}

/// What a command does to one or two files, without destroying a content.
fn act(random: &mut Random, project: &Project, untold: &mut Untold, round: u64) {
    let (from, to) = (some_path(random, project), some_path(random, project));
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let is_free = |path: &Path| !is_there(path) && !untold.places.contains(path);
    match random.below(6) {
        0 | 1 if is_there(&from) && is_free(&to) => fs::rename(&from, &to).unwrap(),
        // As `gzip` and `gunzip`. What is within an ignored directory is unknown, also that it goes away.
        2 if is_there(&from) && is_free(&to) => {
            let content = fs::read_to_string(&from).unwrap();
            if !untold.contents.contains(content.trim_start_matches("packed ")) {
                fs::write(&to, format!("packed {content}")).unwrap();
                fs::remove_file(&from).unwrap();
                untold.places.insert(from);
            }
        }
        3 if is_there(&from) && is_free(&to) => fs::hard_link(&from, &to).unwrap(),
        4 if is_free(&to) => {
            let size = [10, 3000][random.below(2) as usize];
            fs::write(&to, format!("{round} {}", "x".repeat(size))).unwrap();
        }
        _ => {}
    }
}

/// Whatever a call does to kept files and to others, each content that was there before it and after it is there
/// after its undo. An undo that is not complete says so.
#[test]
fn an_undo_loses_no_content() {
    let mut random = Random::new();
    for round in 0..tenth_of(600) as u64 {
        let project = project();
        for at in 0..6 {
            act_first(&mut random, &project, round * 100 + at);
        }
        let (before, tree) = (contents(project.root.path()), project.tree());
        let mut after = BTreeSet::new();
        let cache = project.path("cache");
        let mut untold = Untold::default();
        if cache.exists() {
            untold.contents = contents(&cache);
        }
        let restored = undone(&project, || {
            for at in 0..=random.below(5) {
                act(&mut random, &project, &mut untold, round * 100 + 50 + at);
            }
            after = contents(project.root.path());
        });
        let now = contents(project.root.path());
        for content in before.intersection(&after) {
            assert!(now.contains(content), "round {round}: {content:?} is nowhere: {restored:?}");
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

fn act_first(random: &mut Random, project: &Project, at: u64) {
    let path = some_path(random, project);
    if path.symlink_metadata().is_err() {
        let size = [10, 10, 3000][random.below(3) as usize];
        fs::write(path, format!("{at} {}", "x".repeat(size))).unwrap();
    }
}
