//! A repository of the root that commands make: when it appears, and what else could take it for one.

use std::time::Duration;
use std::{fs, thread};

use toolwright_exec::GitProblem;
use toolwright_sandbox::plan::{NEW_REPOSITORY, NEW_REPOSITORY_MARK};

use super::flows::REPOSITORY;
use super::{Scene, has_namespaces};

#[test]
fn it_appears_when_no_command_runs_any_more() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let root = &scene.place.root;
    thread::scope(|threads| {
        let long = threads.spawn(|| {
            scene.confined(": > begun; until [ -e go ]; do sleep 0.01; done; git log --format=%s")
        });
        while !root.join("begun").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        let (printed, reports) =
            scene.confined("git init -q && git commit -q --allow-empty -m one");
        assert_eq!(printed, "[Some(0)]");
        let problems: Vec<_> = reports.take().into_iter().filter_map(|one| one.problem).collect();
        assert_eq!(problems, [GitProblem::InUse]);
        assert!(!root.join(".git/HEAD").exists());
        fs::write(root.join("go"), "").expect("written");
        let (printed, reports) = long.join().expect("it ends");
        assert_eq!((&*printed, reports.take()), ("one\n[Some(0)]", Vec::new()));
    });
    assert_eq!(scene.on_host(root, "git log --format=%s"), "one\n[Some(0)]");
    assert!(!root.join(".git").join(NEW_REPOSITORY).exists());
}

#[test]
fn a_host_that_was_killed_while_it_took_one_over_loses_nothing() {
    if !has_namespaces() {
        return;
    }
    // As many names as are moved have been moved.
    for moved in 0..7 {
        let scene = Scene::new("");
        let root = &scene.place.root;
        scene.on_host(
            root,
            "git init -q x && cd x && git commit -q --allow-empty -m one && git branch b",
        );
        let (git, new) = (root.join(".git"), root.join(".git").join(NEW_REPOSITORY));
        fs::create_dir(&git).expect("made");
        fs::rename(root.join("x/.git"), &new).expect("moved");
        let hook = new.join("hooks/pre-commit");
        fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("written");
        let config = fs::read(new.join("config")).expect("read");
        fs::write(git.join("config"), [NEW_REPOSITORY_MARK, &config].concat()).expect("written");
        for name in ["objects", "refs", "logs", "info", "index", "description"].iter().take(moved) {
            if new.join(name).exists() {
                fs::rename(new.join(name), git.join(name)).expect("moved");
            }
        }
        scene.confined("true");
        let shown = scene
            .on_host(root, "git log --format=%s; git branch --list b; git fsck; cat .git/config");
        assert!(shown.starts_with("one\n  b\n"), "{moved}: {shown}");
        assert!(!shown.contains('#'), "{moved}: {shown}");
        assert!(!git.join("hooks/pre-commit").exists(), "{moved}");
    }
}

/// Commands may write `HEAD` and directories beside it.
#[test]
fn one_that_is_there_is_not_replaced() {
    if !has_namespaces() {
        return;
    }
    let plant = "mkdir .git/toolwright-new; cp -r .git/objects .git/refs .git/HEAD .git/toolwright-new; \
        mkdir .git/toolwright-new/hooks; echo evil > .git/toolwright-new/hooks/pre-commit; \
        printf '# toolwright is taking this repository over\\n[core]\\n\\tfsmonitor = evil\\n' > .git/toolwright-new/config; \
        cp .git/toolwright-new/config .git/config; rm -rf .git/HEAD .git/objects .git/refs; true";
    let scene = Scene::new(REPOSITORY);
    let root = &scene.place.root;
    scene.confined(plant);
    for _ in 0..2 {
        scene.confined("true");
        let config = fs::read_to_string(root.join(".git/config")).expect("read");
        assert!(!config.contains("fsmonitor") && !config.contains('#'), "{config}");
        assert!(!root.join(".git/hooks/pre-commit").exists());
    }
}
