//! What a command may not write, and how it is afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use toolwright_git::config::is_known;
use toolwright_sandbox::plan::{PLACEHOLDER_TIME, Plan};

use super::super::Grounds;
use super::super::generator::OWN;
use super::super::seen::git_directories;

/// Where the host keeps its marks. Copies of it are left out too.
pub(super) const MARKS: &str = "toolwright/marks";

/// A file: which one it is, its mode, owner and time, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct One {
    pub(super) identity: (u64, u64),
    mode: u32,
    owner: (u32, u32),
    time: (i64, i64),
    pub(super) content: Vec<u8>,
}

impl One {
    /// Whether it is the same at another time.
    fn is_like(&self, other: &Self) -> bool {
        *self == Self { time: self.time, ..other.clone() }
    }
}

/// Everything below a path, and when anything about it last changed, which no command can choose.
#[derive(Debug, Default)]
pub(super) struct Seen(pub(super) BTreeMap<PathBuf, One>, BTreeMap<PathBuf, (i64, i64)>);

/// Everything below a path, without what is kept to put it back. A file that has not changed since `before` is not read
/// again.
pub(super) fn seen(top: &Path, before: &Seen) -> Seen {
    let mut all = Seen::default();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        if path == top.join("kept") {
            continue;
        }
        let Ok(found) = path.symlink_metadata() else { continue };
        // The host's own: its marks, and what stands for what is absent while commands run.
        if path.ends_with(MARKS) || found.mtime() == PLACEHOLDER_TIME {
            continue;
        }
        let identity = (found.dev(), found.ino());
        let changed = (found.ctime(), found.ctime_nsec());
        let content = if found.is_symlink() {
            fs::read_link(&path).map(|link| link.into_os_string().into_encoded_bytes())
        } else if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
            Ok(Vec::new())
        } else if found.is_file() {
            match before.0.get(&path) {
                Some(was) if was.identity == identity && before.1.get(&path) == Some(&changed) => {
                    Ok(was.content.clone())
                }
                _ => fs::read(&path),
            }
        } else {
            Ok(Vec::new())
        };
        let one = One {
            identity,
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            time: (found.mtime(), found.mtime_nsec()),
            content: content.unwrap_or_default(),
        };
        all.1.insert(path.clone(), changed);
        all.0.insert(path, one);
    }
    all
}

impl Seen {
    /// Whether a path had this mode and content.
    pub(super) fn is(&self, path: &Path, (mode, content): &(u32, Vec<u8>)) -> bool {
        self.0.get(path).is_some_and(|was| was.mode == *mode && was.content == *content)
    }

    fn below<'s>(&'s self, path: &'s Path) -> impl Iterator<Item = (&'s PathBuf, &'s One)> {
        self.0.range(path.to_owned()..).take_while(move |(one, _)| one.starts_with(path))
    }

    /// What is not the same in both. A directory has another time where something was put back.
    pub(super) fn differences<'s>(&'s self, other: &'s Self) -> Vec<(&'s PathBuf, &'static str)> {
        let mut all = Vec::new();
        for (path, one) in &self.0 {
            match other.0.get(path) {
                None => all.push((path, "new")),
                Some(was) if was != one && !(is_directory(was) && was.is_like(one)) => {
                    all.push((path, "another"));
                }
                Some(_) => {}
            }
        }
        all.extend(
            other.0.keys().filter(|path| !self.0.contains_key(*path)).map(|path| (path, "gone")),
        );
        all
    }
}

/// What a command may not write.
pub(super) struct Held {
    /// Each of these with all that is below it.
    paths: BTreeSet<PathBuf>,
    /// The git directories of the person, by identity.
    pub(super) git: BTreeMap<(u64, u64), PathBuf>,
    /// Where the host keeps its marks.
    marks: Option<PathBuf>,
}

impl Held {
    pub(super) fn of(plan: &Plan, before: &Seen) -> Self {
        let git: BTreeMap<_, _> = git_directories(&plan.root)
            .into_iter()
            .filter_map(|path| Some((before.0.get(&path)?.identity, path)))
            .collect();
        let of_git = |path: &Path| git.values().any(|git| path.starts_with(git));
        let held = plan.protected.iter().chain(&plan.closed).chain(&plan.hooks);
        let paths = held.filter(|path| before.0.contains_key(*path) && !of_git(path));
        Self { paths: paths.cloned().collect(), git, marks: plan.marks.clone() }
    }

    /// What has changed all the same.
    pub(super) fn changed(&self, grounds: &Grounds, before: &Seen, now: &Seen) -> Vec<String> {
        let mut wrong = Vec::new();
        let root = grounds.root();
        let outside = &grounds.scene.place.outside;
        for path in &self.paths {
            // Our own marks come and go.
            if self.marks.as_ref() == Some(path) {
                continue;
            }
            compare(path, before, now, &|_| false, &mut wrong);
        }
        for name in ["beside", "victim", "home", "ran"] {
            compare(&outside.join(name), before, now, &|_| false, &mut wrong);
        }
        let around = |seen: &Seen| {
            let names = seen.0.keys().filter(|path| path.parent() == Some(outside));
            names.cloned().collect::<BTreeSet<_>>()
        };
        if around(before) != around(now) {
            wrong.push(format!("beside the root: {:?}", around(now)));
        }
        let there: BTreeMap<_, _> = git_directories(root)
            .into_iter()
            .filter_map(|path| Some((now.0.get(&path)?.identity, path)))
            .collect();
        for (identity, was) in &self.git {
            match there.get(identity) {
                Some(path) => self.compare_git(was, path, before, now, &mut wrong),
                None => wrong.push(format!("{} is no git directory any more", was.display())),
            }
        }
        wrong
    }

    /// Compares a git directory of the person, into which the host brings back what the grammar has.
    fn compare_git(
        &self,
        was: &Path,
        path: &Path,
        before: &Seen,
        now: &Seen,
        wrong: &mut Vec<String>,
    ) {
        // Another one of the person may lie in it, and is compared by itself.
        let is_of_other = |one: &Path| {
            self.git.values().any(|git| git != was && git.starts_with(was) && one.starts_with(git))
        };
        let mut names: BTreeSet<PathBuf> = BTreeSet::new();
        for (seen, top) in [(before, was), (now, path)] {
            let below = seen.below(top).map(|(one, _)| one.strip_prefix(top).expect("below"));
            names.extend(below.map(Path::to_owned));
        }
        for name in names {
            if is_of_other(&was.join(&name)) {
                continue;
            }
            let old = before.0.get(&join(was, &name));
            let new = now.0.get(&join(path, &name));
            let is_same = match (old, new) {
                // What git does in it changes its time.
                (Some(old), Some(new)) if is_directory(old) && is_directory(new) => {
                    old.is_like(new) || may_come_back(&name)
                }
                (old, new) => old == new,
            };
            if is_same {
                continue;
            }
            let is_plain = new.is_none_or(|new| {
                matches!(new.mode & 0o170_000, 0o100_000 | 0o040_000) && new.mode & 0o6000 == 0
            });
            let shown = path.join(&name);
            if name.ends_with("config")
                && own_parts(&name).len() == 1
                && let Some(new) = new
            {
                let was = old.map_or(&[][..], |old| &old.content);
                if old.is_some_and(|old| (old.mode, old.owner) != (new.mode, new.owner)) {
                    wrong.push(format!("{}: its mode", shown.display()));
                }
                // The host makes the configuration of a new submodule.
                let is_own = |it: &str| old.is_none() && OWN.iter().any(|own| it.starts_with(own));
                let changed = settings(was, &new.content).filter(|it| !is_own(it));
                wrong.extend(changed.map(|it| format!("{}: {it}", shown.display())));
            } else if is_link_home(&name) && old.is_none() {
                if new.is_some_and(|new| new.content != b"../..\n") {
                    wrong.push(format!("{} leads elsewhere", shown.display()));
                }
            } else if is_template(&name) && old.is_none() {
                if new.is_some_and(|new| !new.content.starts_with(b"Unnamed repository")) {
                    wrong.push(format!("{} is the command's", shown.display()));
                }
            } else if is_object(&name) && old.is_some() {
                if old.map(|old| (&old.content, old.mode))
                    != new.map(|new| (&new.content, new.mode))
                {
                    wrong.push(format!("{}: an object has changed", shown.display()));
                }
            } else if !may_come_back(&name) || !is_plain {
                let what = match (old, new) {
                    (None, _) => "is new",
                    (_, None) => "is gone",
                    _ => "has changed",
                };
                wrong.push(format!("{} {what}", shown.display()));
            }
        }
    }
}

fn join(top: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() { top.to_owned() } else { top.join(name) }
}

fn is_directory(one: &One) -> bool {
    one.mode & 0o170_000 == 0o040_000
}

fn compare(
    top: &Path,
    before: &Seen,
    now: &Seen,
    is_left_out: &dyn Fn(&Path) -> bool,
    wrong: &mut Vec<String>,
) {
    let names: BTreeSet<&PathBuf> =
        before.below(top).chain(now.below(top)).map(|(path, _)| path).collect();
    for path in names {
        let (old, new) = (before.0.get(path), now.0.get(path));
        if old != new && !is_left_out(path) {
            wrong.push(format!("{}: it was {old:?}, and is {new:?}", path.display()));
        }
    }
}

/// The parts of a path in a git directory, without those that lead to a submodule or a linked work tree in it.
fn own_parts(name: &Path) -> Vec<&OsStr> {
    let mut parts: Vec<&OsStr> = name.components().map(Component::as_os_str).collect();
    while parts.len() > 2 && (parts[0] == "modules" || parts[0] == "worktrees") {
        parts.drain(..2);
    }
    parts
}

/// What a linked work tree has in the git directory, for the way back.
fn is_link_home(name: &Path) -> bool {
    name.starts_with("worktrees") && own_parts(name) == ["commondir"]
}

/// What the host puts into the git directory of a new submodule.
fn is_template(name: &Path) -> bool {
    name.starts_with("modules") && own_parts(name) == ["description"]
}

fn is_object(name: &Path) -> bool {
    let parts = own_parts(name);
    parts.len() == 3 && parts[0] == "objects" && parts[1] != "info"
}

/// What the host writes in a git directory: docs/guides/git.md, "What comes back".
fn may_come_back(name: &Path) -> bool {
    let parts = own_parts(name);
    let Some(first) = parts.first() else { return false };
    match (first.to_str().unwrap_or_default(), parts.get(1).and_then(|part| part.to_str())) {
        ("objects", Some("info")) => parts.len() == 2,
        ("info", None | Some("exclude" | "sparse-checkout"))
        | (
            "objects" | "refs" | "logs" | "worktrees" | "modules" | "rebase-merge" | "rebase-apply"
            | "sequencer" | "lfs",
            _,
        )
        | (
            "HEAD"
            | "index"
            | "packed-refs"
            | "shallow"
            | "ORIG_HEAD"
            | "FETCH_HEAD"
            | "MERGE_HEAD"
            | "MERGE_MSG"
            | "MERGE_MODE"
            | "MERGE_AUTOSTASH"
            | "CHERRY_PICK_HEAD"
            | "REVERT_HEAD"
            | "REBASE_HEAD"
            | "AUTO_MERGE"
            | "SQUASH_MSG"
            | "COMMIT_EDITMSG"
            | "BISECT_START"
            | "BISECT_LOG"
            | "BISECT_NAMES"
            | "BISECT_TERMS"
            | "BISECT_EXPECTED_REV"
            | "BISECT_ANCESTORS_OK"
            | "BISECT_FIRST_PARENT"
            | "gitdir"
            | "locked",
            None,
        ) => true,
        _ => false,
    }
}

/// Settings that are new or gone, and are not on the list of those that come back.
fn settings(before: &[u8], now: &[u8]) -> impl Iterator<Item = String> + use<> {
    let all = |text: &[u8]| {
        let mut section = String::new();
        let mut all = BTreeSet::new();
        for line in String::from_utf8_lossy(text).lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[') {
                name.trim_end_matches(']')
                    .replace(" \"", ".")
                    .trim_end_matches('"')
                    .clone_into(&mut section);
            } else if let Some((name, value)) = line.split_once('=') {
                all.insert((
                    format!("{section}.{}", name.trim().to_lowercase()),
                    value.trim().to_owned(),
                ));
            }
        }
        all
    };
    let (before, now) = (all(before), all(now));
    let changed: Vec<_> = before.symmetric_difference(&now).cloned().collect();
    changed
        .into_iter()
        .filter(|(name, _)| !is_known(name.as_bytes()))
        .map(|(name, value)| format!("{name} = {value}"))
}
