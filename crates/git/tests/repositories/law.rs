//! What git says of a repository is the same as if it had been made outside.

use toolwright_git::config::New;
use toolwright_git::import::{self, Note};

use crate::support::{Place, said};

/// A remote with two branches, a tag and three commits.
const REMOTE: &str = "git init -q remotes/one; (cd remotes/one
     echo 1 > a; mkdir d; echo 2 > d/b; git add .; git commit -qm one
     git tag v1; git tag -am annotated v2; echo 3 > a; git commit -qam two
     git checkout -qb side; echo 4 > a; git commit -qam three; git checkout -q main)";

fn holds(script: &str, git: &str, is_bare: bool) {
    let Some(place) = Place::new() else { return };
    place.sh("mkdir remotes");
    place.sh(REMOTE);
    place.sh(script);
    let directory = git.strip_suffix("/.git").unwrap_or(git);
    let before = said(&place, directory);
    let made = place.bring_back(git, &New { is_bare, ..New::default() });
    assert_eq!((made.is_made, &*made.notes, made.is_waiting), (true, &[][..], false), "{script}");
    assert_eq!(said(&place, directory), before, "{script}");
    let names = place.sh(&format!("cd {git}; find . -name '*.lock' -o -name 'toolwright*'"));
    assert_eq!(names, "", "{script}");
}

#[test]
fn new_repositories_are_as_git_makes_them() {
    holds("git init -q w", "w/.git", false);
    holds("git init -q -b trunk w; echo 1 > w/a", "w/.git", false);
    holds("rmdir w; git init -q --bare w", "w", true);
    holds("cd w; git init -q; echo 1 > a; git add a; git commit -qm one", "w/.git", false);
    holds(
        "cd w; git init -q; echo 1 > a; git add a; git commit -qm one; git tag x; git branch y
         echo 2 > a; git stash -q; git checkout -q --detach; echo 3 > b; git add b; git commit -qm two
         echo 5 > staged; git add staged; git gc -q; git pack-refs --all",
        "w/.git",
        false,
    );
    // An operation that has stopped.
    holds(
        "cd w; git init -q; echo 1 > a; git add a; git commit -qm one; git checkout -qb side
         echo 2 > a; git commit -qam two; git checkout -q main; echo 3 > a; git commit -qam three
         git merge -q side || true",
        "w/.git",
        false,
    );
    holds(
        "cd w; git init -q; echo 1 > a; git add a; git commit -qm one; git branch linked
         git worktree add -q ../tree linked; cd ../tree; echo 2 > a; git commit -qam two",
        "w/.git",
        false,
    );
    holds(
        "cd w; git init -q; mkdir a b; echo 1 > a/a; echo 1 > b/b; git add .; git commit -qm one
         git sparse-checkout set a",
        "w/.git",
        false,
    );
}

#[test]
fn clones_are_as_git_makes_them() {
    holds("rmdir w; git clone -q remotes/one w", "w/.git", false);
    holds("rmdir w; git clone -q --no-hardlinks -b side remotes/one w", "w/.git", false);
    holds("rmdir w; git clone -q --bare remotes/one w", "w", true);
    holds("rmdir w; git clone -q --depth 1 file://$PWD/remotes/one w", "w/.git", false);
    holds(
        "git init -q --bare remotes/empty; git clone -q remotes/empty w 2>/dev/null",
        "w/.git",
        false,
    );
    holds(
        "rmdir w; git clone -q remotes/one w; cd w; echo 5 > a; git commit -qam four; git fetch -q
         git checkout -q side",
        "w/.git",
        false,
    );
}

#[test]
fn a_mirror_and_other_settings_are_told() {
    let Some(place) = Place::new() else { return };
    place.sh("mkdir remotes");
    place.sh(REMOTE);
    place.sh("rmdir w; git clone -q --mirror remotes/one w");
    let made = place.bring_back("w", &New { is_bare: true, ..New::default() });
    assert!(made.is_made, "{made:?}");
    assert!(matches!(&made.notes[..], [Note::SettingsRefused(_)]), "{made:?}");
    assert_eq!(place.sh("git -C w rev-list --count --all").trim(), "3");
}

#[test]
fn modes_and_the_mask_are_those_of_git() {
    let Some(place) = Place::new() else { return };
    place.sh("cd w; git init -q; echo 1 > a; git add a; git commit -qm one");
    let list =
        "cd w/.git; find . -not -path './hooks*' -not -path './branches' -printf '%m %p\n' | sort";
    let before = place.sh(list);
    let made = place.bring_back("w/.git", &New::default());
    assert!(made.is_made && made.notes.is_empty(), "{made:?}");
    assert_eq!(place.sh(list), before);
}

#[test]
fn what_cannot_be_brought_back_leaves_an_empty_directory() {
    for (script, reason) in [
        ("git clone -q --shared remotes/one w", "borrows objects"),
        ("git -C remotes/one config uploadpack.allowFilter true
          git clone -q --filter=blob:none file://$PWD/remotes/one w", "clone with a filter"),
        ("git init -q --object-format=sha256 w", "another format"),
        ("git init -q --ref-format=reftable w", "another format"),
        ("git clone -q --no-hardlinks remotes/one w; cd w; git unpack-objects < /dev/null || true
          chmod -R u+w .git; f=$(find .git/objects -type f | grep -v pack | head -1); echo x > $f", "missing or damaged"),
        ("git clone -q remotes/one w; rm -rf w/.git/refs", "has no refs"),
        ("git clone -q remotes/one w; rm -rf w/.git/objects", "has no objects"),
        ("git clone -q remotes/one w; echo nothing > w/.git/HEAD", "HEAD leads nowhere"),
        ("git clone -q remotes/one w; echo 1111111111111111111111111111111111111111 > w/.git/HEAD", "HEAD is no commit"),
        ("git clone -q remotes/one w; echo x > w/.git/shallow", "commits without parents"),
        ("git clone -q remotes/one w; echo 1111111111111111111111111111111111111111 > w/.git/shallow", "history ends"),
    ] {
        let Some(place) = Place::new() else { return };
        place.sh("mkdir remotes; rmdir w");
        place.sh(REMOTE);
        place.sh(script);
        let made = place.bring_back("w/.git", &New::default());
        let is_said = matches!(&made.notes[..], [Note::Failed(text)] if text.contains(reason));
        assert!(!made.is_made && is_said, "{script}: {made:?}");
        assert!(place.is_empty("w/.git"), "{script}");
    }
}

#[test]
fn only_an_empty_directory_is_taken_and_an_empty_one_is_nothing() {
    let Some(place) = Place::new() else { return };
    place.sh("git init -q w");
    place.sh("mv w/.git content; mkdir w/.git; echo mine > w/.git/file");
    let (host, content) = (place.open("w/.git"), place.open("content"));
    let terms = place.terms("w/.git");
    let made = import::create(&host, &content, &New::default(), &terms);
    assert!(!made.is_made && matches!(&made.notes[..], [Note::Failed(_)]), "{made:?}");
    assert_eq!(place.sh("ls -A w/.git"), "file\n");
    place.sh("rm w/.git/file; rm -rf content; mkdir content");
    let made = import::create(&host, &place.open("content"), &New::default(), &terms);
    assert!(!made.is_made && made.notes.is_empty() && !made.is_waiting, "{made:?}");
    // A process that is about to do the same.
    place.sh("rm -rf content; git init -q --bare content");
    let own = place.open("w/.git");
    rustix::fs::flock(&own, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let made = import::create(&host, &place.open("content"), &New::default(), &terms);
    assert!(made.is_waiting && matches!(&made.notes[..], [Note::Locked(_)]), "{made:?}");
    drop(own);
    assert!(import::create(&host, &place.open("content"), &New::default(), &terms).is_made);
}

#[test]
fn a_clone_of_a_fork_has_the_objects_of_the_host() {
    for pack in ["", "(cd remotes/one; git gc -q); "] {
        let Some(place) = Place::new() else { return };
        place.sh("mkdir remotes; rmdir w");
        place.sh(REMOTE);
        // A fork has its own new objects, and borrows the others.
        place.sh(&format!(
            "{pack}cp -a remotes/one fork; rm -rf fork/.git/objects/*; mkdir fork/.git/objects/info
             echo $PWD/shown > fork/.git/objects/info/alternates; ln -s remotes/one/.git/objects shown
             (cd fork; echo 9 > a; git commit -qam new); git clone -q fork w
             grep -q shown w/.git/objects/info/alternates; mv w/.git content; mkdir w/.git"
        ));
        let (host, content) = (place.open("w/.git"), place.open("content"));
        let mut terms = place.terms("w/.git");
        let made = import::create(&host, &content, &New::default(), &terms);
        assert!(!made.is_made && place.is_empty("w/.git"), "{made:?}");
        terms.lent =
            vec![(place.path().join("shown"), place.path().join("remotes/one/.git/objects"))];
        let made = import::create(&host, &content, &New::default(), &terms);
        assert!(made.is_made, "{made:?}");
        place.sh("rm -rf shown fork remotes; cd w; git fsck --strict; test -z \"$(git status --porcelain)\"");
        assert_eq!(place.sh("cd w; git rev-list --count --all; ls .git/objects/info"), "4\n");
    }
}
