//! Steps of a program that does anything to a home directory.

use super::super::Numbers;
use super::super::steps::step as of_git;

/// Paths that a step reads or writes. Not all of them are there.
const PATHS: &[&str] = &[
    ".ssh",
    ".ssh/config",
    ".ssh/id_ed25519",
    ".ssh/authorized_keys",
    ".aws",
    ".aws/config",
    ".kube/config",
    ".config",
    ".config/git",
    ".config/git/config",
    ".config/gh",
    ".config/gh/hosts.yml",
    ".config/app",
    ".config/app/settings",
    ".docker",
    ".docker/config.json",
    ".gnupg",
    ".cargo",
    ".cargo/credentials.toml",
    ".gitconfig",
    ".bashrc",
    ".npmrc",
    ".netrc",
    ".vscode",
    ".vscode/settings.json",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".idea",
    ".devcontainer",
    ".local",
    ".local/state",
    ".local/state/toolwright",
    ".local/state/toolwright/marks",
    ".local/share/x",
    "keep",
    "keep/f",
    "keep/deep",
    "keep/deep/f",
    "keep/deep/config",
    "notes",
    "notes/secret",
    "notes/n",
    "play",
    "play/a",
    "play/a/b",
    "play/f",
    "play/linked",
    "play/new",
    "play/new/x",
    "dotfiles",
    "dotfiles/ssh",
    "dotfiles/vscode",
    "dotfiles/hooks",
    "dotfiles/hooks/pre-push",
    "dotfiles/gitconfig",
    "k",
    "k/f",
    "odd",
    "odd/*",
    "odd/closed",
    "odd/pipe",
    "bin",
    "bin/tool",
    ".git",
    ".git/hooks",
    ".git/config",
    ".git/index",
    ".git/info/exclude",
    "own",
    "own/.git",
    "own/.git/hooks/post-checkout",
    "p",
    "p/.git",
    "p/sub",
    "p/sub/.git",
    "wt",
    "wt/.git",
    "b.git",
    "b.git/hooks",
    "b.git/config",
    "b.git/HEAD",
    "s",
    "s/.git",
    "s/g",
    "deep",
    "deep/1/2/3/4/5/.git",
    "deep/1/2",
    ".",
    "$BESIDE",
    "$BESIDE/lib",
    "$BESIDE/lib/.git",
    "%V",
    "$BESIDE/../outside",
    "/tmp/x",
];

/// Where a file or link leads.
const LEADS: &[&str] = &[
    "%R/.ssh",
    "../.ssh",
    "../keep",
    "%R/keep",
    "../../keep/deep",
    "%R/.git",
    "../.git",
    "../p/.git",
    "../own/.git",
    "%R/p/.git/modules/sub",
    "%R/p/.git/worktrees/wt",
    "../b.git",
    "../s/g",
    "%R",
    "..",
    "/",
    "../play",
    "../play/new",
    "../nowhere",
    "../odd/pipe",
    "../notes",
    "../.vscode",
    "$BESIDE/lib/.git",
    "%V",
    "../.local/state/toolwright",
    "../dotfiles",
    "/dev/zero",
    "../.config",
];

/// Directories that a program makes a git directory of.
const DIRECTORIES: &[&str] = &[
    "play",
    "play/new",
    "play/a",
    "play/a/b",
    "keep",
    "notes",
    "dotfiles",
    ".config",
    ".config/app",
    "odd",
    ".",
    "deep",
    "deep/1",
    "k",
    ".ssh",
    "bin",
    ".local/share",
    "own",
    "p/sub",
    "wt",
    "play/a/new/1/2",
];

/// One step. Nothing of it has to succeed.
pub(super) fn step(numbers: &mut Numbers) -> String {
    let (path, other) = (*numbers.one(PATHS), *numbers.one(PATHS));
    let (directory, lead) = (*numbers.one(DIRECTORIES), *numbers.one(LEADS));
    match numbers.below(48) {
        0..2 => format!("echo x > {path}"),
        2 => format!("echo x >> {path}"),
        3..5 => format!("rm -rf {path}"),
        5..8 => format!("mv -f {path} {other}"),
        8 => format!("ln -sfn {lead} {path}"),
        9 => format!("rm -rf {path}; ln -s {lead} {path}"),
        10 => format!("ln -f {path} {other}; echo x >> {other}"),
        11 => {
            format!("chmod {} {path}", numbers.one(&["0", "311", "555", "777", "4755", "000 -R"]))
        }
        12 => format!("mkdir -p {path}"),
        13 => format!("cp -a {path} {other}"),
        14 => format!("rm -f {path}; mkfifo {path}"),
        15..18 => format!("mkdir -p {directory}; echo gitdir: {lead} > {directory}/.git"),
        18 => format!(
            "mkdir -p {directory}; printf 'gitdir: %s' \"{lead}\" > play/lead; mv -f play/lead {directory}/.git"
        ),
        19..22 => format!(
            "mkdir -p {directory}/objects {directory}/refs; echo ref: refs/heads/main > {directory}/HEAD"
        ),
        22 => format!(
            "mkdir -p {directory}; ln -sfn {lead} {directory}/objects; ln -sfn {lead} {directory}/refs; echo ref: refs/heads/x > {directory}/HEAD"
        ),
        23 => format!(
            "mkdir -p {directory}; echo {lead} > {directory}/commondir; echo ref: refs/heads/x > {directory}/HEAD"
        ),
        24 => format!(
            "mkdir -p {directory}/objects {directory}/refs; ln -sfn {lead} {directory}/HEAD"
        ),
        25 => format!(
            "printf '[core]\\n\\tworktree = {lead}\\n\\tfsmonitor = %C\\n' > {directory}/config"
        ),
        26 => format!("rm -rf {directory}/.git; ln -s {lead} {directory}/.git"),
        27 => format!("rm -rf {directory}/.git; mkfifo {directory}/.git"),
        28 => format!("mkdir -p {directory}/.git; cp -r own/.git/. {directory}/.git/"),
        29 => format!(
            "mkdir -p play/new; cp -r $BESIDE/lib/.git/. play/new/; cp -r play/new {directory}"
        ),
        30 => format!("perl -e 'syscall(316, -100, q({path}), -100, q({other}), 2)'"),
        31 => format!("touch -d 2001-01-01 {path}; truncate -s 3 {path}"),
        32 => format!("find {directory} -type f -exec sh -c 'echo x > \"$1\"' x {{}} \\;"),
        33 => format!("find {directory} -depth -name '*' -delete"),
        34 => format!("chown -R 1:1 {path}; setfattr -n user.x -v y {path}"),
        35 => format!("tar c {path} | (mkdir -p {other}; tar x -C {other})"),
        36 => format!(
            "(while :; do mv {directory} play/z; mv play/z {directory}; done) & sleep 0.0{}",
            numbers.below(5) + 1
        ),
        37 => format!(
            "(while :; do rm -rf {directory}/.git; echo gitdir: {lead} > {directory}/.git; rm -f {directory}/.git; ln -s {lead} {directory}/.git; done) & sleep 0.0{}",
            numbers.below(5) + 1
        ),
        38 => format!(
            "mkdir -p {directory}/x; mv {directory} {directory}.old; ln -s {lead} {directory}"
        ),
        39 => {
            format!("rm -rf ./{}", numbers.one(&["*", ".[a-z]*", ".config .local", "p own s deep"]))
        }
        _ => of_git(numbers),
    }
}
