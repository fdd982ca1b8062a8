//! Submodules beside a person who works in them.

use std::fs;

use toolwright_git::import::{self, Note, Snapshot};

use crate::support::Place;

const SETUP: &str = "mkdir remotes; git init -q remotes/lib; cd remotes/lib
    echo 1 > l; git add l; git commit -qm lib; cd ../..; R=$PWD/remotes; cd w; git init -q
    git submodule --quiet add $R/lib; git commit -qm one";
const SCRIPT: &str =
    "R=$PWD/remotes; cd w/lib; echo 2 > l; git commit -qam two; cd ..; git commit -qam two
    git submodule --quiet add $R/lib other; git commit -qm other";

#[test]
fn a_lock_in_a_submodule_lets_everything_wait() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let Some((upper, changes)) = place.in_overlay(SCRIPT) else { return };
    place.sh(&format!(
        "git config --file {}/modules/other/config core.fsmonitor x",
        upper.path().join("upper").display()
    ));
    let terms = place.terms("w/.git");
    let before = place.sh("git -C w rev-parse HEAD");
    for lock in ["modules/lib/index.lock", "modules/lib/HEAD.lock", "HEAD.lock", "index.lock"] {
        let path = place.path().join("w/.git").join(lock);
        fs::write(&path, "").unwrap();
        let imported = import::import(&git, &snapshot, &changes, &terms);
        assert!(imported.is_waiting, "{lock}: {imported:?}");
        assert_eq!(imported.notes, [Note::Locked(lock.into())]);
        assert_eq!(place.sh("git -C w rev-parse HEAD"), before, "{lock}");
        fs::remove_file(&path).unwrap();
    }
    let imported = import::import(&git, &snapshot, &changes, &terms);
    // What was told while it waited is told when it is there.
    let is_told = matches!(&imported.notes[..], [Note::SettingsRefused(names)] if names == &["modules/other/core.fsmonitor"]);
    assert!(!imported.is_waiting && is_told, "{imported:?}");
    let after = "cd w; git fsck; git status --porcelain; git submodule status | cut -c1; git log -g --format=%gs
        cd lib; git status --porcelain; git log -g --format=%gs | head -1; cd ../other; git status --porcelain";
    assert_eq!(
        place.sh(after),
        " \n \ncommit: other\ncommit: two\ncommit (initial): one\ncommit: two\n"
    );
}

#[test]
fn what_a_person_has_done_in_a_submodule_stays() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let Some((_upper, changes)) = place.in_overlay(SCRIPT) else { return };
    place.sh("cd w/lib; git commit -q --allow-empty -m mine");
    let terms = place.terms("w/.git");
    let imported = import::import(&git, &snapshot, &changes, &terms);
    assert!(!imported.is_waiting, "{imported:?}");
    let [Note::ReferenceKept { name, kept: Some(kept) }] = &imported.notes[..] else {
        panic!("{imported:?}")
    };
    assert_eq!(name, "modules/lib/refs/heads/main");
    assert_eq!(place.sh("git -C w/lib log -1 --format=%s"), "mine\n");
    let kept = kept.strip_prefix("modules/lib/").unwrap();
    assert_eq!(place.sh(&format!("git -C w/lib log -1 --format=%s {kept}")), "two\n");
    place.sh("cd w; git fsck; git -C lib fsck; git status");
}

#[test]
fn what_a_killed_process_has_begun_is_recovered_in_submodules_too() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    // As it is left at the moments before and after the point of no return.
    place.sh(
        "cd w/.git/modules; mkdir -p a/b/toolwright.new/objects other
         cp -a lib other/toolwright.made; mv other/toolwright.made/objects other/objects
         mkdir -p lib/toolwright/1-1; cd lib/toolwright/1-1; echo > owner; : > 0; ln 0 ../../HEAD.lock
         echo '0 HEAD' > targets",
    );
    let git = place.open("w/.git");
    assert_eq!(import::recover(&git).unwrap(), import::Found::Nothing);
    let left = place.sh("cd w/.git; find . -name 'toolwright*' -o -name '*.lock'; ls modules");
    assert_eq!(left, "lib\nother\n");
    place.sh("cd w/.git/modules/other; git fsck; cd ../lib; git fsck");
}

#[test]
fn git_goes_on_where_a_submodule_was_not_made() {
    let Some(place) = Place::new() else { return };
    place.sh(SETUP);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let Some((upper, changes)) = place.in_overlay(SCRIPT) else { return };
    let module = upper.path().join("upper/modules/other");
    place.sh(&format!("rm -rf {0}/objects; mkdir {0}/objects", module.display()));
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    let notes = &imported.notes;
    assert!(notes.iter().any(|note| matches!(note, Note::Failed(_))), "{notes:?}");
    assert!(notes.contains(&Note::LeftOut(vec!["index: other".to_owned()])), "{notes:?}");
    let said = place.sh("cd w; git status --porcelain; git log -1 --format=%s; git fsck");
    assert_eq!(said, "D  other\n?? other/\nother\n");
}
