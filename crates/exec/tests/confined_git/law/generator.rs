//! Random git directories of a command, in a root that a person has prepared at random.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolwright_git::config::is_known;

use super::seen::{git_directories, obeyed, tree};
use super::steps::step;
use super::{Grounds, Numbers, PROJECT, factor, has_namespaces, none_of, seed};

/// How many cases an ordinary run has. A soak has 20,000.
const ORDINARY: u64 = 6;

/// What a person has prepared.
const ROOTS: &[&str] = &[
    PROJECT,
    "",
    "mkdir d && git init -q own && git init -q --bare b.git && git -C own commit -q --allow-empty -m own",
    "git init -q . && git commit -q --allow-empty -m x && git init -q --separate-git-dir=g s && git -C s commit -q --allow-empty -m x",
    "git init -q . && git commit -q --allow-empty -m x && mkdir -p p/q && git init -q p && git init -q p/q && git -C p commit -q --allow-empty -m x && git -C p worktree add -q ../wt",
    "git clone -q $BESIDE/lib . && git worktree add -q wt && git pack-refs --all && git gc -q && echo x > .git/hooks/pre-commit && git config alias.st status",
    "mkdir -p p/q s d && echo d > d/f && echo mine > p/q/mine && git init -q p/q && git -C p/q commit -q --allow-empty -m x && git init -q --bare s/g",
];

/// A step may wait for a pipe.
const WATCH: &str = "(sleep 4; kill -9 $$) &";

/// Settings that the host makes itself.
pub(super) const OWN: [&str; 12] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.worktree",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "extensions.worktreeconfig",
    "extensions.objectformat",
    "extensions.refstorage",
    "submodule.active",
];

/// What a command and the host see of all repositories.
/// (Commands see other objects in a git directory that is added to another repository: those of its fork.)
const SEEN: &str = "export GIT_DISCOVERY_ACROSS_FILESYSTEM=1; git() { timeout 2 git \"$@\"; }; for g in $(find . \\( -name .git -prune -o -name HEAD \\) -print | sort); do echo \"= $g\"; \
    cd \"$(dirname $g)\" && { git rev-parse HEAD; git for-each-ref; git config --list --local; git status --porcelain | grep -v objects/; cd \"$OLDPWD\"; } 2>/dev/null; done";

/// A root that a person has prepared, and what git says of its repositories.
struct Prepared {
    grounds: Grounds,
    told: BTreeMap<PathBuf, String>,
    /// What [`SEEN`] shows of each repository.
    seen: BTreeSet<String>,
    /// How many repositories commands have made or changed in all cases.
    made: Cell<usize>,
}

impl Prepared {
    fn new(script: &str) -> Self {
        let grounds = Grounds::new(script);
        let _ = fs::create_dir(grounds.scene.place.outside.join("objects"));
        let repositories = git_directories(grounds.root()).into_iter();
        let told = repositories.map(|git| (git.clone(), told(&grounds, &git))).collect();
        let seen =
            blocks(&grounds.scene.on_host(grounds.root(), SEEN)).map(str::to_owned).collect();
        Self { grounds, told, seen, made: Cell::new(0) }
    }
}

/// What [`SEEN`] shows, by repository.
fn blocks(seen: &str) -> impl Iterator<Item = &str> {
    seen.split("\n= ").map(|block| block.trim_start_matches("= ").trim_end())
}

/// The git directories of a person: what they are, and what of them has to stay.
struct OfPerson<'p> {
    directories: BTreeMap<(u64, u64), PathBuf>,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    told: &'p BTreeMap<PathBuf, String>,
}

impl<'p> OfPerson<'p> {
    fn of(prepared: &'p Prepared) -> Self {
        let root = prepared.grounds.root();
        let directories: BTreeMap<_, _> = git_directories(root)
            .into_iter()
            .filter_map(|git| Some((identity(&git)?, git)))
            .collect();
        Self { directories, files: tree(root), told: &prepared.told }
    }

    /// What was below a path.
    fn below<'s>(
        &'s self,
        top: &'s Path,
    ) -> impl Iterator<Item = (&'s PathBuf, &'s (u32, Vec<u8>))> {
        self.files.range(top.to_owned()..).take_while(move |(path, _)| path.starts_with(top))
    }

    /// What is not as it was, although no command may change it.
    fn changed(&self, grounds: &Grounds) -> Vec<String> {
        let mut wrong = Vec::new();
        let now: BTreeMap<_, _> = git_directories(grounds.root())
            .into_iter()
            .filter_map(|git| Some((identity(&git)?, git)))
            .collect();
        for (identity, was) in &self.directories {
            let Some(git) = now.get(identity) else {
                // `git worktree prune` would remove it, so a command may.
                let lead = self.files.get(&was.join("gitdir"));
                let lead = lead.and_then(|(_, text)| std::str::from_utf8(text.trim_ascii()).ok());
                if lead.is_some_and(|lead| !was.join(lead).exists()) {
                    continue;
                }
                wrong.push(format!("{} is gone", was.display()));
                continue;
            };
            for (path, before) in self.below(was) {
                let relative = path.strip_prefix(was).expect("below");
                let stays = ["hooks", "info/attributes", "description", "gitdir", "commondir"];
                if stays.iter().any(|name| relative.starts_with(name)) {
                    let after = file(&git.join(relative));
                    if after.as_ref() != Some(&before.1) && before.0 & 0o170_000 == 0o100_000 {
                        wrong.push(format!("{} has changed", path.display()));
                    }
                }
            }
            // Git says the same of the same files.
            if was == git && tree(git).iter().eq(self.below(git)) {
                continue;
            }
            let told = told(grounds, git);
            if was == git && self.told[was] != told {
                wrong.push(format!("{}:\n{}but now\n{told}", was.display(), self.told[was]));
            }
        }
        wrong
    }
}

/// What fsck says of a repository, and which of its objects are still there.
fn told(grounds: &Grounds, git: &Path) -> String {
    if git.join("commondir").exists() {
        return String::new();
    }
    let list =
        grounds.scene.place.outside.join("objects").join(git.to_string_lossy().replace('/', "_"));
    let script = format!(
        // What has become of the work tree is no part of it.
        "export GIT_DIR=. GIT_WORK_TREE=.; git fsck --strict 2>&1 | grep -v -e dangling -e notice -e ^Checking; L={}; \
         [ -e $L ] || git cat-file --batch-all-objects --batch-check > $L; cut -d' ' -f1 $L | git cat-file --batch-check | sort | sha1sum",
        list.display()
    );
    grounds.scene.on_host(git, &script)
}

fn file(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Settings on the host that are neither on the list nor the person's.
fn settings(grounds: &Grounds, before: &BTreeMap<PathBuf, (u32, Vec<u8>)>) -> Vec<String> {
    let mut wrong = Vec::new();
    for git in git_directories(grounds.root()) {
        for name in ["config", "config.worktree"] {
            let path = git.join(name);
            let names = |path: &Path| {
                let line = format!("git config -f '{}' --list --name-only", path.display());
                grounds.scene.on_host(&grounds.scene.place.outside, &line)
            };
            let now = file(&path);
            if now.is_none() || before.get(&path).map(|was| &was.1) == now.as_ref() {
                continue;
            }
            let was = before.get(&path).map_or_else(String::new, |was| {
                let copy = grounds.scene.place.outside.join("config.before");
                fs::write(&copy, &was.1).expect("written");
                names(&copy)
            });
            for setting in names(&path).lines().filter(|line| !line.starts_with('[')) {
                if !is_known(setting.as_bytes())
                    && !OWN.contains(&setting)
                    && !was.lines().any(|line| line == setting)
                {
                    wrong.push(format!("{}: {setting}", path.display()));
                }
            }
        }
    }
    wrong
}

fn case(prepared: &Prepared, steps: &[String], numbers: &mut Numbers) -> Vec<String> {
    case_that_keeps(&[], prepared, steps, numbers)
}

/// A case whose steps leave some files of the person alone. What the person does later may remove them.
fn case_that_keeps(
    files: &[&str],
    prepared: &Prepared,
    steps: &[String],
    numbers: &mut Numbers,
) -> Vec<String> {
    let grounds = &prepared.grounds;
    grounds.restore();
    let before = OfPerson::of(prepared);
    let outside = || {
        ["beside", "victim", "kept", "home"]
            .map(|name| tree(&grounds.scene.place.outside.join(name)))
    };
    let was = outside();
    let script = grounds.filled(&format!("{WATCH}\n{}\ntrue", steps.join("\n")));
    let (printed, reports) = grounds.scene.confined(&script);
    if std::env::var_os("TOOLWRIGHT_STEPS").is_some() {
        let files = "find . -path './.git/*' -prune -o -path '*/hooks/*' -prune -o -print | sort";
        let left = grounds.scene.on_host(grounds.root(), files);
        eprintln!("{printed}\n{reports:?}\n{left}");
    }
    let mut wrong =
        obeyed(grounds.root(), "/canary", |path, now| before.files.get(path) == Some(now));
    if outside() != was {
        wrong.push("something outside of the root has changed".to_owned());
    }
    wrong.extend(settings(grounds, &before.files));
    wrong.extend(before.changed(grounds));
    let gone = files.iter().filter(|name| !grounds.root().join(name).exists());
    wrong.extend(gone.map(|name| format!("{name}: what a person had is gone")));
    wrong.extend(grounds.effect());
    if wrong.is_empty() {
        let (by_command, _) = grounds.scene.confined(SEEN);
        let made = blocks(&by_command).filter(|block| !prepared.seen.contains(*block)).count();
        prepared.made.set(prepared.made.get() + made);
        let by_person = grounds.scene.on_host(grounds.root(), SEEN);
        // A directory of another spelling stays private to commands, and so does one with a pipe as its HEAD.
        let is_private = [".GIT", ".Git", "mkfifo"].iter().any(|name| script.contains(name));
        if by_command != by_person && !is_private {
            wrong.push(format!("the next command sees\n{by_command}\nand the host\n{by_person}"));
        }
        grounds.some_later(Some(numbers));
        wrong.extend(grounds.effect());
    }
    if !wrong.is_empty() {
        wrong.push(format!("{printed}\n{:?}", reports.take()));
    }
    wrong
}

/// Leaves steps out as long as the rest goes wrong.
fn reduced(prepared: &Prepared, steps: &[String], numbers: &Numbers) -> String {
    let mut steps = steps.to_vec();
    let mut number = 0;
    while number < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(number);
        if case(prepared, &fewer, &mut numbers.clone()).is_empty() {
            number += 1;
        } else {
            steps = fewer;
        }
    }
    format!("{}\n--\n{}", steps.join("\n"), case(prepared, &steps, &mut numbers.clone()).join("\n"))
}

#[test]
fn random_git_directories_have_no_effect_later() {
    if !has_namespaces() {
        return;
    }
    // Steps of one's own, to look at them.
    if let Ok(steps) = std::env::var("TOOLWRIGHT_STEPS") {
        let mut numbers = Numbers(seed());
        let steps = std::slice::from_ref(&steps);
        let wrong = ROOTS.iter().flat_map(|root| case(&Prepared::new(root), steps, &mut numbers));
        none_of(&wrong.collect::<Vec<_>>(), ROOTS.len());
        return;
    }
    let mut prepared = BTreeMap::new();
    let count = ORDINARY * factor();
    let first = std::env::var("TOOLWRIGHT_CASE").ok().and_then(|text| text.parse::<u64>().ok());
    let cases = first.map_or(0..count, |first| first..first + 1);
    let mut wrong = Vec::new();
    for number in cases {
        let mut numbers = Numbers(seed().wrapping_add(number.wrapping_mul(0x1000_0000_01b3)));
        let root = numbers.below(ROOTS.len());
        let prepared = prepared.entry(root).or_insert_with(|| Prepared::new(ROOTS[root]));
        let steps: Vec<_> = (0..=numbers.below(14)).map(|_| step(&mut numbers)).collect();
        let later = numbers.clone();
        let first = case(prepared, &steps, &mut numbers);
        if !first.is_empty() {
            let first = first.join("\n");
            let reduced = reduced(prepared, &steps, &later);
            let found = format!("case {number}, root {root}:\n{reduced}\n== at first:\n{first}");
            eprintln!("{found}\n");
            wrong.push(found);
        }
    }
    let made: usize = prepared.values().map(|prepared| prepared.made.get()).sum();
    eprintln!("{count} commands made or changed {made} repositories");
    none_of(&wrong, usize::try_from(count).expect("small"));
}

/// What was found once.
const FOUND: &[&str] = &[
    // Git takes a directory itself where its `.git` is empty, or has another spelling.
    "mkdir -p e/objects e/refs; echo ref: refs/heads/main > e/HEAD; git config -f e/config core.fsmonitor %C; mkdir e/.git",
    "mkdir -p e/objects e/refs; echo ref: refs/heads/main > e/HEAD; git config -f e/config alias.st '!%C'; touch e/.GIT",
    // The host made this one anew, and removed what else was in it.
    "mkdir -p p/objects p/refs; echo ref: refs/heads/main > p/HEAD",
    "git init -q --bare d",
    // Later commands found no object in their fork.
    "echo /nowhere > p/q/.git/objects/info/alternates",
    "rm p/q/.git/objects/info/alternates",
    // The log of a work tree that came with the directory names what is not there.
    "git init -q n; git -C n commit -q --allow-empty -m n; git -C n worktree add -q ../nw; cp -r n/.git/worktrees p/q/.git/",
    // Git needs no right to read a directory.
    "mkdir -p e/objects e/refs; echo ref: refs/heads/main > e/HEAD; git config -f e/config alias.st '!%C'; chmod 311 e",
];

#[test]
fn what_was_found_has_no_effect_any_more() {
    if !has_namespaces() {
        return;
    }
    let last = ROOTS[ROOTS.len() - 1];
    let prepared = Prepared::new(last);
    let kept = ["d/f", "p/q/mine", "p/q/.git/HEAD"];
    let mut wrong = Vec::new();
    for step in FOUND {
        let steps = [(*step).to_owned()];
        wrong.extend(case_that_keeps(&kept, &prepared, &steps, &mut Numbers(seed())));
    }
    none_of(&wrong, FOUND.len());
}
