//! Linked work trees beside a person, and what of a command's changes stays out.

use std::fs;

use toolwright_git::import::{self, Imported, Note, Snapshot};

use crate::support::Place;
use crate::work_trees::SETUP;

/// What was left out of what a script has done in a fork, where the person has done something meanwhile.
fn left_out(before: &str, script: &str, meanwhile: &str) -> Option<(Place, Vec<String>)> {
    let place = Place::new()?;
    place.sh(SETUP);
    place.sh(before);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let (_upper, changes) = place.in_overlay(script)?;
    place.sh(meanwhile);
    let Imported { notes, is_waiting } =
        import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(!is_waiting, "{notes:?}");
    let mut names = Vec::new();
    for note in notes {
        match note {
            Note::LeftOut(more) => names.extend(more),
            note => panic!("{script}: {note:?}"),
        }
    }
    place.sh("git -C w fsck --strict --no-progress 2> /dev/null; git -C w status");
    Some((place, names))
}

const REMOVE: &str = "git -C w worktree remove ../tree";

#[test]
fn a_work_tree_that_is_there_or_locked_stays() {
    for (before, script, meanwhile, reason) in [
        ("", "rm -r w/.git/worktrees/tree", "", "its work tree is there"),
        ("", "rm w/.git/worktrees/tree/*d*", "", "its work tree is there"),
        ("", "rm -r w/.git/worktrees", "", "its work tree is there"),
        ("", REMOVE, "mkdir tree; echo > tree/.git", "its work tree is there"),
        ("git -C w worktree lock ../tree", "rm -rf tree w/.git/worktrees/tree", "", "it is locked"),
        ("", REMOVE, "echo > w/.git/worktrees/tree/locked", "it is locked"),
        (
            "",
            REMOVE,
            "echo /x/.git > w/.git/worktrees/tree/gitdir",
            "another program has changed it",
        ),
        ("", REMOVE, "echo > w/.git/worktrees/tree/index.lock", "somebody works in it"),
        ("", REMOVE, "mkdir w/.git/worktrees/tree/modules", "it has more than git puts there"),
    ] {
        let Some((place, names)) = left_out(before, script, meanwhile) else { return };
        let name = format!("worktrees/tree (its removal: {reason})");
        assert!(names.contains(&name), "{script}; {meanwhile}: {names:?}");
        place.sh("test -f w/.git/worktrees/tree/HEAD -a -f w/.git/worktrees/tree/logs/HEAD");
        place.sh("test -z \"$(find w/.git -name HEAD.lock -o -name 'toolwright*')\"");
    }
}

#[test]
fn what_git_itself_would_prune_goes() {
    for (before, script, meanwhile) in [
        ("", REMOVE, ""),
        // Somebody else was faster.
        ("", REMOVE, "git -C w worktree prune"),
        ("rm tree/.git", "git -C w worktree prune", ""),
        ("rm -r tree; echo > tree", "git -C w worktree prune", ""),
        ("rm w/.git/worktrees/tree/gitdir", "git -C w worktree prune", ""),
        ("", "rm -r tree; rm w/.git/worktrees/tree/gitdir", ""),
    ] {
        let Some((place, names)) = left_out(before, script, meanwhile) else { return };
        assert_eq!(names, [""; 0], "{before}; {script}; {meanwhile}");
        place.sh("test ! -e w/.git/worktrees/tree -a -f w/.git/worktrees/other/HEAD");
        assert_eq!(place.sh("git -C w worktree prune -n -v 2>&1"), "");
    }
}

#[test]
fn a_work_tree_is_led_only_to_where_one_leads_back() {
    for (script, name) in [
        ("echo $PWD/nowhere/.git > w/.git/worktrees/tree/gitdir", "gitdir"),
        ("echo $PWD/other/.git > w/.git/worktrees/tree/gitdir", "gitdir"),
        ("echo $PWD/tree > w/.git/worktrees/tree/gitdir", "gitdir"),
        (
            "mkdir remotes/x; cp tree/.git remotes/x; echo $PWD/remotes/x/.git > w/.git/worktrees/tree/gitdir",
            "gitdir",
        ),
        (
            "cp -r tree copy; ln -s copy link; echo $PWD/link/.git > w/.git/worktrees/tree/gitdir",
            "gitdir",
        ),
        ("head -c 9000 /dev/zero > w/.git/worktrees/tree/gitdir", "gitdir"),
        ("rm w/.git/worktrees/tree/gitdir; ln -s x w/.git/worktrees/tree/gitdir", "gitdir"),
        ("printf 'a\\033[2J' > w/.git/worktrees/tree/locked", "locked"),
        ("head -c 9000 /dev/zero > w/.git/worktrees/tree/locked", "locked"),
        ("mkdir w/.git/worktrees/tree/locked", "locked"),
        (
            "mkdir -p w/.git/worktrees/tree/refs/bisect; echo x > w/.git/worktrees/tree/refs/bisect/bad",
            "refs/bisect/bad",
        ),
        (
            "mkdir -p w/.git/worktrees/tree/refs/bisect; printf %040d 1 > w/.git/worktrees/tree/refs/bisect/bad",
            "refs/bisect/bad",
        ),
        (
            "mkdir -p w/.git/worktrees/tree/refs/heads; git -C w rev-parse HEAD > w/.git/worktrees/tree/refs/heads/x",
            "refs/heads/x",
        ),
        ("mkdir -p w/.git/worktrees/tree/modules/x; echo x > w/.git/worktrees/tree/hooks", "hooks"),
    ] {
        let Some((place, mut names)) = left_out("mkdir -p remotes", script, "") else { return };
        names.retain(|name| name != "worktrees/tree/modules");
        assert_eq!(names, [format!("worktrees/tree/{name}")], "{script}");
        place.sh("cd tree; git status; test \"$(git rev-parse HEAD)\" = \"$(git rev-parse main)\"");
        assert!(!place.path().join("w/.git/worktrees/tree/locked").exists());
        let refs = place.path().join("w/.git/worktrees/tree/refs");
        assert!(fs::read_dir(refs).unwrap().next().is_none(), "{script}");
    }
}

#[test]
fn what_somebody_else_has_done_in_a_work_tree_stays() {
    for (script, meanwhile, name) in [
        (
            "git -C w worktree move ../tree ../moved",
            "mv moved third; git -C third worktree repair",
            "worktrees/tree/gitdir",
        ),
        (
            "git -C w worktree lock --reason theirs ../tree",
            "git -C w worktree lock --reason mine ../tree",
            "worktrees/tree/locked",
        ),
        (
            "git -C w worktree add -q ../a/new -b a",
            "git -C w worktree add -q ../b/new -b b",
            "worktrees/new (another one has its name)",
        ),
    ] {
        let Some((_place, names)) = left_out("", script, meanwhile) else { return };
        assert_eq!(names, [name], "{script}");
    }
    let Some((place, names)) = left_out(
        "",
        "git -C tree update-ref refs/worktree/x HEAD~1; git -C other update-ref refs/worktree/y HEAD",
        "git -C other update-ref refs/worktree/z HEAD",
    ) else {
        return;
    };
    assert_eq!(names, [""; 0]);
    let refs = "git for-each-ref --format='%(refname)' refs/worktree";
    assert_eq!(place.sh(&format!("cd other; {refs}")), "refs/worktree/y\nrefs/worktree/z\n");
}

#[test]
fn a_change_in_a_linked_work_tree_is_one_of_the_repository() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let git = place.open("w/.git");
    let wait = || std::thread::sleep(std::time::Duration::from_millis(50));
    for script in [
        "cd other; git checkout -q --detach HEAD~1",
        "cd tree; echo x > a; git add a",
        "git -C w worktree lock ../tree",
        "git -C w worktree unlock ../tree",
        "cd tree; git update-ref refs/worktree/x HEAD",
        "cd tree; git update-ref refs/worktree/x HEAD~1",
        "git -C w worktree add -q ../third -b third",
        "git -C w worktree remove ../third",
    ] {
        wait();
        let snapshot = Snapshot::take(&git).unwrap();
        assert!(snapshot.is_current(&git));
        place.sh(script);
        assert!(!snapshot.is_current(&git), "{script}");
    }
}

#[test]
fn as_many_work_trees_as_somebody_has_are_read() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let linked = place.path().join("w/.git/worktrees");
    let fill = |up_to| {
        for number in fs::read_dir(&linked).unwrap().count()..up_to {
            let one = linked.join(format!("more-{number}"));
            fs::create_dir(&one).unwrap();
            fs::copy(linked.join("tree/HEAD"), one.join("HEAD")).unwrap();
        }
    };
    fill(300);
    place.sh("cd w/.git/worktrees; for i in more-*; do ln tree/index $i/index; done");
    place.sh("for i in 1 2 3 4; do git -C w worktree add -q ../t$i -b t$i; done");
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let script =
        "for i in 1 2; do cd t$i; echo $i$i > a; git commit -qam $i; cd ..; done; cd t3; echo x > a
        git add a; cd ../t4; echo y > a; git add a";
    let Some((_upper, changes)) = place.in_overlay(script) else { return };
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(imported.notes.is_empty(), "{imported:?}");
    let log =
        "for i in 1 2 3 4; do git -C t$i log -1 --format=%s; git -C t$i status --porcelain; done";
    assert_eq!(place.sh(log), "1\n2\ndirs\nM  a\ndirs\nM  a\n");
    fill(4096);
    Snapshot::take(&git).unwrap();
    fs::create_dir(linked.join("one-too-many")).unwrap();
    let error = Snapshot::take(&git).unwrap_err();
    assert_eq!(error.to_string(), "worktrees cannot be read: it is larger than 4096");
}
