//! Work with git that has to be the same in the sandbox as outside.

use toolwright_exec::GitNote;
use toolwright_sandbox::plan::Plan;

use super::{Scene, has_namespaces, notes};

pub(super) const REPOSITORY: &str = "git init -q . && echo one > a && mkdir d && echo d > d/f && git add -A \
    && git commit -qm first && git remote add origin $BESIDE/up.git && git fetch -q origin";
const BRANCHED: &str = "git init -q . && echo one > a && git add a && git commit -qm first \
    && git switch -qc other && echo two > b && git add b && git commit -qm other && echo x > a && git commit -qam x \
    && git switch -q main && echo y > a && git commit -qam y";
const MODULE: &str =
    "git init -q . && git submodule --quiet add $BESIDE/lib sub && git commit -qm sub";
const TRACKED: &str = "git clone -q $BESIDE/up.git . && git switch -qc topic --track origin/feature && git switch -q main";

/// What a person has prepared, and what a command does.
pub(super) const FLOWS: &[(&str, &str, &str)] = &[
    ("status", REPOSITORY, "echo two >> a; echo new > n; git status --short"),
    (
        "add and commit",
        REPOSITORY,
        "echo two >> a; git add -A; git commit -qm second; git log --format=%s",
    ),
    (
        "a commit that is taken back",
        REPOSITORY,
        "git commit -q --allow-empty -m x; git reset -q --hard HEAD~1; git log -g --format=%gs",
    ),
    (
        "a commit that is mailed",
        BRANCHED,
        "git format-patch -1 -q; git reset -q --hard HEAD~1; git am -q *.patch; rm *.patch; git log -g --format=%gs",
    ),
    (
        "a stash below another is dropped",
        "git init -q; echo one > a; git add a; git commit -qm a; for i in 1 2 3; do echo $i > a; git stash -q; done",
        "git stash drop -q stash@{1}; git stash list",
    ),
    (
        "a stash is dropped and another made",
        "git init -q; echo one > a; git add a; git commit -qm a; for i in 1 2 3; do echo $i > a; git stash -q; done",
        "git stash drop -q stash@{1}; echo 4 > a; git stash -q; git stash list; git stash clear; echo 5 > a; git stash -q; git stash list",
    ),
    (
        "stashes in another order",
        "git init -q; echo one > a; git add a; git commit -qm a; for i in 1 2 3; do echo $i > a; git stash -q; done",
        "git stash pop -q stash@{2}; git stash; git stash list",
    ),
    ("amend", REPOSITORY, "git commit -q --amend -m better; git log --format=%s"),
    ("branch and switch", REPOSITORY, "git switch -c x; git branch y; git switch main; git branch"),
    (
        "merge",
        BRANCHED,
        "git switch -qc m HEAD~1; git merge -q --no-edit other~1; git log --format=%s",
    ),
    (
        "a conflict that is given up",
        BRANCHED,
        "git merge other; git status --short; git merge --abort",
    ),
    (
        "a conflict that is resolved",
        BRANCHED,
        "git merge other; echo z > a; git add a; git commit -qm merged",
    ),
    ("rebase", BRANCHED, "git switch -q other; git reset -q --hard HEAD~1; git rebase -q main"),
    (
        "a rebase that goes on",
        BRANCHED,
        "git rebase -q other; echo z > a; git add a; git rebase --continue",
    ),
    ("a rebase that stops", BRANCHED, "git rebase -q other; git status | head -3"),
    ("a rebase with commands", BRANCHED, "git rebase -q --exec 'echo ran' HEAD~1"),
    ("cherry-pick", BRANCHED, "git cherry-pick other~1"),
    ("revert", REPOSITORY, "echo 2 >> a; git commit -qam 2; git revert --no-edit HEAD"),
    (
        "stash",
        REPOSITORY,
        "echo 2 >> a; git stash -q; git status --short; git stash list; git stash pop -q",
    ),
    ("tags", REPOSITORY, "git tag -a -m one v0; git tag two; git describe"),
    ("reset", BRANCHED, "git reset --hard HEAD~1; git reflog -1 --format=%gs"),
    ("a branch that tracks, by checkout", REPOSITORY, "git checkout -b x origin/feature"),
    ("a branch that tracks, by switch", REPOSITORY, "git switch --track origin/feature"),
    ("an upstream", REPOSITORY, "git branch --set-upstream-to=origin/main; git branch -vv"),
    ("no upstream", TRACKED, "git branch --unset-upstream topic; git branch -vv"),
    ("a branch that is renamed", TRACKED, "git branch -m topic renamed"),
    ("a branch that is copied", TRACKED, "git branch -c topic copied"),
    ("a branch that is deleted", TRACKED, "git branch -D topic"),
    ("a branch that is described", REPOSITORY, "git config branch.main.description \"one ; two\""),
    ("another remote", REPOSITORY, "git remote add more https://example.org/a.git; git remote -v"),
    (
        "a remote by ssh",
        REPOSITORY,
        "git remote add more git@example.org:a/b.git; git remote set-url --push more ssh://git@example.org/a",
    ),
    ("a remote that is renamed", TRACKED, "git remote rename origin up; git branch -vv"),
    ("a remote that is removed", TRACKED, "git remote remove origin; git branch -vv"),
    ("another address", REPOSITORY, "git remote set-url origin $BESIDE/lib; git fetch -q origin"),
    ("fetch", REPOSITORY, "git remote add lib $BESIDE/lib; git fetch -q --all; git branch -r"),
    ("pull", TRACKED, "git pull -q --rebase; git log --format=%s"),
    (
        "push",
        REPOSITORY,
        "git init -q --bare in.git; git push -q ./in.git main; git --git-dir=in.git log --format=%s main",
    ),
    (
        "a name and an address",
        REPOSITORY,
        "git config user.name 'Some # Body'; git config user.email s@b; git commit -q --allow-empty -m x",
    ),
    (
        "ends of lines",
        REPOSITORY,
        "git config core.autocrlf input; git config core.eol lf; git config core.ignorecase false",
    ),
    (
        "a setting that is taken back",
        REPOSITORY,
        "git config user.name x; git config --unset user.name; git config pull.rebase true",
    ),
    (
        "one more to fetch",
        REPOSITORY,
        "git config --add remote.origin.fetch '+refs/pull/*:refs/remotes/origin/pr/*'",
    ),
    (
        "a section that goes",
        REPOSITORY,
        "git config remote.x.url https://x/; git config --remove-section remote.x",
    ),
    ("a section that is renamed", TRACKED, "git config --rename-section branch.topic branch.gone"),
    ("sparse checkout", REPOSITORY, "git sparse-checkout set d; ls"),
    (
        "sparse checkout that ends",
        REPOSITORY,
        "git sparse-checkout set d; git sparse-checkout disable; ls",
    ),
    (
        "a working tree",
        REPOSITORY,
        "git worktree add -q wt; git worktree list | wc -l; git -C wt commit -q --allow-empty -m w",
    ),
    (
        "a working tree that goes",
        REPOSITORY,
        "git worktree add -q wt; git worktree remove wt; git worktree prune",
    ),
    (
        "a submodule",
        REPOSITORY,
        "git submodule --quiet add $BESIDE/lib sub; git commit -qm sub; git submodule status",
    ),
    (
        "a submodule that is made again",
        MODULE,
        "git submodule deinit -qf sub; git submodule --quiet update --init",
    ),
    (
        "a submodule that moves on",
        MODULE,
        "git submodule --quiet update; git submodule --quiet sync; git -C sub switch -q feature",
    ),
    (
        "bisect",
        BRANCHED,
        "git bisect start -q; git bisect bad; git bisect good HEAD~1; git bisect reset",
    ),
    (
        "gc",
        BRANCHED,
        "git -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q; git fsck --no-progress; git count-objects | cut -d, -f1",
    ),
    ("notes", REPOSITORY, "git notes add -m note; git log --format=%N"),
    ("names", REPOSITORY, "git mv a b; git rm -q d/f; git status --short"),
    ("clean", REPOSITORY, "touch x y; git clean -fdq; ls"),
    ("blame and diff", REPOSITORY, "echo 2 >> a; git diff; git blame -s HEAD -- a"),
    (
        "a repository below",
        REPOSITORY,
        "git init -q sub; cd sub; echo 1 > s; git add s; git commit -qm s; git config user.name me; git log --format=%s",
    ),
    (
        "a clone below",
        REPOSITORY,
        "git clone -q $BESIDE/lib copy; git -C copy log --format=%s; git -C copy branch -vv",
    ),
    (
        "ignored files",
        REPOSITORY,
        "echo '*.o' > .gitignore; touch x.o; git check-ignore x.o; git status --short",
    ),
    (
        "a setting of the working tree",
        REPOSITORY,
        "git config extensions.worktreeConfig true; git config --worktree core.sparseCheckout false; git config --list --show-scope | grep worktree",
    ),
    ("init", "", "git init -q; git status --short --branch; git config --list --local"),
    (
        "init and a first commit",
        "",
        "git init -q && echo a > a && chmod +x a && git add -A && git commit -qm one; git log --format=%s",
    ),
    (
        "init, and an address",
        "",
        "git init -q; git config user.name me; git remote add origin https://git.example.com/x; git remote -v",
    ),
    ("init with another name of the branch", "", "git init -q -b trunk; git symbolic-ref HEAD"),
    (
        "init and a submodule",
        "",
        "git init -q; git submodule --quiet add $BESIDE/lib sub; git commit -qm sub; git submodule status",
    ),
    (
        "init and a working tree",
        "",
        "git init -q; git commit -q --allow-empty -m x; git worktree add -q wt; git -C wt status",
    ),
    (
        "init and sparse checkout",
        "",
        "git init -q; mkdir d e; touch d/d e/e; git add -A; git commit -qm x; git sparse-checkout set d; ls",
    ),
    (
        "init and a fetch",
        "",
        "git init -q; git remote add origin $BESIDE/up.git; git fetch -q; git switch -q feature; git branch -vv",
    ),
    ("init and nothing else, twice", "", "git init -q; git init -q; git rev-parse --git-dir"),
    (
        "a clone without a repository around it",
        "",
        "git clone -q $BESIDE/lib copy; git -C copy status",
    ),
    (
        "a clone with submodules",
        "",
        "git clone -q --recurse-submodules $BESIDE/lib copy; git -C copy config --list --local | sort",
    ),
    (
        "a clone of the last commit",
        "",
        "git clone -q --depth 1 file://$BESIDE/lib copy; git -C copy log --format=%s; git -C copy rev-parse --is-shallow-repository",
    ),
    ("a bare repository", "", "git init -q --bare b.git; git -C b.git config core.bare; ls b.git"),
    (
        "a push to a bare repository",
        "",
        "git init -q --bare b.git; git init -q w; cd w; git commit -q --allow-empty -m x; git push -q ../b.git HEAD:refs/heads/main; git -C ../b.git log --format=%s",
    ),
    ("a clone that goes", REPOSITORY, "git clone -q $BESIDE/lib copy; rm -rf copy; ls -A"),
];

#[test]
fn git_works_in_the_sandbox_as_outside() {
    if !has_namespaces() {
        return;
    }
    assert!(FLOWS.len() >= 40);
    compare(FLOWS.iter(), |_| ());
}

/// Does the work outside and behind a plan that is changed, and compares both.
pub(super) fn compare<'f>(
    flows: impl Iterator<Item = &'f (&'f str, &'f str, &'f str)>,
    change: impl Fn(&mut Plan),
) {
    let mut wrong = Vec::new();
    for (name, prepare, script) in flows {
        let scene = Scene::new(prepare);
        let by_person = scene.on_host(&scene.place.root, script);
        let expected = scene.state();
        scene.prepare(prepare);
        let (by_command, reports) = scene.confined_with(script, &change);
        let mut notes = notes(&reports);
        // A user is told of other addresses.
        notes.retain(|note| !matches!(note, GitNote::SettingsChanged(_)));
        if by_person != by_command || !notes.is_empty() {
            wrong.push(format!("{name}:\n{by_person}\nbut inside:\n{by_command}\n{notes:?}"));
        }
        let found = scene.state();
        if expected != found {
            wrong.push(format!("{name}, afterwards:\n{expected}\nbut inside:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
}
