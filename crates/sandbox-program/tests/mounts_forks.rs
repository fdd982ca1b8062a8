//! Forks of git directories: commands write them, and the directories stay as they are.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mounts_fixture::{Fixture, confined, each_user};
use toolwright_sandbox::plan::Plan;

const IDENTITY: &str = "export HOME=/nowhere GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_COUNT=1 \
    GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'; ";

fn repository(user: u32, root: &Path) -> Plan {
    let script = format!(
        "{IDENTITY} cd \"$0\" && git init -q -b main . && echo one > one && git add . && \
         git commit -qm one && git repack -adq && chown -R {user}:{user} ."
    );
    let made = Command::new("sh").args(["-ec", &script]).arg(root).status();
    assert!(made.expect("git runs").success());
    let mut plan = confined(root);
    plan.forks = vec![root.join(".git")];
    plan
}

/// Every file below a directory, with what is in it.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).expect("it is there").flatten() {
            let metadata = entry.metadata().expect("it is there");
            if metadata.is_dir() {
                left.push(entry.path());
            }
            let content = if metadata.is_file() {
                fs::read(entry.path()).expect("it is readable")
            } else {
                Vec::new()
            };
            all.insert(entry.path(), content);
        }
    }
    all
}

#[test]
fn what_git_writes_stays_in_the_fork() {
    each_user(|user, root| {
        let plan = repository(user, root);
        let before = contents(&root.join(".git"));
        let mut fixture = Fixture::start(user, &plan);
        let run =
            |fixture: &mut Fixture, script: &str| fixture.check(&format!("{IDENTITY} {script}"));
        run(&mut fixture, "echo two > two && git add two && git commit -qm two");
        run(&mut fixture, "git checkout -qb topic && git branch -m topic topic/x && git gc -q");
        run(&mut fixture, "git config alias.x '!true' && echo evil > .git/hooks/pre-commit");
        assert_eq!(run(&mut fixture, "git log --oneline | wc -l").trim(), "2");
        run(&mut fixture, "git fsck --strict");
        assert_eq!(contents(&root.join(".git")), before);
        fixture.refuse(&["mv .git x", "rm -rf .git && test ! -e .git", "mv .git/../.git y"]);
        assert_eq!(contents(&root.join(".git")), before);
        fixture.end();
        assert_eq!(contents(&root.join(".git")), before);
    });
}

#[test]
fn no_pack_is_copied() {
    each_user(|user, root| {
        let plan = repository(user, root);
        let mut fixture = Fixture::start(user, &plan);
        // Git touches the pack that has the object already.
        fixture.check(&format!("{IDENTITY} rm one && echo one > one && git add one"));
        let packs = fixture.check("ls .git/objects/pack /dev/toolwright-objects/0/pack");
        assert_eq!(packs.matches(".pack").count(), 1, "{packs}");
        fixture.refuse(&["touch /dev/toolwright-objects/0/x", "touch /dev/toolwright-objects/x"]);
    });
}

#[test]
fn a_directory_outside_of_what_may_be_written_has_a_fork_too() {
    each_user(|user, place| {
        let (main, root) = (place.join("main"), place.join("tree"));
        for directory in [&main, &root] {
            fs::create_dir(directory).expect("it can be made");
            mounts_fixture::give(user, directory);
        }
        let mut plan = repository(user, &main);
        let before = contents(&main);
        plan.root.clone_from(&root);
        plan.writable = vec![root.clone()];
        let mut fixture = Fixture::start(user, &plan);
        let git = format!("{IDENTITY} git --git-dir='{0}/.git'", main.display());
        fixture.check(&format!("{git} commit --allow-empty -qm two && {git} log -1 | grep two"));
        fixture.refuse(&[&format!("touch '{}/x'", main.display())]);
        assert_eq!(contents(&main), before);
    });
}

#[test]
fn a_directory_that_the_host_replaces_is_not_written() {
    each_user(|user, root| {
        let plan = repository(user, root);
        let mut fixture = Fixture::start(user, &plan);
        fixture.check("echo x > .git/x");
        fs::rename(root.join(".git"), root.join("old")).expect("it can be moved");
        fs::create_dir(root.join(".git")).expect("it can be made");
        mounts_fixture::give(user, &root.join(".git"));
        let _ = fixture.run("sleep 0.1; echo x > .git/x");
        assert!(!root.join("old/x").exists());
        assert_eq!(fs::metadata(root.join(".git")).expect("it is there").nlink(), 2);
    });
}
