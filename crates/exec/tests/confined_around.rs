//! A root whose git directory lies elsewhere: a linked work tree, and a package of a repository. The git directory that a
//! refusal names for a grant is enough to commit.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};

use support::place::{Place, has_namespaces};
use support::{all_as_another_user, scene, text};
use toolwright_exec::Exit;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::{Options, Resolved, plan, presets};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

const GIT: &str = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main";

fn on_host(directory: &Path, script: &str) -> String {
    scene::on_host(directory, script, |shell| shell.env("HOME", "/nowhere")).0
}

/// The plan of a host that lets commands read what lies around the root.
fn plan_of(root: &Path, outside: &Path, granted: &[PathBuf]) -> Plan {
    let resolved = Resolved {
        readable: vec![outside.to_owned()],
        writable: granted.to_vec(),
        ..scene::resolved(root)
    };
    let deny_write = presets::DEFAULT.map(PathBuf::from);
    plan(&Options { writable_roots: granted, ..scene::options(&resolved, &deny_write) })
}

#[test]
fn a_granted_git_directory_takes_commits() {
    if !has_namespaces() {
        return;
    }
    let bare = format!(
        "&& {GIT} clone -q --bare . ../b.git && {GIT} -C ../b.git worktree add -q ../by main"
    );
    for (root, is_linked, git, more) in [
        ("tree", true, "main/.git", ""),
        ("main/packages/p", false, "main/.git", ""),
        ("by", true, "b.git", &*bare),
    ] {
        for is_granted in [false, true] {
            let mut place = Place::confined();
            let outside = place.outside.clone();
            let shown = on_host(
                &outside,
                &format!(
                    "mkdir -p main/packages/p && cd main && {GIT} init -q . && echo x > packages/p/a && {GIT} add . && \
                     {GIT} commit -qm one && {GIT} worktree add -q -b tree ../tree {more}"
                ),
            );
            assert_eq!(shown, "");
            let git = outside.join(git);
            let names =
                || on_host(&git, "ls -A | grep -v -e COMMIT_EDITMSG -e packed-refs -e logs");
            let before = names();
            place.root = outside.join(root);
            let granted: &[PathBuf] = if is_granted { std::slice::from_ref(&git) } else { &[] };
            place.plan = plan_of(&place.root, &outside, granted);
            let script = format!(
                "exec 2>&1; echo y > b && {GIT} add b && {GIT} commit -qm two && {GIT} status --porcelain"
            );
            let finished = place.sh(&script).expect("runs");
            // A work tree that is linked has a fork of its repository in any case.
            let works = is_linked || is_granted;
            assert_eq!(finished.exit == Exit::Code(0), works, "{root}: {}", text(&finished));
            if works {
                assert_eq!(text(&finished), "", "{root}");
            } else {
                let said = text(&finished);
                assert!(said.contains("main/.git/index.lock': Read-only file system"), "{said}");
            }
            let log =
                on_host(&place.root, &format!("{GIT} log --format=%s; {GIT} status --porcelain"));
            assert_eq!(
                log,
                if works { "two\none\n" } else { "one\n?? packages/p/b\n" },
                "{root} {is_granted}"
            );
            // Nothing of ours is left in it, and its hooks and settings stay a person's.
            assert_eq!(names(), before, "{root}");
            let planted = place.sh("exec 2>&1; cd \"$(git rev-parse --git-common-dir)\" && mkdir -p hooks && echo evil > hooks/pre-commit; echo x > config");
            drop(planted.expect("runs"));
            assert!(!git.join("hooks/pre-commit").exists(), "{root}");
            assert!(on_host(&git, "cat config").contains("[core]"), "{root}");
        }
    }
}
