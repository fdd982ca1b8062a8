//! Linked work trees: what a command does with them is there as if it had been done outside.

use toolwright_git::import::{self, Imported, Snapshot};

use crate::support::{Place, said};

/// A repository with two linked work trees beside its own.
pub(crate) const SETUP: &str =
    "cd w; git init -q; for i in 1 2 3 4 5 6; do echo $i > a; git add a; git commit -qm c$i; done
    mkdir d e; echo d > d/d; echo e > e/e; git add .; git commit -qm dirs; git worktree add -q ../tree -b tree; git worktree add -q --detach ../other HEAD~1; cd ..";

/// What git says of all work trees, and what lies where each has its files.
fn all(place: &Place) -> String {
    let mut all = said(place, "w");
    all += &place.sh("cd w; git worktree list --porcelain; git worktree prune -n -v 2>&1");
    all += &place.sh("cd w/.git; ls -d worktrees* worktrees/* 2>/dev/null || true; find . -path './worktrees*' -type f | grep -v -e sharedindex -e '/index$' -e COMMIT_EDIT | sort");
    for tree in place.sh("cd w; git worktree list --porcelain | sed -n 's/^worktree //p'").lines() {
        if !std::path::Path::new(tree).join(".git").exists() {
            continue;
        }
        all += &said(place, tree);
        all += &place.sh(&format!(
            "cd {tree}; git status; git config --worktree --list | sort; git sparse-checkout list 2>&1 || true; git bisect log 2>&1 || true; git for-each-ref refs/bisect refs/worktree
             cd $(git rev-parse --git-dir); find rebase-merge rebase-apply sequencer BISECT_* MERGE_* ORIG_HEAD \
                 -type f -exec sh -c 'echo {{}}; cat {{}}' \\; 2>/dev/null | sort || true"
        ));
    }
    all
}

/// Runs a script in a fork, brings its changes back, and compares with what it does outside.
fn holds(script: &str) -> Option<()> {
    let place = Place::new()?;
    place.sh(SETUP);
    place.sh("cp -a . ../$(basename $PWD).copy");
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let (_upper, changes) = place.in_overlay(script)?;
    let terms = place.terms("w/.git");
    for _ in 0..2 {
        let Imported { notes, is_waiting } = import::import(&git, &snapshot, &changes, &terms);
        assert!(notes.is_empty() && !is_waiting, "{script}: {notes:?}");
        place.sh("test -z \"$(find w/.git -name '*.lock' -o -name 'toolwright*')\"");
    }
    let brought_back = all(&place);
    place.sh("for it in $(ls -A); do rm -rf $it; done; cp -a ../$(basename $PWD).copy/. .");
    place.sh("rm -rf ../$(basename $PWD).copy; for it in w tree other; do git -C $it status; done");
    place.sh(script);
    let outside = all(&place);
    let differs = brought_back.lines().zip(outside.lines()).find(|(one, other)| one != other);
    assert!(brought_back == outside, "{script}: {differs:?}\n{brought_back}");
    Some(())
}

#[test]
fn work_trees_are_removed_moved_and_locked() {
    for script in [
        "git -C w worktree remove tree",
        "git -C w worktree remove tree; git -C w worktree remove ../other; git -C w branch -D tree",
        "rm -rf tree; git -C w worktree prune",
        "echo x > tree/new; git -C w worktree remove --force ../tree; git -C w worktree add -q ../third -b third",
        "mkdir sub; git -C w worktree move ../tree ../sub/moved",
        "git -C w worktree move ../tree ../moved; cd moved; echo 7 > a; git commit -qam moved",
        "mv tree moved; git -C moved worktree repair",
        "git -C w worktree lock ../tree; git -C w worktree lock --reason 'on a stick' ../other",
        "git -C w worktree add -q --lock --reason why ../third -b third",
        "git -C w worktree add -q ../third -b third; git -C w worktree remove ../third",
    ] {
        if holds(script).is_none() {
            return;
        }
    }
}

#[test]
fn locks_are_taken_away() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    place.sh("git -C w worktree lock --reason why ../tree");
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let Some((_upper, changes)) = place.in_overlay("git -C w worktree unlock ../tree") else {
        return;
    };
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(imported.notes.is_empty(), "{imported:?}");
    assert!(!place.path().join("w/.git/worktrees/tree/locked").exists());
    place.sh("cd w; git worktree remove ../tree; git fsck");
}

#[test]
fn settings_of_a_work_tree_are_its_own() {
    for script in [
        "cd tree; git sparse-checkout set d",
        "cd tree; git sparse-checkout set --no-cone /d /a; git -C ../other sparse-checkout set d",
        "cd w; git sparse-checkout set d; git worktree add -q ../third -b third; cd ../third; git sparse-checkout list",
        "cd w; git config extensions.worktreeConfig true; cd ../tree; git config --worktree user.name Other",
    ] {
        if holds(script).is_none() {
            return;
        }
    }
}

#[test]
fn operations_in_a_work_tree_are_its_own() {
    for script in [
        "cd tree; git bisect start -q HEAD HEAD~5 > /dev/null; git bisect good > /dev/null",
        "cd tree; git bisect start -q HEAD HEAD~5 > /dev/null; git bisect reset 2>&1",
        "cd tree; echo x > a; git commit -qam x; git rebase -q HEAD~2 --onto HEAD~4 2>&1 || true",
        "cd tree; echo x > a; git commit -qam x; git rebase -q HEAD~2 --onto HEAD~4 2>&1 || true; git rebase --abort",
        "cd tree; echo x > a; git commit -qam x; git rebase -q HEAD~2 --onto HEAD~4 2>&1 || true
         echo y > a; git add a; git rebase --continue 2>&1 || true",
        "cd other; echo x > a; git commit -qam x; git cherry-pick tree 2>&1 || true",
        "cd other; echo x > a; git commit -qam x; git merge -q tree 2>&1 || true",
        "cd other; git checkout -q -b branch; echo x > a; git commit -qam x; git checkout -q --detach HEAD~2",
        "cd other; git update-ref refs/worktree/mine HEAD; git update-ref refs/worktree/deep/er HEAD~1",
        "cd tree; git rebase -q -i --exec false HEAD~2 2>&1 || true; git rebase --abort",
        "cd tree; git update-index --split-index; echo x > a; git add a",
        "cd tree; git reset -q --hard HEAD~2; git stash list; echo x > a; git stash -q; git stash pop -q",
        "git -C w worktree add -q ../third -b third; cd third; git bisect start HEAD HEAD~4",
        "git -C w worktree add -q ../third -b third; cd third; echo x > a; git commit -qam x
         git rebase -q HEAD~2 --onto HEAD~4 2>&1 || true",
    ] {
        if holds(script).is_none() {
            return;
        }
    }
}
