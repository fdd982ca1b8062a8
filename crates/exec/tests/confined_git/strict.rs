//! Git behind a strict plan.

use std::fs;

use toolwright_exec::{GitNote, GitReport, RefusedGit};
use toolwright_sandbox::plan::Plan;

use super::flows::{FLOWS, REPOSITORY, compare};
use super::{Scene, has_namespaces};

fn strict(plan: &mut Plan) {
    plan.is_git_strict = true;
}

/// What a strict plan refuses: files that lead to a repository, bare repositories, and other addresses.
fn is_held(script: &str) -> bool {
    const PARTS: [&str; 6] =
        ["worktree add", "submodule", "--bare", "remote rename", "remote remove", "set-url origin"];
    PARTS.iter().any(|part| script.contains(part))
}

#[test]
fn work_in_repositories_goes_on_as_outside() {
    if !has_namespaces() {
        return;
    }
    let flows = || FLOWS.iter().filter(|(_, _, script)| !is_held(script));
    assert!(flows().count() >= 40, "{}", flows().count());
    compare(flows(), strict);
}

#[test]
fn what_git_would_follow_is_refused_and_told() {
    if !has_namespaces() {
        return;
    }
    let link = |path: &str| GitReport::Refused(RefusedGit::Link(path.into()));
    let form = |path: &str| GitReport::Refused(RefusedGit::Form(path.into()));
    for (script, refused) in [
        ("git worktree add -q wt", link("wt/.git")),
        ("git submodule --quiet add $BESIDE/lib sub", link("sub/.git")),
        ("git init -q --separate-git-dir=sep tree", link("tree/.git")),
        ("git init -q --bare bare.git", form("bare.git/objects")),
        ("mkdir -p b/objects b/refs; echo 'ref: refs/heads/x' > b/HEAD", form("b/HEAD")),
    ] {
        let scene = Scene::new(REPOSITORY);
        let (printed, reports) = scene.confined_with(script, strict);
        assert!(!printed.ends_with("[Some(0)]"), "{script}: {printed}");
        let reports = reports.take();
        assert!(reports.contains(&refused), "{script}: {reports:?} {printed}");
        let found =
            scene.on_host(&scene.place.root, "find . -path ./.git -prune -o -name .git -print");
        assert_eq!(found, "[Some(0)]", "{script}");
        assert_eq!(
            scene.on_host(&scene.place.root, "git fsck && git log --format=%s"),
            "first\n[Some(0)]"
        );
    }
    // Both are there in the directory for temporary files.
    let scene = Scene::new(REPOSITORY);
    let (printed, reports) = scene.confined_with(
        "git init -q --bare /tmp/x.git && git push -q /tmp/x.git HEAD:refs/heads/main && git clone -q /tmp/x.git copy \
            && git worktree add -q /tmp/wt && git -C /tmp/wt log --format=%s",
        strict,
    );
    assert_eq!(printed, "first\n[Some(0)]", "{:?}", reports.take());
}

#[test]
fn addresses_that_are_there_are_held() {
    if !has_namespaces() {
        return;
    }
    let change = "git remote set-url origin https://git.example.com/other; git remote add new https://git.example.com/new; \
        git remote get-url origin";
    let scene = Scene::new(REPOSITORY);
    let (printed, reports) = scene.confined_with(change, strict);
    assert_eq!(printed, "https://git.example.com/other\n[Some(0)]");
    let notes = super::notes(&reports);
    let held =
        GitNote::AddressesHeld(vec!["remote.origin.url=https://git.example.com/other".into()]);
    assert!(notes.contains(&held), "{notes:?}");
    let remotes = "git remote get-url origin; git remote get-url new";
    assert_eq!(
        scene.on_host(&scene.place.root, remotes),
        "PLACE/beside/up.git\nhttps://git.example.com/new\n[Some(0)]"
    );
    // Without it, they are told.
    let scene = Scene::new(REPOSITORY);
    let (_, reports) = scene.confined(change);
    assert!(!super::notes(&reports).iter().any(|note| matches!(note, GitNote::AddressesHeld(_))));
    let now = scene.on_host(&scene.place.root, "git remote get-url origin");
    assert_eq!(now, "https://git.example.com/other\n[Some(0)]");
}

/// A rule that gives an address another one, and one that has it for pushes, are held as the address itself is.
#[test]
fn rules_that_change_addresses_are_held() {
    if !has_namespaces() {
        return;
    }
    let change = "git config url.https://git.example.com/.insteadOf $BESIDE/; git config url.https://git.example.com/p/.pushInsteadOf $BESIDE/; \
        git config remote.origin.pushurl https://git.example.com/q; git remote get-url origin";
    let addresses = "git remote get-url origin; git remote get-url --push origin";
    let scene = Scene::new(REPOSITORY);
    let before = scene.on_host(&scene.place.root, addresses);
    let (printed, reports) = scene.confined_with(change, strict);
    assert_eq!(printed, "https://git.example.com/up.git\n[Some(0)]");
    assert_eq!(scene.on_host(&scene.place.root, addresses), before);
    let notes = super::notes(&reports);
    assert!(notes.iter().any(|note| matches!(note, GitNote::AddressesHeld(_))), "{notes:?}");
}

/// A plan that holds git directories in no other way is refused, and runs nothing.
#[test]
fn what_cannot_be_held_runs_nothing() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new("");
    let missing = scene.refused_with(": > ran", |plan| {
        plan.is_git_strict = true;
        plan.hides_git_directories = false;
    });
    assert!(missing.contains("StrictGit"), "{missing}");
    assert!(fs::symlink_metadata(scene.place.root.join("ran")).is_err());
}
