//! Partial and shallow clones of a person, in which a command works.

use toolwright_git::import::{self, Imported, Snapshot};

use crate::support::{Place, said};

const REMOTE: &str = "mkdir remotes; git init -q remotes/one; cd remotes/one
    git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true
    echo 1 > a; git add a; git commit -qm one; git checkout -qb side; echo 2 > a; echo 3 > b; git add b
    git commit -qam two; git checkout -q main; cd ../..; rmdir w";

#[test]
fn what_a_command_has_fetched_of_a_partial_clone_is_marked() {
    for (clone, script) in [
        ("--filter=blob:none", "git checkout -q side; echo 4 > b; git commit -qam three"),
        ("--filter=tree:0", "git checkout -q side; git log -p --all > /dev/null"),
        ("--depth 1 --no-single-branch", "git checkout -q side; echo 4 > b; git commit -qam three"),
    ] {
        let Some(place) = Place::new() else { return };
        place.sh(REMOTE);
        place.sh(&format!("git clone -q {clone} file://$PWD/remotes/one w"));
        let git = place.open("w/.git");
        let snapshot = Snapshot::take(&git).unwrap();
        let Some((_upper, changes)) = place.in_overlay(&format!("cd w; {script}")) else { return };
        let terms = place.terms("w/.git");
        let Imported { notes, is_waiting } = import::import(&git, &snapshot, &changes, &terms);
        assert!(notes.is_empty() && !is_waiting, "{clone}: {notes:?}");
        place.sh("cd w; git fsck --strict; test -z \"$(git status --porcelain)\"");
        let marks = place.sh("find w/.git/objects/pack -name '*.promisor' | wc -l");
        assert_eq!(marks.trim().parse::<u32>().unwrap() > 1, clone.contains("filter"), "{marks}");
        // Nothing is fetched any more.
        place.sh("mv remotes away; cd w; git log -p > /dev/null; mv ../away ../remotes");
        assert!(said(&place, "w").contains("refs/heads/side"), "{clone}");
    }
}
