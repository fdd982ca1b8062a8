//! Submodules: what a command does to them is there as if it had been done outside.

use toolwright_git::config::New;
use toolwright_git::import::{self, Imported, Note, Snapshot};

use crate::support::{Place, said};

/// A library that has another one as a submodule, and a repository that has neither yet.
const REMOTES: &str = "mkdir remotes; cd remotes
    git init -q inner; (cd inner; echo i > i; git add i; git commit -qm inner)
    git init -q lib; (cd lib; echo l > l; git add l; git commit -qm lib
        git submodule --quiet add $PWD/../inner deps/inner; git commit -qm deps)
    git init -q lone; (cd lone; echo 1 > 1; git add 1; git commit -qm lone)
    cd ..; cd w; git init -q; echo a > a; git add a; git commit -qm one; cd ..";
const WITH_LIB: &str = "R=$PWD/remotes; cd w; git submodule --quiet add $R/lib vendor/lib
    git submodule --quiet update --init --recursive; git commit -qm lib; cd ..";

fn all(place: &Place) -> String {
    let mut all = said(place, "w");
    let list = "cd w; git submodule --quiet foreach --recursive 'echo $displaypath'";
    for directory in place.sh(list).lines() {
        all += directory;
        all += &said(place, &format!("w/{directory}"));
    }
    all
}

/// Runs a script in a fork, brings its changes back, and compares with what it does outside.
fn holds(setup: &[&str], script: &str) -> Option<()> {
    let place = Place::new()?;
    for setup in setup {
        place.sh(setup);
    }
    place.sh("cp -a . ../$(basename $PWD).copy");
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let (_upper, changes) = place.in_overlay(script)?;
    let terms = place.terms("w/.git");
    for _ in 0..2 {
        // A second time nothing more is to be done, as after a lock that somebody had.
        let Imported { notes, is_waiting } = import::import(&git, &snapshot, &changes, &terms);
        let is_quiet = notes.iter().all(|note| matches!(note, Note::SettingsChanged(_)));
        assert!(is_quiet && !is_waiting, "{script}: {notes:?}");
        place.sh("test -z \"$(find w/.git -name '*.lock' -o -name 'toolwright*')\"");
    }
    let brought_back = all(&place);
    place.sh("for it in $(ls -A); do rm -rf $it; done; cp -a ../$(basename $PWD).copy/. .");
    place.sh("rm -rf ../$(basename $PWD).copy");
    place.sh(script);
    assert_eq!(brought_back, all(&place), "{script}");
    Some(())
}

#[test]
fn submodules_that_a_command_has_made() {
    for script in [
        "R=$PWD/remotes; cd w; git submodule --quiet add $R/lone",
        "R=$PWD/remotes; cd w; git submodule --quiet add $R/lone deep/er/lone; git commit -qm lone",
        "R=$PWD/remotes; cd w; git submodule --quiet add --name other/name $R/lone lone; git commit -qm x",
        "R=$PWD/remotes; cd w; git submodule --quiet add $R/lib vendor/lib; git commit -qm lib
         git submodule --quiet update --init --recursive",
        "R=$PWD/remotes; cd w; git submodule --quiet add -b main $R/lone; git commit -qm lone; cd lone
         echo 2 > 2; git add 2; git commit -qm two; git checkout -qb branch; cd ..; git commit -qam two",
    ] {
        if holds(&[REMOTES], script).is_none() {
            return;
        }
    }
}

#[test]
fn submodules_that_were_there() {
    for script in [
        "R=$PWD/remotes; cd w/vendor/lib; git checkout -q main; echo 2 > l; git commit -qam two; cd ../..; git commit -qam two",
        "R=$PWD/remotes; cd w/vendor/lib/deps/inner; git checkout -qb x; echo 2 > i; git commit -qam two; cd ../..
         git commit -qam two; cd ../..; git commit -qam two",
        "R=$PWD/remotes; cd w/vendor/lib; git fetch -q; git branch side; echo 3 > l; git add l; git stash -q; git repack -qad",
        "R=$PWD/remotes; cd w/vendor/lib; git config user.name X; git remote add two $R/lone; git fetch -q two",
        "R=$PWD/remotes; cd w; git submodule --quiet deinit -f vendor/lib",
        "cd w; git submodule --quiet deinit -f vendor/lib; git submodule --quiet update --init",
        "R=$PWD/remotes; cd w; git submodule --quiet add $R/lone; git commit -qm lone
         cd vendor/lib; git submodule --quiet add $R/lone deeper; git commit -qm deeper",
        "R=$PWD/remotes; cd w; git mv vendor/lib moved; git commit -qm moved",
        "R=$PWD/remotes; cd w; git status > /dev/null; git submodule --quiet foreach --recursive git status > /dev/null",
    ] {
        if holds(&[REMOTES, WITH_LIB], script).is_none() {
            return;
        }
    }
}

#[test]
fn a_submodule_stays_where_it_is_if_nothing_is_at_its_new_place() {
    let Some(place) = Place::new() else { return };
    place.sh(REMOTES);
    place.sh(WITH_LIB);
    let git = place.open("w/.git");
    let snapshot = Snapshot::take(&git).unwrap();
    let script = "git config -f w/.git/modules/vendor/lib/config core.worktree ../../../../gone";
    let Some((_upper, changes)) = place.in_overlay(script) else { return };
    let before = all(&place);
    let Imported { is_waiting, .. } =
        import::import(&git, &snapshot, &changes, &place.terms("w/.git"));
    assert!(!is_waiting);
    assert_eq!(before, all(&place));
}

#[test]
fn a_new_repository_comes_with_its_submodules() {
    let Some(place) = Place::new() else { return };
    place.sh(REMOTES);
    place.sh(WITH_LIB);
    place.sh("mv w remotes/super; git clone -q --recurse-submodules remotes/super w");
    let before = all(&place);
    let made = place.bring_back("w/.git", &New::default());
    assert!(made.is_made && made.notes.is_empty(), "{made:?}");
    assert_eq!(all(&place), before);
}
