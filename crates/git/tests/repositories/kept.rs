//! What collides is kept, and nothing that was kept before is lost.

use toolwright_git::import::{self, Note, Snapshot};

use crate::support::Place;

const SETUP: &str =
    "cd w; git init -q; for i in 1 2 3; do echo $i > a; git add a; git commit -qm c$i; done
    git branch side HEAD~1; git branch other HEAD~1";

/// Where the values of a command were kept that collide with what a person has done meanwhile.
fn kept(place: &Place, script: &str, meanwhile: &str) -> Option<Vec<(String, Option<String>)>> {
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let (_upper, changes) = place.in_overlay(script)?;
    place.sh(meanwhile);
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(!imported.is_waiting, "{imported:?}");
    let kept = imported.notes.into_iter().map(|note| match note {
        Note::ReferenceKept { name, kept } => (name, kept),
        note => panic!("{note:?}"),
    });
    Some(kept.collect())
}

fn refs(place: &Place) -> String {
    place.sh("git -C w for-each-ref --format='%(refname) %(objectname)' refs/toolwright")
}

#[test]
fn what_was_kept_stays_under_its_name() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let commit = "commit() { git commit-tree -p $2 -m $1 HEAD^{tree}; }; cd w;";
    let one = format!(
        "{commit} c=$(commit one side); git update-ref refs/heads/side $c
        git update-ref refs/heads/other $c; git update-ref refs/tags/deep/er $c"
    );
    let moved =
        "cd w; git branch -qf side main; git branch -qf other main; git tag -f deep/er main";
    let Some(first) = kept(&place, &one, moved) else { return };
    let of = |all: &[(String, Option<String>)], name: &str| -> String {
        all.iter().find(|(one, _)| one == name).unwrap().1.clone().unwrap()
    };
    assert_eq!(first.len(), 3, "{first:?}");
    let at = of(&first, "refs/heads/side");
    let place_of_first = at.strip_suffix("/heads/side").unwrap().to_owned();
    assert_eq!(of(&first, "refs/heads/other"), format!("{place_of_first}/heads/other"));
    assert_eq!(of(&first, "refs/tags/deep/er"), format!("{place_of_first}/tags/deep/er"));
    let after_first = refs(&place);
    // Garbage collection by a person packs the names and keeps what they lead to.
    place
        .sh("cd w; git reflog expire --expire=now --all; git gc -q --prune=now; git fsck --strict");
    assert_eq!(refs(&place), after_first);
    assert_eq!(place.sh(&format!("git -C w log -1 --format=%s {at}")), "one\n");

    // The same commit under the same name: it is kept already.
    let back =
        "cd w; git branch -qf side main~1; git branch -qf other main~1; git tag -f deep/er main~1";
    place.sh(back);
    assert_eq!(kept(&place, &one, moved).unwrap(), first);
    assert_eq!(refs(&place), after_first);

    // The same commit under a name that has the first one as its directory.
    place.sh("cd w; git branch -q -D side; git branch -q side/more main~1");
    let below = format!("cd w; git update-ref refs/heads/side/more {at}");
    let second = kept(&place, &below, "cd w; git branch -qf side/more main").unwrap();
    let name = format!("{place_of_first}-2/heads/side/more");
    assert_eq!(second, [("refs/heads/side/more".to_owned(), Some(name))]);
    assert!(refs(&place).contains(&after_first.lines().next().unwrap().to_owned()));

    // Another commit is kept under the same name, as one whose name begins with the same digits would be.
    place.sh(&format!("cd w; git update-ref {at} main; git pack-refs --all"));
    place.sh("cd w; git branch -q -D side/more; git branch -q side main~1");
    let again = format!("cd w; git update-ref refs/heads/side {place_of_first}/heads/other");
    let third = kept(&place, &again, "cd w; git branch -qf side main").unwrap();
    assert_eq!(of(&third, "refs/heads/side"), format!("{place_of_first}-3/heads/side"));
    assert_eq!(place.sh(&format!("git -C w rev-parse {at}")), place.sh("git -C w rev-parse main"));
    place.sh("cd w; git gc -q --prune=now; git fsck --strict");
}

#[test]
fn a_commit_without_a_branch_is_kept() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    place.sh("cd w; git checkout -q --detach; git worktree add -q --detach ../tree");
    let script = "cd w; git commit -q --allow-empty -m mine; cd ../tree; git commit -q --allow-empty -m linked";
    let meanwhile =
        "cd w; git checkout -q --detach HEAD~1; cd ../tree; git checkout -q --detach HEAD~2";
    let Some(kept) = kept(&place, script, meanwhile) else { return };
    let [(one, Some(first)), (other, Some(second))] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((&**one, &**other), ("HEAD", "worktrees/tree/HEAD"));
    place
        .sh("cd w; git reflog expire --expire=now --all; git gc -q --prune=now; git fsck --strict");
    assert_eq!(place.sh(&format!("git -C w log -1 --format=%s {first}")), "mine\n");
    assert_eq!(place.sh(&format!("git -C w log -1 --format=%s {second}")), "linked\n");
}
