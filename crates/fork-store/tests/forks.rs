//! Forks of real directories: changes, conflicts, applying, discarding.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use support::{Place, shown};
use toolwright_fork_store::{Apply, Conflict, ForkError, ForkState, LeftOutReason, Unavailable};

#[test]
fn changes_are_found_and_applied() {
    let Some(place) =
        Place::new(&[("src/a", "1"), ("src/b", "2"), ("old/x", "3"), ("old/y/z", "4"), ("c", "5")])
    else {
        return;
    };
    let (open, fork) = place.fork();
    fs::write(fork.join("src/a"), "changed").unwrap();
    fs::write(fork.join("new"), "new").unwrap();
    fs::create_dir_all(fork.join("deep/er")).unwrap();
    fs::write(fork.join("deep/er/f"), "f").unwrap();
    fs::create_dir(fork.join("empty")).unwrap();
    fs::remove_dir_all(fork.join("old")).unwrap();
    symlink("src/a", fork.join("link")).unwrap();
    fs::set_permissions(fork.join("c"), fs::Permissions::from_mode(0o755)).unwrap();
    // Written back to what it was.
    fs::write(fork.join("src/b"), "other").unwrap();
    fs::write(fork.join("src/b"), "2").unwrap();
    let before = place.tree();
    let changes = open.fork().changes().unwrap();
    assert_eq!(
        shown(&changes.changes),
        [
            "~ c",
            "+ deep/er/f",
            "+ empty/",
            "+ link",
            "+ new",
            "- old/",
            "- old/x",
            "- old/y/",
            "- old/y/z",
            "~ src/a"
        ]
    );
    assert_eq!(changes.left_out, []);
    assert_eq!(place.tree(), before, "the base is as it was");

    let dry = open.fork().apply(Apply { dry_run: true, ..Apply::default() }, &place.never).unwrap();
    assert_eq!((dry.applied.len(), place.tree()), (10, before));
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!((applied.applied, applied.conflicts), (dry.applied, Vec::new()));
    assert_eq!(place.tree(), support::tree(&fork));
    assert_eq!(fs::metadata(place.base.join("c")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!place.base.join("old").exists() && place.base.join("empty").is_dir());
    // Nothing is left to apply, and what is changed next can be applied too.
    assert_eq!(open.fork().changes().unwrap().changes, []);
    fs::write(fork.join("src/a"), "again").unwrap();
    let again = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!((shown(&again.applied), again.conflicts.len()), (vec!["~ src/a".to_owned()], 0));
    assert_eq!(fs::read_to_string(place.base.join("src/a")).unwrap(), "again");
}

#[test]
fn parts_are_applied() {
    let Some(place) = Place::new(&[("a", "1"), ("d/b", "2"), ("d/c", "3")]) else { return };
    let (open, fork) = place.fork();
    for path in ["a", "d/b", "d/c"] {
        fs::write(fork.join(path), "new").unwrap();
    }
    let paths = ["d/b".to_owned()];
    let applied =
        open.fork().apply(Apply { paths: &paths, ..Apply::default() }, &place.never).unwrap();
    assert_eq!(shown(&applied.applied), ["~ d/b"]);
    assert_eq!(fs::read_to_string(place.base.join("d/c")).unwrap(), "3");
    assert_eq!(shown(&open.fork().changes().unwrap().changes), ["~ a", "~ d/c"]);
    let paths = ["e".to_owned()];
    let error =
        open.fork().apply(Apply { paths: &paths, ..Apply::default() }, &place.never).unwrap_err();
    assert!(matches!(error, ForkError::NoChange { path } if path == "e"));
}

#[test]
fn a_base_that_moved_is_told_and_never_overwritten() {
    let Some(place) =
        Place::new(&[("both", "1"), ("mine", "1"), ("theirs", "1"), ("gone", "1"), ("kept", "1")])
    else {
        return;
    };
    let (open, fork) = place.fork();
    // Of what is changed before it was looked at it is known only that it has changed.
    open.fork().settle().unwrap();
    for path in ["both", "mine", "gone", "made"] {
        fs::write(fork.join(path), "fork").unwrap();
    }
    fs::remove_file(fork.join("kept")).unwrap();
    for path in ["both", "theirs", "made", "kept"] {
        fs::write(place.base.join(path), "base").unwrap();
    }
    fs::remove_file(place.base.join("gone")).unwrap();
    let before = place.tree();
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(applied.applied, []);
    let conflicts: Vec<_> = applied
        .conflicts
        .iter()
        .map(|it| {
            (it.path.to_str().unwrap(), it.conflict.unwrap(), it.base.is_some(), it.fork.is_some())
        })
        .collect();
    assert_eq!(
        conflicts,
        [
            ("both", Conflict::Changed, true, true),
            ("gone", Conflict::Deleted, false, true),
            ("kept", Conflict::Changed, true, false),
            ("made", Conflict::Created, true, true),
        ]
    );
    assert_eq!(place.tree(), before);
    // What is no conflict can be applied alone, and what both made the same is none.
    fs::write(place.base.join("both"), "fork").unwrap();
    let paths = ["mine".to_owned()];
    let applied =
        open.fork().apply(Apply { paths: &paths, ..Apply::default() }, &place.never).unwrap();
    assert_eq!(shown(&applied.applied), ["~ mine"]);
    assert_eq!(fs::read_to_string(place.base.join("theirs")).unwrap(), "base");
    let left = shown(&open.fork().changes().unwrap().changes);
    assert_eq!(left, ["+ gone !", "- kept !", "~ made !"]);
}

#[test]
fn a_file_that_becomes_a_directory_is_a_conflict() {
    let Some(place) = Place::new(&[("f", "1"), ("d/x", "1")]) else { return };
    let (open, fork) = place.fork();
    fs::remove_file(fork.join("f")).unwrap();
    fs::create_dir(fork.join("f")).unwrap();
    fs::write(fork.join("f/in"), "").unwrap();
    fs::remove_dir_all(fork.join("d")).unwrap();
    fs::write(fork.join("d"), "").unwrap();
    let before = place.tree();
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert!(applied.conflicts.iter().all(|it| it.conflict == Some(Conflict::Kind)));
    assert_eq!(shown(&applied.conflicts), ["~ d !", "~ f/ !"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn empty_directories_alone_are_applied() {
    let Some(place) = Place::new(&[("a", "1"), ("d/e/x", "1")]) else { return };
    fs::remove_file(place.base.join("d/e/x")).unwrap();
    let (open, fork) = place.fork();
    fs::remove_dir_all(fork.join("d")).unwrap();
    fs::create_dir(fork.join("n")).unwrap();
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(shown(&applied.applied), ["- d/", "- d/e/", "+ n/"]);
    assert!(!place.base.join("d").exists() && place.base.join("n").is_dir());
    assert_eq!(open.fork().changes().unwrap().changes, []);
}

#[test]
fn git_and_special_files_are_left_out() {
    let Some(place) = Place::new(&[("a", "1"), (".git/HEAD", "ref: refs/heads/main\n")]) else {
        return;
    };
    let (open, fork) = place.fork();
    fs::write(fork.join(".git/HEAD"), "changed").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fork.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for (path, why) in [
        (".git/config", LeftOutReason::Git),
        ("./.git/", LeftOutReason::Git),
        ("pipe", LeftOutReason::Special),
    ] {
        let paths = [path.to_owned()];
        let apply = Apply { paths: &paths, ..Apply::default() };
        let error = open.fork().apply(apply, &place.never).unwrap_err();
        let says = matches!(&error, ForkError::NeverApplied { path: at, reason } if at == path && *reason == why);
        assert!(says, "{path}: {error:?}");
    }
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    let left: Vec<_> =
        applied.left_out.iter().map(|it| (it.path.to_str().unwrap(), it.reason)).collect();
    assert_eq!(left, [(".git", LeftOutReason::Git), ("pipe", LeftOutReason::Special)]);
    assert_eq!(fs::read_to_string(place.base.join(".git/HEAD")).unwrap(), "ref: refs/heads/main\n");
    assert!(!place.base.join("pipe").exists());
}

#[test]
fn git_directories_of_any_name_are_left_out_and_the_rest_is_applied() {
    let bare = |name: &'static str| {
        [format!("{name}/HEAD"), format!("{name}/objects/x"), format!("{name}/refs/heads/main")]
    };
    let mut files: Vec<_> = ["up.git", "gone", "deep/below"].into_iter().flat_map(bare).collect();
    files.extend(["a", "deep/a", "v/.git/HEAD", "v/a"].map(str::to_owned));
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), "1")).collect();
    let Some(place) = Place::new(&files) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("up.git/objects/new"), "2").unwrap();
    fs::write(fork.join("up.git/refs/heads/main"), "2").unwrap();
    for directory in ["gone", "deep", "v"] {
        fs::remove_dir_all(fork.join(directory)).unwrap();
    }
    for path in ["made/HEAD", "made/refs", "made/OBJECTS", "linked/HEAD", "linked/commondir"] {
        fs::create_dir_all(fork.join(path)).unwrap();
        fs::write(fork.join(path).join("x"), "2").unwrap();
    }
    fs::write(fork.join("a"), "2").unwrap();
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    let left: Vec<_> =
        applied.left_out.iter().map(|it| (it.path.to_str().unwrap(), it.reason)).collect();
    let expected = ["deep/below", "gone", "linked", "made", "up.git", "v/.git"];
    let mut left_paths: Vec<_> = left.iter().map(|(path, _)| *path).collect();
    left_paths.sort_unstable();
    assert_eq!(left_paths, expected);
    assert!(left.iter().all(|(_, reason)| *reason == LeftOutReason::Git));
    assert_eq!(shown(&applied.applied), ["~ a", "- deep/a", "- v/a"]);
    for kept in ["up.git/HEAD", "gone/HEAD", "deep/below/HEAD", "v/.git/HEAD"] {
        assert_eq!(fs::read_to_string(place.base.join(kept)).unwrap(), "1", "{kept}");
    }
    assert!(!place.base.join("made").exists() && !place.base.join("up.git/objects/new").exists());
}

#[test]
fn what_programs_obey_is_applied_only_if_it_is_named() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let (open, fork) = place.fork();
    fs::create_dir(fork.join(".vscode")).unwrap();
    for path in ["a", ".vscode/tasks.json", ".vscode/other.json"] {
        fs::write(fork.join(path), "planted").unwrap();
    }
    let apply = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        let applied = open.fork().apply(Apply { paths: &paths, ..Apply::default() }, &place.never);
        let applied = applied.unwrap();
        let left: Vec<_> = applied.left_out.iter().map(|it| (it.path.clone(), it.reason)).collect();
        (shown(&applied.applied), left)
    };
    let left = |paths: &[&str]| -> Vec<_> {
        paths.iter().map(|path| ((*path).into(), LeftOutReason::Protected)).collect()
    };
    let both = left(&[".vscode/other.json", ".vscode/tasks.json"]);
    assert_eq!(apply(&["."]), (vec!["~ a".to_owned()], both));
    assert!(!place.base.join(".vscode").exists());
    let other = apply(&[".vscode/other.json"]);
    assert_eq!(other, (vec!["+ .vscode/other.json".to_owned()], Vec::new()));
    assert!(!place.base.join(".vscode/tasks.json").exists());
    assert_eq!(apply(&[".vscode/"]).0, ["+ .vscode/tasks.json"]);
}

#[test]
fn forks_do_not_see_each_other() {
    let Some(place) = Place::new(&[("a", "base")]) else { return };
    let forks: Vec<_> = (0..8).map(|_| place.fork()).collect();
    for (number, (_, fork)) in forks.iter().enumerate() {
        fs::write(fork.join("a"), number.to_string()).unwrap();
    }
    for (number, (_, fork)) in forks.iter().enumerate() {
        assert_eq!(fs::read_to_string(fork.join("a")).unwrap(), number.to_string());
    }
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), "base");
    // The first one that is applied wins, and the others are told.
    let (first, _) = &forks[3];
    assert_eq!(first.fork().apply(Apply::default(), &place.never).unwrap().applied.len(), 1);
    let (second, _) = &forks[4];
    assert_eq!(second.fork().apply(Apply::default(), &place.never).unwrap().conflicts.len(), 1);
    assert_eq!(fs::read_to_string(place.base.join("a")).unwrap(), "3");
}

#[test]
fn a_fork_is_kept_reopened_and_discarded() {
    let Some(place) = Place::new(&[("a", "base")]) else { return };
    let (open, fork) = place.fork();
    let id = open.fork().id().to_owned();
    fs::write(fork.join("a"), "kept").unwrap();
    let state = || place.store.list(Some(&place.base)).unwrap().first().map(|it| it.state);
    assert_eq!(state(), Some(ForkState::Open));
    assert!(matches!(place.store.take(&id), Err(ForkError::Busy { .. })));
    assert_eq!(shown(&place.store.look(&id).unwrap().changes().unwrap().changes), ["~ a"]);
    drop(open.close().unwrap());
    assert_eq!(state(), Some(ForkState::Kept));
    let open = place.store.reopen(&id).unwrap();
    assert_eq!(fs::read_to_string(support::view(&open).join("a")).unwrap(), "kept");
    fs::write(support::view(&open).join("b"), "more").unwrap();
    drop(open.close().unwrap());
    let taken = place.store.take(&id).unwrap();
    let (_, diff) = taken.diff(1 << 20).unwrap();
    assert_eq!(
        diff.text,
        "diff a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-base\n\\ No newline at end of file\n+kept\n\\ No newline at end of file\n\
         diff a/b b/b\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+more\n\\ No newline at end of file\n"
    );
    assert_eq!(taken.apply(Apply::default(), &place.never).unwrap().applied.len(), 2);
    taken.discard().unwrap();
    assert_eq!(state(), None);
    assert!(matches!(place.store.take(&id), Err(ForkError::NotFound { .. })));
    // What is left is the note by which the apply can be taken back.
    let left = fs::read_dir(place.store.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [".applied"]);
    assert_eq!(fs::read_to_string(place.base.join("b")).unwrap(), "more");
}

#[test]
fn what_cannot_be_forked_is_refused_with_the_reason() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let reason = |base: &Path| match place.store.fork(base, None) {
        Err(ForkError::Unavailable { reason, .. }) => reason.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(reason(Path::new("/")), "it holds more than files");
    assert_eq!(reason(Path::new("/proc")), "it holds more than files");
    let inside = place.store.fork(place.store.path().parent().unwrap(), None);
    assert!(matches!(
        inside,
        Err(ForkError::Unavailable { reason: Unavailable::StoreInside(_), .. })
    ));
    assert!(matches!(
        place.store.fork(&place.base.join("none"), None),
        Err(ForkError::Base { .. })
    ));
    assert!(matches!(place.store.fork(&place.base.join("a"), None), Err(ForkError::Base { .. })));
    // Nothing is left of it.
    assert_eq!(fs::read_dir(place.store.path()).unwrap().count(), 0);
}

#[test]
fn collection_keeps_what_has_changes() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let (unchanged, _) = place.fork();
    let (changed, fork) = place.fork();
    let (busy, _) = place.fork();
    fs::write(fork.join("a"), "2").unwrap();
    let names = [&unchanged, &changed].map(|open| open.fork().id().to_owned());
    drop((unchanged.close().unwrap(), changed.close().unwrap()));
    fs::create_dir(place.store.path().join("left.gone")).unwrap();
    let collected = place.store.collect(None).unwrap();
    assert_eq!((collected.removed, collected.kept), (vec![names[0].clone()], 1));
    let collected = place.store.collect(Some(0)).unwrap();
    assert_eq!((collected.removed, collected.kept), (vec![names[1].clone()], 0));
    assert_eq!(place.store.list(None).unwrap().len(), 1, "the open one stays");
    drop(busy);
}

#[test]
fn a_fork_of_another_boot_that_was_open_is_damaged() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), "2").unwrap();
    let id = open.fork().id().to_owned();
    drop(open);
    // As a process leaves it that was killed.
    let taken = place.store.take(&id).unwrap();
    assert_eq!(taken.changes().unwrap().changes.len(), 1);
    drop(taken);
    fs::write(place.store.path().join(&id).join("state"), "another boot").unwrap();
    assert!(matches!(place.store.take(&id), Err(ForkError::Damaged { .. })));
    assert_eq!(place.store.list(None).unwrap()[0].state, ForkState::Damaged);
    place.store.discard(&id).unwrap();
    assert_eq!(place.store.list(None).unwrap(), []);
}

#[test]
fn commits_come_as_objects_and_one_reference() {
    let Some(place) = Place::new(&[("a", "1\n")]) else { return };
    let git = |directory: &Path, line: &str| {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
            .args(line.split(' '))
            .current_dir(directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&place.base, "init -q -b main");
    git(&place.base, "add -A");
    git(&place.base, "commit -qm first");
    let first = git(&place.base, "rev-parse HEAD");
    let (open, fork) = place.fork();
    fs::write(fork.join("a"), "2\n").unwrap();
    let second = support::sh(
        &open,
        "git checkout -q -b work; git -c user.name=x -c user.email=x@example.com commit -qam second
         echo '#!/bin/sh' > .git/hooks/post-checkout; git config alias.x '!true'; git rev-parse HEAD",
    );
    let second = second.lines().last().unwrap().to_owned();
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    let commits = applied.commits.unwrap();
    let name = format!("refs/forks/{}", open.fork().id());
    assert_eq!((commits.commit, commits.reference), (second.clone(), Some(name.clone())));
    // The person's own branch, settings and hooks are as they were.
    assert_eq!(git(&place.base, "rev-parse HEAD"), first);
    assert_eq!(git(&place.base, "rev-parse --abbrev-ref HEAD"), "main");
    assert_eq!(git(&place.base, &format!("rev-parse {name}")), second);
    assert_eq!(git(&place.base, &format!("show {name}:a")), "2");
    assert!(!place.base.join(".git/hooks/post-checkout").exists());
    assert!(!fs::read_to_string(place.base.join(".git/config")).unwrap().contains("alias"));
    git(&place.base, "fsck --strict");
    git(&place.base, "checkout -q -- .");
    git(&place.base, &format!("merge -q --ff-only {name}"));
    assert_eq!(git(&place.base, "status --porcelain"), "");
}

#[test]
fn a_fork_that_is_too_large_is_refused_and_can_be_applied() {
    let Some(place) = Place::new(&[("a", "1")]) else { return };
    let open = place.store.fork_of_size(&place.base, None, 1 << 20).unwrap();
    assert_eq!(open.fork().max_bytes(), 1 << 20);
    support::sh(&open, "head -c 2000000 /dev/zero > large");
    let grant = open.granted("rootDir");
    let wait = |is_refused: bool| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while grant.check().is_err() != is_refused {
            assert!(std::time::Instant::now() < deadline, "{is_refused}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait(true);
    let error = grant.open().unwrap_err();
    assert!(matches!(error.kind, toolwright_fs::FsErrorKind::ForkFull { limit: 0x10_0000 }));
    assert_eq!(shown(&open.fork().changes().unwrap().changes), ["+ large"]);
    let id = open.fork().id().to_owned();
    open.close().unwrap();
    // Opened again, it is as full as before, unless it may have more.
    let open = place.store.reopen(&id).unwrap();
    let again = open.granted("rootDir");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while again.check().is_ok() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    open.close().unwrap();
    let open = place.store.reopen_with(&id, Some(1 << 30)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(open.granted("rootDir").check().is_ok());
    let applied = open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(shown(&applied.applied), ["+ large"]);
}

#[test]
fn renamed_files_are_told_as_renamed() {
    let Some(place) = Place::new(&[("src/a", "1\n"), ("src/deep/b", "2\n"), ("c", "")]) else {
        return;
    };
    let (open, fork) = place.fork();
    support::sh(
        &open,
        "python3 -c 'import os; os.rename(\"src\", \"lib\")'; echo 3 >> lib/a; mv c d",
    );
    assert_eq!(fs::read_to_string(fork.join("lib/deep/b")).unwrap(), "2\n");
    let (changes, diff) = open.fork().diff(10_000).unwrap();
    let expected = [
        "- c",
        "+ d",
        "+ lib/a",
        "+ lib/deep/b",
        "- src/",
        "- src/a",
        "- src/deep/",
        "- src/deep/b",
    ];
    assert_eq!(shown(&changes.changes), expected);
    assert_eq!(
        diff.text,
        "diff a/c b/c\ndiff a/d b/d\n\
         diff a/lib/a b/lib/a\n--- /dev/null\n+++ b/lib/a\n@@ -0,0 +1,2 @@\n+1\n+3\n\
         diff a/src/deep/b b/lib/deep/b\nrename from src/deep/b\nrename to lib/deep/b\n\
         diff a/src/a b/src/a\n--- a/src/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    );
    open.fork().apply(Apply::default(), &place.never).unwrap();
    assert_eq!(place.tree(), support::tree(&fork));
    assert!(!place.base.join("src").exists());
}
