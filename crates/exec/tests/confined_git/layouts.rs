//! Repositories whose git directory is no `.git` of their root, and what is done in them: it has to be the same in the
//! sandbox as outside.

use toolwright_exec::{GitNote, GitReport};

use super::law::seed;
use super::support::factor;
use super::{Scene, has_namespaces};

const HAS_COMMITS: &str = "echo one > a && git add a && git commit -qm one && git branch side \
    && echo two > b && git add b && git commit -qm two && git remote add origin $BESIDE/up.git && git fetch -q origin";

/// A name, how a person makes it, and the directory in which a command works.
const LAYOUTS: &[(&str, &str, &str)] = &[
    ("a linked work tree", "git init -q . && $COMMITS && git worktree add -q wt", "wt"),
    (
        "a linked work tree of a repository below",
        "git init -q own && (cd own && $COMMITS && git worktree add -q ../wt)",
        "wt",
    ),
    (
        "a work tree of a bare repository",
        "git init -q t && (cd t && $COMMITS) && git clone -q --bare t b.git && rm -rf t && git -C b.git worktree add -q ../wt main",
        "wt",
    ),
    (
        "a work tree beside a bare repository that a file leads to",
        "git init -q t && (cd t && $COMMITS) && git clone -q --bare t .bare && rm -rf t && echo 'gitdir: ./.bare' > .git && git worktree add -q wt main",
        "wt",
    ),
    ("a git directory elsewhere", "git init -q --separate-git-dir=g s && (cd s && $COMMITS)", "s"),
    (
        "a git directory elsewhere, for the root",
        "git init -q --separate-git-dir=g . && echo g > .gitignore && $COMMITS",
        ".",
    ),
    (
        "a submodule",
        "git init -q . && git submodule --quiet add $BESIDE/lib sub && git commit -qm sub && (cd sub && $COMMITS)",
        "sub",
    ),
    (
        "a submodule of a submodule",
        "git init -q . && git submodule --quiet add $BESIDE/lib sub && git -C sub submodule --quiet add $BESIDE/lib in && git -C sub commit -qm in && git commit -qm sub && (cd sub/in && $COMMITS)",
        "sub/in",
    ),
    ("a repository below", "git init -q . && git init -q x/y && (cd x/y && $COMMITS)", "x/y"),
];

const WORK: &[(&str, &str)] = &[
    ("commit", "echo more >> a; git commit -qam more; git log --format=%s"),
    ("amend", "git commit -q --amend -m better; git log --format=%s"),
    ("branches", "git switch -qc topic; git branch more; git branch -D side; git branch | cat"),
    ("stash", "echo more >> a; git stash -q; git stash list; git stash pop -q; git status --short"),
    (
        "rebase",
        "git switch -q side; echo c > c; git add c; git commit -qm c; git switch -qc on; git rebase -q side; git log --format=%s",
    ),
    (
        "a conflict",
        "git switch -q side; echo c > b; git add b; git commit -qm c; git merge -q side~1; git cherry-pick HEAD~0; git status | head -2",
    ),
    ("tags and notes", "git tag -a -m one v1; git notes add -m note; git describe; git notes list"),
    (
        "settings",
        "git config user.name me; git config branch.side.description x; git config user.name",
    ),
    ("fetch", "git remote add lib $BESIDE/lib; git fetch -q lib; git branch -r"),
    (
        "pack",
        "git -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q; git pack-refs --all; git fsck --no-progress; git rev-list --all --count",
    ),
    (
        "another work tree",
        "git worktree add -q -b more \"$TOP/more\"; cd \"$TOP/more\"; echo m > m; git add m; git commit -qm m; git worktree list | wc -l",
    ),
    (
        "a work tree that goes",
        "git worktree add -q --detach \"$TOP/more\"; git worktree remove \"$TOP/more\"; git worktree list | wc -l",
    ),
    (
        "a submodule",
        "git submodule --quiet add $BESIDE/lib mod; git commit -qm mod; git submodule status | wc -l",
    ),
    (
        "a submodule that works",
        "git submodule --quiet add $BESIDE/lib mod; git commit -qm mod; cd mod; git commit -q --allow-empty -m in; git log --format=%s | head -1",
    ),
    (
        "bisect",
        "git bisect start -q; git bisect bad; git bisect good HEAD~1 > out; git bisect log | wc -l",
    ),
];

/// What a person sees afterwards, in every work tree.
const SEEN: &str = "git worktree list --porcelain; for w in $(git worktree list --porcelain | sed -n 's/^worktree //p'); do echo \"= $w\"; cd $w || continue; \
    git status --short --branch; git log --format='%H %s' --all; git reflog; git stash list; git for-each-ref; git config --list --local | sort; \
    git ls-files -s; git submodule status --recursive; git fsck --no-progress --connectivity-only; done 2>&1";

/// What one command makes and works in, where it works, and what another command does there.
const MADE: &[(&str, &str, &str)] = &[
    (
        "git clone -q --bare $BESIDE/lib n.git; git -C n.git worktree add -q ../w; cd w; echo x > x; git add x; git commit -qm x",
        "w",
        "echo y > y; git add y; git commit -qm y; git log --format=%s",
    ),
    (
        "git clone -q --bare $BESIDE/lib .bare; echo 'gitdir: ./.bare' > .git; git worktree add -q w feature",
        "w",
        "echo y > y; git add y; git commit -qm y; git worktree add -q --detach ../more; git worktree list | wc -l",
    ),
    (
        "git init -q a; cd a; git commit -q --allow-empty -m x; git worktree add -q ../w; cd ../w; git submodule --quiet add $BESIDE/lib mod; git commit -qm mod",
        "w",
        "git submodule status | wc -l; git -C mod commit -q --allow-empty -m in; git add mod; git commit -qm moved; git log --format=%s",
    ),
];

#[test]
fn a_layout_that_one_command_makes_serves_the_next() {
    if !has_namespaces() {
        return;
    }
    for (first, within, second) in MADE {
        let scene = Scene::new("");
        let second = format!("cd {within}; {second}");
        let see = || scene.on_host(&scene.place.root, &format!("cd {within}; {SEEN}"));
        let by_person = [&**first, &second].map(|line| scene.on_host(&scene.place.root, line));
        let expected = see();
        scene.prepare("");
        let by_command = [&**first, &second].map(|line| scene.confined(line));
        let printed = by_command.each_ref().map(|(printed, _)| printed.clone());
        let reports = by_command.map(|(_, reports)| reports.take());
        assert_eq!(by_person, printed, "{first}: {reports:?}");
        assert_eq!(expected, see(), "{first}: {reports:?}");
    }
}

#[test]
fn git_works_in_every_layout_as_outside() {
    if !has_namespaces() {
        return;
    }
    let mut wrong = Vec::new();
    // An ordinary run does a third of it, which the seed decides.
    let first = usize::try_from(seed() % 3).expect("small");
    let is_chosen = |number: usize| factor() > 1 || (number + first).is_multiple_of(3);
    for (index, (layout, prepare, within)) in LAYOUTS.iter().enumerate() {
        let prepare = prepare.replace("$COMMITS", HAS_COMMITS);
        let scene = Scene::new(&prepare);
        for (number, (name, work)) in WORK.iter().enumerate() {
            if !is_chosen(index + number) {
                continue;
            }
            // A submodule comes back where its work tree lies in one that git knows by its own directory.
            if work.contains("submodule") && prepare.contains("--separate-git-dir") {
                continue;
            }
            let script = format!("TOP=$PWD; cd {within}; {work}");
            let see =
                |scene: &Scene| scene.on_host(&scene.place.root, &format!("cd {within}; {SEEN}"));
            scene.prepare(&prepare);
            let by_person = scene.on_host(&scene.place.root, &script);
            let expected = see(&scene);
            scene.prepare(&prepare);
            let (by_command, reports) = scene.confined(&script);
            let found = see(&scene);
            let mut reports = reports.take();
            // A user is told of other addresses.
            reports.retain(|report| {
                !matches!(report, GitReport::Repository { note: GitNote::SettingsChanged(_), .. })
            });
            if by_person != by_command || !reports.is_empty() {
                wrong.push(format!(
                    "{name} in {layout}:\n{by_person}\nbut inside:\n{by_command}\n{reports:?}"
                ));
            }
            if expected != found {
                wrong.push(format!(
                    "{name} in {layout}, afterwards:\n{expected}\nbut inside:\n{found}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
}
