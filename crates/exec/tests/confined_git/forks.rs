//! A command that works on a fork of a repository: what it commits comes back, and nothing else that it wrote.

use std::fs;
use std::os::unix::fs::symlink;

use toolwright_exec::GitNote;

use super::flows::REPOSITORY;
use super::{Scene, has_namespaces, notes};

#[test]
fn nothing_that_git_obeys_comes_back() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    fs::write(root.join("victim"), "mine").expect("written");
    let plants = [
        "rm -f .git/logs/HEAD; ln -s ../../victim .git/logs/HEAD",
        "ln -sf ../victim .git/COMMIT_EDITMSG; ln -sf ../victim .git/packed-refs",
        "rm -f .git/index; ln -s ../victim .git/index",
        "printf '#!/bin/sh\\necho evil >> victim' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "git config core.fsmonitor 'echo evil >> victim; false'; git config alias.status '!echo evil'",
        "mkfifo .git/MERGE_MSG .git/refs/heads/pipe .git/config.worktree",
        "mkdir -p .git/objects/info; echo /nowhere > .git/objects/info/alternates; echo x > .git/commondir",
        "rm -rf .git/logs; ln -s .. .git/logs; rm -rf .git/refs/tags; ln -s ../.. .git/refs/tags",
    ];
    let before = scene.state();
    for plant in plants {
        let (printed, reports) = scene.confined(&format!("{plant}; true"));
        assert!(printed.ends_with("[Some(0)]"), "{plant}: {printed}");
        drop(reports);
        scene.on_host(root, "git status; git diff; git log -1; git commit --allow-empty -m x; git reset -q --soft HEAD~1; git reflog delete HEAD@{0}; git reflog delete HEAD@{0}");
        assert_eq!(fs::read_to_string(root.join("victim")).expect("read"), "mine", "{plant}");
    }
    assert_eq!(scene.state(), before);
}

#[test]
fn what_a_person_commits_meanwhile_stays_and_the_command_keeps_its_own() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !root.join("ready").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            scene.on_host(root, "git commit -q --allow-empty -m person; : > go");
        });
        let script = "git status -s; : > ready; until [ -e go ]; do sleep 0.01; done; \
            rm ready go; echo c > c; git add c; git commit -qm command";
        let (printed, reports) = scene.confined(script);
        assert_eq!(printed, "[Some(0)]");
        let notes = notes(&reports);
        let [GitNote::ReferenceKept { name, kept: Some(kept) }] = &notes[..] else {
            panic!("{notes:?}")
        };
        assert_eq!(name, "refs/heads/main");
        let log =
            scene.on_host(root, &format!("git log --format=%s -1; git log --format=%s {kept} -1"));
        assert_eq!(log, "person\ncommand\n[Some(0)]");
        assert_eq!(scene.on_host(root, "git fsck --strict"), "[Some(0)]");
    });
}

#[test]
fn a_lock_of_a_person_is_waited_for_and_never_removed() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let lock = root.join(".git/index.lock");
    fs::write(&lock, "").expect("written");
    let (printed, reports) =
        scene.confined("rm -f .git/index.lock; echo c > c; git add c; git commit -qm command");
    assert_eq!(printed, "[Some(0)]");
    let notes = notes(&reports);
    assert!(matches!(&notes[..], [GitNote::Locked(_)]), "{notes:?}");
    assert!(lock.exists());
    let (printed, _) = scene.confined("git log --format=%s -1");
    assert_eq!(printed, "command\n[Some(0)]", "it waits in the fork");
    fs::remove_file(&lock).expect("removed");
    let (_, reports) = scene.confined("true");
    assert_eq!(reports.take(), []);
    assert_eq!(scene.on_host(root, "git log --format=%s -1; git status -s"), "command\n[Some(0)]");
}

/// What a supervisor has when it ends is not lost.
#[test]
fn changes_that_wait_outlive_their_supervisor() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let lock = root.join(".git/index.lock");
    fs::write(&lock, "").expect("written");
    scene.confined("rm -f .git/index.lock; git commit -q --allow-empty -m command");
    toolwright_exec::release_directory(root);
    fs::remove_file(&lock).expect("removed");
    let (printed, _) = scene.confined("true");
    assert_eq!(printed, "[Some(0)]");
    let (printed, _) = scene.confined("git log --format=%s -1");
    assert_eq!(printed, "command\n[Some(0)]");
    assert_eq!(scene.on_host(root, "git log --format=%s -1"), "command\n[Some(0)]");
}

#[test]
fn a_command_takes_no_log_away() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let logs = ["HEAD", "refs/heads/main"].map(|name| root.join(".git/logs").join(name));
    let before = logs.each_ref().map(|log| fs::read_to_string(log).expect("read"));
    for script in [
        "rm -rf .git/logs",
        "rm -rf .git/logs; git commit -q --allow-empty -m x",
        "git reflog expire --expire=all --all; git commit -q --allow-empty -m y",
        "printf '%040d %040d a <a@b> 1 +0000\\tforged\\n' 1 2 >> .git/logs/HEAD",
    ] {
        scene.confined(script);
        for (log, before) in logs.iter().zip(&before) {
            let now = fs::read_to_string(log).expect("read");
            assert!(now.starts_with(before), "{script}: {}\n{now}", log.display());
            assert!(!now.contains("forged"), "{script}");
        }
    }
}

#[test]
fn a_branch_becomes_a_directory_of_branches() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let script = "git branch topic; git branch -m topic topic/x; git pack-refs --all; git for-each-ref --format='%(refname)'";
    let (printed, reports) = scene.confined("git branch topic");
    assert_eq!((printed.as_str(), reports.take()), ("[Some(0)]", Vec::new()));
    let (printed, reports) = scene.confined(&script["git branch topic; ".len()..]);
    assert_eq!(reports.take(), []);
    assert_eq!(scene.on_host(root, "git for-each-ref --format='%(refname)'"), printed);
    assert!(printed.contains("refs/heads/topic/x"), "{printed}");
}

#[test]
fn the_next_command_sees_what_a_person_has_done() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    symlink("a", root.join("link")).expect("made");
    for number in 0..5 {
        let script = format!(
            "git add -A; git commit -q --allow-empty -m command{number}; git log --format=%s -2"
        );
        let (printed, reports) = scene.confined(&script);
        let before = if number == 0 { "first".to_owned() } else { format!("person{}", number - 1) };
        assert_eq!(printed, format!("command{number}\n{before}\n[Some(0)]"));
        assert_eq!(reports.take(), []);
        let script =
            format!("git commit -q --allow-empty -m person{number}; git log --format=%s -2");
        assert_eq!(
            scene.on_host(root, &script),
            format!("person{number}\ncommand{number}\n[Some(0)]")
        );
    }
}
