//! Steps of a command that works on git directories at random, with something hostile in them.

use super::Numbers;
use super::entries::{FILES, HOOKS, SETTINGS};

/// Directories that may be a work tree, a bare repository or anything else.
const PLACES: &[&str] = &[
    ".",
    "p",
    "p/q",
    "p/q/r",
    "s",
    "s/t",
    "own",
    "sub",
    "gl",
    "wt",
    "d",
    "deep/1/2/3/4/5/6/7/8/9/10",
];

/// Directories that may be a git directory.
const DIRECTORIES: &[&str] = &[
    ".git",
    "p/.git",
    "p/q/.git",
    "p/q/r/.git",
    "s/.git",
    "s/t/.git",
    "g",
    "p/g",
    "s/g",
    "own/.git",
    "sub/.git",
    "gl/.git",
    "wt/.git",
    "d/.git",
    "b.git",
    "p",
    "s",
    "p/.git/modules/x",
    ".git/modules/sub",
    ".git/modules/x",
    ".git/worktrees/wt",
    "own/.git/modules/x",
    "deep/1/2/3/4/5/6/7/8/9/10/.git",
    ".GIT",
    "s/.Git",
    "d",
];

/// One step. Nothing of it has to succeed.
pub(super) fn step(numbers: &mut Numbers) -> String {
    let (place, other) = (*numbers.one(PLACES), *numbers.one(PLACES));
    let (git, second) = (*numbers.one(DIRECTORIES), *numbers.one(DIRECTORIES));
    match numbers.below(44) {
        0..3 => format!("git init -q {place}"),
        3 => format!("git init -q --bare {place}"),
        4 => format!("git init -q --separate-git-dir={git} {place}"),
        5 => format!("git clone -q $BESIDE/lib {place}"),
        6 => format!("git clone -q --bare $BESIDE/lib {place}"),
        7 => format!("git -C {place} submodule --quiet add $BESIDE/lib x"),
        8 => format!("git -C {place} worktree add -q $PWD/{other}"),
        9 => format!("mkdir -p {second}; cp -r {git}/. {second}/"),
        10 => format!("cp -r {git} {second}"),
        11 | 12 => format!("mv {git} {second}"),
        13 => format!("mv {place} {other}"),
        14 => format!("rm -rf {git}"),
        15 => {
            format!("mkdir -p {place}; rm -rf {place}/.git; echo gitdir: $PWD/{git} > {place}/.git")
        }
        16 => format!(
            "mkdir -p {place}; echo gitdir: {git} > {place}/.git; git config -f {place}/{git}/config core.worktree $PWD/{place}"
        ),
        17 => format!("mkdir -p {place}; ln -sfT $PWD/{git} {place}/.git"),
        18 => format!("echo $PWD/{second} > {git}/commondir"),
        19 => format!("echo $PWD/{place}/.git > {git}/gitdir"),
        20 => format!("perl -e 'syscall(316, -100, q({git}), -100, q({second}), 2)'"),
        21 => format!(
            "echo $RANDOM >> {place}/f; git -C {place} add -A; git -C {place} commit -qm more"
        ),
        22 => format!("git -C {place} add -f {other}"),
        23 => format!(
            "mkdir -p {git}/objects {git}/refs; echo ref: refs/heads/main > {git}/HEAD; printf '[core]\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = %C\\n' $PWD/{place} > {git}/config"
        ),
        24 => format!("cp {git}/HEAD {second}/HEAD"),
        25 => format!("mkdir -p {git}; ln -f {second}/config {git}/config"),
        26 => format!("chmod {} {git}", numbers.one(&["555", "311", "300", "711"])),
        27 => format!("chmod 311 {place}"),
        28 => format!("rm -f {git}/HEAD; mkfifo {git}/HEAD"),
        29 => format!(
            "(while :; do mv {git} {second}; mv {second} {git}; done) & sleep 0.0$(({} + 1))",
            numbers.below(5)
        ),
        30 => format!("mkdir -p {second}; tar c -C {git} . | tar x -C {second}"),
        31 => format!("git -C {place} gc -q"),
        32 => format!("git --git-dir={git} --work-tree={place} init -q"),
        33 => format!("GIT_DIR={git} git commit -q --allow-empty -m x"),
        34 => format!("git -C {place} config core.worktree $PWD/{other}"),
        35 => format!(
            "rm -rf {git}/{0}; ln -s $PWD/{second} {git}/{0}",
            numbers.one(&[
                "hooks",
                "modules",
                "objects",
                "refs",
                "logs",
                "info",
                "worktrees",
                "config",
                "HEAD",
                "index"
            ])
        ),
        36 => format!(
            "ln -sf %V {git}/{}",
            numbers.one(&[
                "index",
                "logs/HEAD",
                "COMMIT_EDITMSG",
                "packed-refs",
                "FETCH_HEAD",
                "ORIG_HEAD",
                "config.lock"
            ])
        ),
        _ => hostile(numbers, git),
    }
}

/// Something hostile in a git directory.
fn hostile(numbers: &mut Numbers, git: &str) -> String {
    match numbers.below(3) {
        0 => {
            let (key, value) = numbers.one(SETTINGS);
            format!("git config -f {git}/config '{key}' '{value}'")
        }
        1 => format!("mkdir -p {git}/hooks; cp %C {git}/hooks/{}", numbers.one(&HOOKS)),
        _ => {
            let (path, content) = numbers.one(FILES);
            let path = path.replace("%C", "canary");
            format!(
                "mkdir -p $(dirname {git}/{path}); cat > {git}/{path} <<'END'\n{content}\nEND\n"
            )
        }
    }
}
