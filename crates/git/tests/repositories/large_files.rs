//! Git LFS in a fork: its objects are there as if it had run outside.

use std::fs;

use toolwright_git::config::New;
use toolwright_git::import::{self, Imported, Note, Snapshot};

use crate::support::Place;

/// Puts a large file into the git directory, as Git LFS does, and commits what stands for it.
const STORE: &str = "store() {
    id=$(printf %s \"$2\" | sha256sum | cut -c1-64); git=$(git rev-parse --git-common-dir)
    at=$git/lfs/objects/$(printf %s $id | cut -c1-2)/$(printf %s $id | cut -c3-4)
    mkdir -p $git/lfs/tmp $git/lfs/cache/locks $at; printf %s \"$2\" > $git/lfs/tmp/$id; mv $git/lfs/tmp/$id $at/$id
    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $id ${#2} > $1
    git add $1; git commit -qm $1; }
";
const LIST: &str = "find w -path '*/lfs/*' -type f -exec sha256sum {} + | sort";

#[test]
fn large_files_come_back_before_what_refers_to_them() {
    let Some(place) = Place::new() else { return };
    place.sh(&format!(
        "{STORE} mkdir remotes; git init -q remotes/lib; (cd remotes/lib; echo 1 > l; git add l; git commit -qm l)
         R=$PWD/remotes; cd w; git init -q; store known known; git submodule --quiet add $R/lib; git commit -qm lib"
    ));
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let script = format!(
        "{STORE} cd w; store large large; store known known2; (cd lib; store below below)
         mkdir -p .git/lfs/objects/logs .git/lfs/incomplete; echo x > .git/lfs/objects/logs/x; echo x > .git/lfs/tmp/x
         echo x > .git/lfs/cache/locks/y; echo x > .git/lfs/lockcache.db
         f=$(find .git/lfs/objects -type f | head -1); touch $f"
    );
    let Some((_upper, changes)) = place.in_overlay(&script) else { return };
    let head = place.sh("git -C w rev-parse HEAD");
    // A lock of somebody else: what is there already does no harm.
    fs::write(place.path().join("w/.git/HEAD.lock"), "").unwrap();
    assert!(import::import(&git, &snapshot, &changes, &place.terms("w/.git")).is_waiting);
    assert_eq!(place.sh("git -C w rev-parse HEAD"), head);
    assert_eq!(place.sh(LIST).lines().count(), 4);
    fs::remove_file(place.path().join("w/.git/HEAD.lock")).unwrap();
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(imported.notes.is_empty() && !imported.is_waiting, "{imported:?}");
    assert_ne!(place.sh("git -C w rev-parse HEAD"), head);
    for line in place.sh(LIST).lines() {
        let (hash, path) = line.split_once("  ").unwrap();
        assert!(path.ends_with(hash), "{line}");
    }
    assert_eq!(place.sh("find w/.git/lfs/tmp w/.git/modules/lib/lfs/tmp -type f"), "");
    let known = place.sh("find w/.git/modules/lib/lfs/objects -type f | wc -l");
    assert_eq!(known.trim(), "1");
}

#[test]
fn large_files_of_a_new_repository_come_back() {
    let Some(place) = Place::new() else { return };
    place.sh(&format!("{STORE} cd w; git init -q; store large large; store other other"));
    let before = place.sh(LIST);
    let made = place.bring_back("w/.git", &New::default());
    assert!(made.is_made && made.notes.is_empty(), "{made:?}");
    assert_eq!(place.sh(LIST), before);
    assert_eq!(before.lines().count(), 2);
}

#[test]
fn what_is_no_large_file_is_named_and_keeps_nothing_else_out() {
    let Some(place) = Place::new() else { return };
    place.sh("cd w; git init -q; echo 1 > a; git add a; git commit -qm one");
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let script = format!(
        "{STORE} cd w; store large large; echo changed > $(find .git/lfs/objects -type f); store good good
         echo x > .git/lfs/hook"
    );
    let Some((_upper, changes)) = place.in_overlay(&script) else { return };
    let Imported { notes, .. } = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    let [Note::LeftOut(names)] = &notes[..] else { panic!("{notes:?}") };
    assert!(names[0].starts_with("lfs/hook (no file") && names.len() == 2, "{names:?}");
    assert!(names[1].ends_with("(its name is not the hash of its content)"), "{names:?}");
    assert_eq!(place.sh("git -C w log --format=%s"), "good\nlarge\none\n");
    assert_eq!(place.sh("find w/.git/lfs/objects -type f | wc -l").trim(), "1");
}

#[test]
fn git_lfs_itself_finds_its_files() {
    let Some(place) = Place::new() else { return };
    if !place.sh("git lfs version 2>&1 || true").starts_with("git-lfs/") {
        eprintln!("left out: git-lfs is not there");
        return;
    }
    let filter = "git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.required true
        git config filter.lfs.smudge 'git-lfs smudge -- %f'; git config filter.lfs.process 'git-lfs filter-process'";
    place.sh(&format!("cd w; git init -q; {filter}; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes
         echo one > a.bin; git add .; git commit -qm one"));
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let script =
        "cd w; echo two > a.bin; head -c 3000000 /dev/zero > b.bin; git add .; git commit -qm two
        git lfs ls-files; git lfs fsck; git checkout -q HEAD~1; git checkout -q -";
    let Some((_upper, changes)) = place.in_overlay(script) else { return };
    let imported = import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(imported.notes.is_empty() && !imported.is_waiting, "{imported:?}");
    let said = place.sh(
        "cd w; git lfs fsck; git status --porcelain; rm a.bin b.bin; git checkout -q .; cat a.bin; wc -c < b.bin",
    );
    assert_eq!(said, "Git LFS fsck OK\ntwo\n3000000\n");
}
