//! A command that works on a fork of a repository: what it commits comes back, and nothing else that it wrote.

use std::fs;
use std::os::unix::fs::symlink;

use toolwright_exec::GitNote;
use toolwright_sandbox::plan::Plan;

use super::flows::REPOSITORY;
use super::support::done_alone;
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
        scene.on_host(root, "git status; git diff; git log -1; git commit --allow-empty -m x; git reset -q --soft HEAD~1; for r in HEAD HEAD main main; do git reflog delete $r@{0}; done");
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

/// The mount goes with the directory, and another repository lies in its place.
#[test]
fn a_repository_that_a_person_exchanges_meanwhile_is_not_written() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    let shown =
        "git config --list --local; ls .git .git/hooks ../old; cat .git/HEAD .git/description";
    let attack = "echo x > .git/hooks/pre-commit; git config alias.st '!x'; echo x > .git/description; \
        rm -rf .git/refs; mv .git away; mkdir .git; echo x > .git/x";
    let before = std::thread::scope(|threads| {
        let person = threads.spawn(|| {
            while !root.join("ready").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            scene.on_host(root, "mv .git ../old; git init -q -b other .");
            let before = scene.on_host(root, shown);
            fs::write(root.join("go"), "").expect("written");
            before
        });
        let script = format!(
            ": > ready; until [ -e go ]; do sleep 0.01; done; sleep 1; {attack}; rm ready go"
        );
        scene.confined(&script);
        person.join().expect("done")
    });
    assert_eq!(scene.on_host(root, shown), before);
    scene.confined(&format!("{attack}; true"));
    assert_eq!(scene.on_host(root, shown), before);
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

/// The repository is the person's, whatever a command removes of it.
#[test]
fn a_command_that_removes_a_repository_takes_nothing_away() {
    if !has_namespaces() {
        return;
    }
    for script in [
        "rm -rf .git/* .git/.??*; true",
        "rm -rf .git; true",
        "rm -rf .git/refs .git/packed-refs; true",
        "rm -rf .git/objects; true",
        "rm -f .git/HEAD; true",
        "mv .git/refs x; true",
        "rm -rf .git/* ; git init -q; git commit -q --allow-empty -m other",
    ] {
        let scene = Scene::new(&format!(
            "{REPOSITORY} && git branch keep && git pack-refs --all && git tag t"
        ));
        let root = &scene.place.root;
        let refs = "git for-each-ref; git log --format=%H; git fsck";
        let before = scene.on_host(root, refs);
        let (printed, reports) = scene.confined(script);
        let after = scene.on_host(root, refs);
        assert_eq!(after, before, "{script}\n{printed}");
        assert!(!notes(&reports).is_empty(), "{script}: nothing is said");
        let (printed, _) = scene.confined(refs);
        assert_eq!(printed, before, "{script}: and the next command sees it");
    }
}

const BELOW: &str = "git init -q . && mkdir sub && cd sub && git init -q && git commit -q --allow-empty -m first \
    && git init -q --bare ../up.git && git remote add origin ../up.git";

#[test]
fn repositories_of_a_person_below_the_root_have_forks() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(BELOW);
    let root = &scene.place.root;
    let script = "cd sub; echo c > c; git add c; git commit -qm second; git push -q origin main; \
        for h in .git/hooks ../up.git/hooks; do echo evil > $h/pre-commit; chmod +x $h/pre-commit; done; \
        git config core.fsmonitor evil; git -C ../up.git config core.fsmonitor evil; git status -s";
    let (_, reports) = scene.confined(script);
    let notes = notes(&reports);
    assert!(notes.iter().any(|note| matches!(note, GitNote::SettingsRefused(_))), "{notes:?}");
    let shown = scene.on_host(
        root,
        "git -C sub log --format=%s; git -C up.git log --format=%s main; git -C sub status -s; ls sub/.git/hooks/pre-commit up.git/hooks/pre-commit; grep -r evil sub/.git up.git",
    );
    assert!(shown.starts_with("second\nfirst\nsecond\nfirst\nls: cannot access"), "{shown}");
    assert!(!shown.contains("evil"), "{shown}");
    // One that a person makes between two commands, too.
    scene.on_host(
        root,
        "git init -q late/deep/er; git -C late/deep/er commit -q --allow-empty -m late",
    );
    let (_, _) = scene.confined(
        "cd late/deep/er; echo evil > .git/hooks/pre-commit; git commit -q --allow-empty -m more",
    );
    let shown = scene.on_host(
        root,
        "git -C late/deep/er log --format=%s; ls late/deep/er/.git/hooks/pre-commit",
    );
    assert!(shown.starts_with("more\nlate\nls: cannot"), "{shown}");
}

#[test]
fn repositories_in_granted_directories_have_forks() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(
        "git init -q . && mkdir ../granted && git init -q ../granted/sub && git init -q ../granted/other",
    );
    let granted = scene.place.outside.join("granted");
    let script = format!(
        "cd {}; for d in sub other; do echo evil > $d/.git/hooks/pre-commit; git -C $d config core.fsmonitor evil; git -C $d commit -q --allow-empty -m $d; done; \
         git init -q new; git -C new commit -q --allow-empty -m new; echo evil > new/.git/hooks/pre-commit; mkdir led; echo gitdir: ../x > led/.git; true",
        granted.display()
    );
    let (printed, reports) =
        scene.confined_with(&script, |plan| plan.writable.push(granted.clone()));
    let shown = scene.on_host(
        &granted,
        "for d in sub other new; do git -C $d log --format=%s; done; grep -rl evil .; ls led/.git",
    );
    assert!(shown.starts_with("sub\nother\nnew\nls: cannot"), "{shown}\n{printed}\n{reports:?}");
}

/// Other programs make files there while a command runs.
#[test]
fn nothing_is_renamed_in_a_directory_for_temporary_files() {
    let name = "forks::nothing_is_renamed_in_a_directory_for_temporary_files";
    if !has_namespaces() || done_alone(name, "TMPDIR=$(mktemp -d); export TMPDIR;") {
        return;
    }
    let temporary = std::env::temp_dir().canonicalize().expect("there");
    let scene = Scene::new("");
    let script = format!(
        "mkdir {0}/x sub; echo gitdir: nowhere > {0}/x/.git; cp {0}/x/.git sub/.git",
        temporary.display()
    );
    let granted = temporary.clone();
    let (printed, _) = scene.confined_with(&script, |plan| plan.writable.push(granted));
    assert_eq!(printed, "[Some(0)]");
    assert!(temporary.join("x/.git").exists());
    assert!(!scene.place.root.join("sub/.git").exists());
}

/// A plan in which nothing is written.
fn only_read(plan: &mut Plan) {
    plan.readable.append(&mut plan.writable);
    plan.narrow(Vec::new());
}

/// A command that has no directory open runs in the root of the system, below which everybody works.
#[test]
fn nothing_is_renamed_where_a_command_writes_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("mkdir x");
    let root = &scene.place.root;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            scene.put("x/.git", "gitdir: nowhere\n");
        });
        let script = "until [ -e x/.git ]; do sleep 0.01; done";
        let (printed, reports) = scene.confined_with(script, only_read);
        assert_eq!((&*printed, reports.take()), ("[Some(0)]", Vec::new()));
    });
    assert!(root.join("x/.git").exists());
}

#[test]
fn a_repository_that_a_command_may_only_read_stays_as_it_is() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(REPOSITORY);
    let before = scene.state();
    let script = "git commit -q --allow-empty -m x; git branch y; git config user.name z; git log --format=%s; git init -q new";
    let (printed, reports) = scene.confined_with(script, only_read);
    assert_eq!(scene.state(), before, "{printed}");
    assert_eq!(reports.take(), Vec::new(), "{printed}");
    assert!(printed.contains("first\n"), "{printed}");
}
