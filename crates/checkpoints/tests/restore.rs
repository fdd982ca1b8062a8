//! What a checkpoint has, and what comes back.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a failed unwrap is a failed test, and noise may be cut"
)]

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use support::{GO_ON, Project, Random, odd, restore_to};
use toolwright_checkpoints::{
    ChangeKind, CheckpointError, Checkpoints, ConflictReason, Options, Origin, Progress, Restore,
    SkipReason, WindowKind,
};

#[test]
fn contents_modes_links_times_and_empty_directories_come_back() {
    let project = Project::new();
    project.write("a/b/file.txt", "one\n");
    project.write("a/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(project.path("a/run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(project.path("empty/inner")).unwrap();
    symlink("a/b", project.path("inside")).unwrap();
    symlink("/nowhere/else", project.path("dangling")).unwrap();
    symlink("loop", project.path("loop")).unwrap();
    std::fs::write(project.root.path().join(odd(b"odd \xff\n name")), "odd").unwrap();
    let first = project.take();
    let before = project.tree();

    std::fs::remove_dir_all(project.path("a")).unwrap();
    project.write("a", "a file now\n");
    std::fs::remove_dir_all(project.path("empty")).unwrap();
    std::fs::remove_file(project.path("dangling")).unwrap();
    std::fs::create_dir(project.path("dangling")).unwrap();
    project.write("dangling/x", "x");
    std::fs::remove_file(project.path("loop")).unwrap();
    symlink("elsewhere", project.path("loop")).unwrap();
    std::fs::remove_file(project.root.path().join(odd(b"odd \xff\n name"))).unwrap();
    project.write("new/deep/file", "new");
    project.take();
    let after = project.tree();

    let restored = project.restore(first.id).unwrap();
    assert_eq!(restored.conflicts, []);
    assert_eq!(restored.left, []);
    assert_eq!(project.tree(), before);
    // A restoration can be undone.
    project.restore(restored.before).unwrap();
    assert_eq!(project.tree(), after);
}

#[test]
fn a_first_checkpoint_has_all_and_the_next_only_what_changed() {
    let project = Project::new();
    project.write("a", "1");
    project.write("b", "2");
    let first = project.take();
    assert_eq!((project.names(&first), first.entries), (vec!["a".into(), "b".into()], 2));
    project.write("b", "3");
    project.write("c", "4");
    std::fs::remove_file(project.path("a")).unwrap();
    let second = project.take();
    let kinds: Vec<_> = second.changed.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Deleted, ChangeKind::Modified, ChangeKind::Created]);
    assert_eq!(project.names(&project.take()), Vec::<String>::new());
    let diff = project.checkpoints.diff(first.id, second.id, Some(10_000)).unwrap();
    assert!(diff.text.contains("--- a/b\n+++ b/b\n@@ -1 +1 @@\n-2\n"), "{}", diff.text);
    assert!(diff.text.contains("--- /dev/null\n+++ b/c\n"), "{}", diff.text);
    let back = project.checkpoints.diff(second.id, first.id, Some(30)).unwrap();
    assert_eq!(back.changes.len(), 3);
    assert_eq!(back.changes[0].kind, ChangeKind::Created);
    assert!(back.is_cut && back.text.len() <= 30);
}

#[test]
fn a_write_within_the_same_tick_of_the_clock_is_seen() {
    let project = Project::new();
    for round in 0..200 {
        project.write("file", &format!("{round:05}"));
        project.take();
        // The same size and, most of the time, the same times.
        project.write("file", &format!("{:05}", round + 50_000));
        let taken = project.take();
        assert_eq!(project.names(&taken), ["file"], "round {round}");
    }
}

#[test]
fn what_somebody_else_changed_is_refused_unless_forced() {
    let project = Project::new();
    project.write("mine", "1");
    project.write("theirs", "1");
    let first = project.take();
    project.write("mine", "2");
    project.take();
    project.write("theirs", "a person's");
    let refused = project.restore(first.id).unwrap_err();
    let CheckpointError::Conflicts { conflicts } = refused else { panic!("{refused:?}") };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].path.to_str(), Some("theirs"));
    assert_eq!(conflicts[0].reason, ConflictReason::ChangedByOthers);
    assert_eq!((project.read("mine"), project.read("theirs")), ("2".into(), "a person's".into()));

    let dry = Restore { dry_run: true, ..restore_to(first.id) };
    let would = project.restore_with(dry).unwrap();
    assert_eq!((would.changes.len(), would.conflicts.len()), (1, 1));
    assert_eq!(project.read("mine"), "2");

    let paths = ["mine".to_owned()];
    project.restore_with(Restore { paths: &paths, ..restore_to(first.id) }).unwrap();
    assert_eq!((project.read("mine"), project.read("theirs")), ("1".into(), "a person's".into()));
    project.restore_with(Restore { force: true, ..restore_to(first.id) }).unwrap();
    assert_eq!(project.read("theirs"), "1");
}

#[test]
fn what_somebody_else_deleted_stays_deleted_and_what_they_touched_is_no_conflict() {
    let project = Project::new();
    project.write("gone", "1");
    project.write("touched", "1");
    let first = project.take();
    project.write("touched", "2");
    project.take();
    std::fs::remove_file(project.path("gone")).unwrap();
    let now = std::time::SystemTime::now();
    std::fs::File::open(project.path("touched")).unwrap().set_modified(now).unwrap();
    let refused = project.restore(first.id).unwrap_err();
    let CheckpointError::Conflicts { conflicts } = refused else { panic!("{refused:?}") };
    assert_eq!(conflicts.iter().map(|c| c.path.to_str().unwrap()).collect::<Vec<_>>(), ["gone"]);
}

#[test]
fn a_call_is_undone_and_what_came_later_is_refused() {
    let project = Project::new();
    project.write("a", "1");
    project.write("b", "1");
    let (checkpoints, progress) = (&project.checkpoints, Progress::default());
    let call = checkpoints.begin_call("c1", Some("t1"), &GO_ON, &progress).unwrap();
    project.write("a", "2");
    project.write("b", "2");
    project.write("new", "2");
    let (_, diff) = checkpoints.end_call(&call, None, &GO_ON, &progress).unwrap();
    assert_eq!(diff.changes.len(), 3);
    let later = checkpoints.begin_call("c2", Some("t1"), &GO_ON, &progress).unwrap();
    project.write("b", "3");
    checkpoints.end_call(&later, None, &GO_ON, &progress).unwrap();

    let undo = |kind, name: &str, paths: &[String]| {
        let (target, until) = checkpoints.window(kind, name).unwrap();
        let restore = Restore { until: Some(until), paths, ..restore_to(target) };
        checkpoints.restore(restore, Some("undo"), &GO_ON, &progress)
    };
    let refused = undo(WindowKind::Call, "c1", &[]).unwrap_err();
    let CheckpointError::Conflicts { conflicts } = refused else { panic!("{refused:?}") };
    assert_eq!(conflicts[0].path.to_str(), Some("b"));
    assert_eq!(conflicts[0].reason, ConflictReason::ChangedLater);
    undo(WindowKind::Call, "c1", &["a".into(), "new".into()]).unwrap();
    assert_eq!((project.read("a"), project.read("b")), ("1".into(), "3".into()));
    assert!(!project.path("new").exists());
    // The undoing is a call, too.
    undo(WindowKind::Call, "undo", &[]).unwrap();
    assert_eq!(project.read("a"), "2");
    undo(WindowKind::Turn, "t1", &[]).unwrap();
    assert_eq!((project.read("a"), project.read("b")), ("1".into(), "1".into()));
    assert!(matches!(
        checkpoints.window(WindowKind::Call, "none"),
        Err(CheckpointError::NoWindow { .. })
    ));
}

#[test]
fn changes_of_calls_that_run_together_are_nobody_elses() {
    let project = Project::new();
    project.write("a", "1");
    let (checkpoints, progress) = (&project.checkpoints, Progress::default());
    let first = checkpoints.begin_call("c1", None, &GO_ON, &progress).unwrap();
    project.write("a", "2");
    let second = checkpoints.begin_call("c2", None, &GO_ON, &progress).unwrap();
    project.write("b", "1");
    checkpoints.end_call(&second, None, &GO_ON, &progress).unwrap();
    checkpoints.end_call(&first, None, &GO_ON, &progress).unwrap();
    project.restore(first.before).unwrap();
    assert_eq!(project.read("a"), "1");
    assert!(!project.path("b").exists());
}

/// Ignore files count in a repository.
fn make_repository(project: &Project) {
    for directory in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(project.path(directory)).unwrap();
    }
    project.write(".git/HEAD", "ref: refs/heads/main\n");
}

#[test]
fn ignored_files_cost_nothing_and_are_never_touched() {
    let project = Project::new();
    make_repository(&project);
    project.write(".gitignore", "target/\n.env\n");
    project.write("target/big", "1");
    project.write(".env", "SECRET=1");
    project.write("node_modules/x/index.js", "1");
    project.write(".hidden", "1");
    let first = project.take();
    assert_eq!(project.names(&first), [".gitignore", ".hidden"]);
    // Without its rules the file is seen, but what it was at the checkpoint is not known.
    std::fs::remove_file(project.path(".gitignore")).unwrap();
    project.write(".env", "SECRET=2");
    project.write("target/big", "2");
    project.take();
    project.restore(first.id).unwrap();
    assert_eq!(project.read(".gitignore"), "target/\n.env\n");
    assert_eq!((project.read(".env"), project.read("target/big")), ("SECRET=2".into(), "2".into()));
    assert_eq!(project.read("node_modules/x/index.js"), "1");
    assert_eq!(project.read(".git/HEAD"), "ref: refs/heads/main\n");
}

#[test]
fn a_file_that_became_ignored_is_not_overwritten() {
    let project = Project::new();
    make_repository(&project);
    project.write("log/a", "1");
    project.write("log/b", "1");
    let first = project.take();
    project.write(".gitignore", "log/\n");
    project.take();
    project.write("log/a", "2");
    let refused = project.restore(first.id).unwrap_err();
    let CheckpointError::Conflicts { conflicts } = refused else { panic!("{refused:?}") };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].reason, ConflictReason::Occupied);
    // Not even by force: what is in it is in no checkpoint.
    let forced = project.restore_with(Restore { force: true, ..restore_to(first.id) }).unwrap();
    assert_eq!(forced.conflicts.len(), 1);
    assert_eq!((project.read("log/a"), project.read("log/b")), ("2".into(), "1".into()));
}

#[test]
fn options_take_in_and_leave_out() {
    let options = Options {
        ignore: vec!["*.log".into(), "!node_modules/".into()],
        with_ignored: true,
        max_file_bytes: 10,
        ..Options::default()
    };
    let project = Project::with(options);
    make_repository(&project);
    project.write(".gitignore", "target/\n");
    project.write("target/a", "1");
    project.write("node_modules/a", "1");
    project.write("a.log", "1");
    project.write("large", "more than ten bytes");
    project.write("one", "1");
    std::fs::hard_link(project.path("one"), project.path("other")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(made.unwrap().success());
    let taken = project.take();
    let names = project.names(&taken);
    assert_eq!(names, [".gitignore", "node_modules", "node_modules/a", "target", "target/a"],);
    let skipped: Vec<_> =
        taken.skipped.iter().map(|(path, reason)| (path.to_str().unwrap(), *reason)).collect();
    assert_eq!(
        skipped,
        [
            ("large", SkipReason::Large),
            ("one", SkipReason::HardLink),
            ("other", SkipReason::HardLink),
            ("pipe", SkipReason::Special),
        ],
    );
    assert!(matches!(
        Checkpoints::open(
            project.root.path(),
            project.store.path(),
            Options { ignore: vec!["a{".into()], ..Options::default() },
        ),
        Err(CheckpointError::Pattern { .. })
    ));
}

#[test]
fn only_files_that_differ_are_written() {
    let project = Project::new();
    for index in 0..50 {
        project.write(&format!("d{}/f{index}", index % 5), "one");
    }
    let first = project.take();
    let before = project.tree();
    for index in 0..7 {
        project.write(&format!("d{}/f{index}", index % 5), "two");
    }
    project.take();
    let inodes = |project: &Project| -> Vec<u64> {
        use std::os::unix::fs::MetadataExt;
        (0..50)
            .map(|index| project.path(&format!("d{}/f{index}", index % 5)))
            .map(|path| path.metadata().unwrap().ino())
            .collect()
    };
    let (changed, old) = (project.tree(), inodes(&project));
    project.restore(first.id).unwrap();
    let restored = project.tree();
    let moved = restored.iter().filter(|(path, entry)| changed[*path].mtime != entry.mtime);
    assert_eq!(moved.count(), 7);
    assert_eq!(inodes(&project).iter().zip(&old).filter(|(a, b)| a != b).count(), 7);
    assert_eq!(project.tree(), before);
}

#[test]
fn the_store_lies_outside_and_keeps_one_directory() {
    let project = Project::new();
    let inside = project.path("sub/store");
    let refused = Checkpoints::open(project.root.path(), &inside, Options::default());
    assert!(matches!(refused, Err(CheckpointError::StoreInside { .. })));
    assert!(!project.path("sub").exists());
    let other = tempfile::tempdir().unwrap();
    let store = project.store.path().join("s");
    let refused = Checkpoints::open(other.path(), &store, Options::default());
    assert!(matches!(refused, Err(CheckpointError::OtherRoot { .. })));
    let missing = Checkpoints::open(&other.path().join("no"), &store, Options::default());
    assert!(matches!(missing, Err(CheckpointError::Root { .. })));
}

#[test]
fn large_files_are_kept_in_parts() {
    let project = Project::new();
    let bytes: Vec<u8> =
        (0..20_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(project.path("large"), &bytes).unwrap();
    std::fs::write(project.path("twin"), &bytes).unwrap();
    let first = project.take();
    std::fs::write(project.path("large"), &bytes[1..]).unwrap();
    std::fs::remove_file(project.path("twin")).unwrap();
    project.take();
    project.restore(first.id).unwrap();
    assert!(std::fs::read(project.path("large")).unwrap() == bytes);
    assert!(std::fs::read(project.path("twin")).unwrap() == bytes);
}

#[test]
fn two_stores_open_on_one_file_see_each_other() {
    let project = Project::new();
    project.write("a", "1");
    let first = project.take();
    let store = project.store.path().join("s");
    let second = Checkpoints::open(project.root.path(), &store, Options::default()).unwrap();
    project.write("a", "2");
    let taken = support::take_by(&second, Origin::Ours);
    assert_eq!(taken.changed.len(), 1);
    assert_eq!(project.take().changed, []);
    let restored =
        second.restore(restore_to(first.id), None, &GO_ON, &Progress::default()).unwrap();
    assert_eq!(project.read("a"), "1");
    project.restore(restored.before).unwrap();
    assert_eq!(project.read("a"), "2");
}

#[test]
fn a_cancelled_checkpoint_changes_nothing() {
    let project = Project::new();
    project.write("a", "1");
    let take = toolwright_checkpoints::Take { origin: Origin::Ours, label: None, reuse: false };
    let cancelled = project.checkpoints.take(take, &AtomicBool::new(true), &Progress::default());
    assert!(matches!(cancelled, Err(CheckpointError::Cancelled)), "{cancelled:?}");
    assert_eq!(project.checkpoints.list(10, None).unwrap().len(), 0);
    assert_eq!(project.take().changed.len(), 1);
}

#[test]
fn the_store_stays_within_its_limits() {
    let options = Options { max_bytes: 2 << 20, ..Options::default() };
    let project = Project::with(options);
    let noise = |seed: u64| -> Vec<u8> {
        let mut state = seed * 2 + 1;
        (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect()
    };
    let mut last = 0;
    for round in 0..100 {
        std::fs::write(project.path("file"), noise(round)).unwrap();
        last = project.take().id;
        assert!(project.checkpoints.bytes().unwrap() <= 2 << 20);
    }
    let listed = project.checkpoints.list(1000, None).unwrap();
    assert!(listed.len() > 5 && listed.len() < 25, "{}", listed.len());
    assert_eq!(listed[0].id, last);
    let oldest = listed.last().unwrap().id;
    project.restore(oldest).unwrap();
    assert!(matches!(project.restore(1), Err(CheckpointError::NoCheckpoint { id: 1 })));
    let size = std::fs::metadata(project.checkpoints.store()).unwrap().len();
    assert!(size <= 3 << 20, "{size}");

    let limits =
        toolwright_checkpoints::GcLimits { max_age: Some(Duration::ZERO), ..Default::default() };
    std::thread::sleep(Duration::from_millis(5));
    let collected = project.checkpoints.gc(limits, &GO_ON, &Progress::default()).unwrap();
    assert_eq!(collected.left, 1);
    // All of it must fit.
    for index in 0..30 {
        std::fs::write(project.path(&format!("many{index}")), noise(1000 + index)).unwrap();
    }
    let take = toolwright_checkpoints::Take { origin: Origin::Ours, label: None, reuse: false };
    let refused = project.checkpoints.take(take, &GO_ON, &Progress::default());
    assert!(matches!(refused, Err(CheckpointError::TooLarge { .. })), "{refused:?}");
    assert_eq!(project.checkpoints.list(10, None).unwrap().len(), 1);
}

#[test]
fn a_thousand_checkpoints_cost_at_most_twice_what_changed() {
    const FILES: u64 = 200;
    const CHANGED: u64 = 3;
    let project = Project::new();
    // As long as a source file often is, and of letters at random, so that compression gives little.
    let text = |random: &mut Random| {
        let letters = (0..6_000).map(|_| char::from(b'a' + random.below(26) as u8));
        letters.collect::<String>()
    };
    let mut random = Random::new();
    for index in 0..FILES {
        project.write(&format!("d{}/f{index}", index % 10), &text(&mut random));
    }
    project.take();
    let before = project.checkpoints.bytes().unwrap();
    let mut changed = 0;
    for round in 0..1_000 {
        for file in 0..CHANGED {
            let index = (round * CHANGED + file) % FILES;
            let content = text(&mut random);
            changed += content.len() as u64;
            project.write(&format!("d{}/f{index}", index % 10), &content);
        }
        assert_eq!(project.take().changed.len() as u64, CHANGED);
    }
    let growth = project.checkpoints.bytes().unwrap() - before;
    assert!(growth <= 2 * changed, "{growth} bytes for {changed} changed");
    let on_disk = std::fs::metadata(project.checkpoints.store()).unwrap().len();
    assert!(on_disk <= 2 * changed + before, "{on_disk} bytes on the disk");
}

#[test]
fn what_a_killed_call_has_changed_is_its_own() {
    const TEST: &str = "what_a_killed_call_has_changed_is_its_own";
    if let Some(argument) = support::child_argument() {
        let (root, store) = argument.split_once('|').unwrap();
        let checkpoints =
            Checkpoints::open(root.as_ref(), store.as_ref(), Options::default()).unwrap();
        checkpoints.begin_call("c1", Some("t1"), &GO_ON, &Progress::default()).unwrap();
        std::fs::write(format!("{root}/a"), "half done").unwrap();
        std::process::abort();
    }
    let project = Project::new();
    project.write("a", "1");
    project.take();
    let store = project.store.path().join("s");
    let argument = format!("{}|{}", project.root.path().display(), store.display());
    let ended = support::child(TEST, &argument)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!ended.success());
    assert_eq!(project.read("a"), "half done");
    project.checkpoints.look(&GO_ON, &Progress::default()).unwrap();
    for (kind, name) in [(WindowKind::Call, "c1"), (WindowKind::Turn, "t1")] {
        let (target, until) = project.checkpoints.window(kind, name).unwrap();
        assert!(until > target, "{kind:?}");
    }
    let (target, until) = project.checkpoints.window(WindowKind::Turn, "t1").unwrap();
    project.restore_with(Restore { until: Some(until), ..restore_to(target) }).unwrap();
    assert_eq!(project.read("a"), "1");
    // It has ended: what comes now is somebody else's.
    project.write("a", "a person's");
    assert!(matches!(project.restore(target), Err(CheckpointError::Conflicts { .. })));
}
