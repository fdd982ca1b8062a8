//! What the configuration of the root's repository leads git to: hooks in another directory, and more
//! configurations.
//!
//! Both are files of the project, and often under version control. Nobody asks for them but git, so
//! they are found by reading the configurations as git does, whichever condition an include has.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_git::config::Config;

use super::{COMMON, WORKTREE_CONFIG, led_to, read};
use crate::plan::MAX_VIEW_BYTES;

/// Git reads no more includes within each other.
const MAX_DEPTH: usize = 10;
/// More are not followed.
const MAX_FILES: usize = 64;
/// For how many roots the answer is remembered.
const MAX_ROOTS: usize = 64;
/// Clocks of file systems are coarse: a file that has changed just now may change again and look the same.
const UNSETTLED: Duration = Duration::from_millis(20);

/// Paths below a root that git obeys because a configuration says so. Nothing has to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Follows {
    /// The directories of hooks. The last one counts, and a condition may take it away.
    pub hooks: Vec<PathBuf>,
    /// Included configurations.
    pub files: Vec<PathBuf>,
}

/// What git is led to in the working tree `root`, a path without links.
#[must_use]
pub fn follows(root: &Path) -> Arc<Follows> {
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Known>>> = LazyLock::new(Mutex::default);
    let is_current = |known: &Known| known.read.iter().all(|(file, seen)| Seen::of(file) == *seen);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
    if let Some(known) = known.filter(is_current) {
        return known.follows;
    }
    let known = find(root);
    let follows = Arc::clone(&known.follows);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.read.iter().any(|(_, seen)| seen.is_unsettled()) {
        all.remove(root);
    } else {
        if all.len() >= MAX_ROOTS {
            all.clear();
        }
        all.insert(root.to_owned(), known);
    }
    follows
}

#[derive(Debug, Clone)]
struct Known {
    /// What was asked for, and which version was there.
    read: Vec<(PathBuf, Seen)>,
    follows: Arc<Follows>,
}

/// A version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen(Option<[i128; 4]>);

impl Seen {
    fn of(file: &Path) -> Self {
        // A link leads to another file, whose version counts.
        let found = fs::metadata(file).ok();
        Self(found.map(|found| {
            let changed =
                i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
            [found.dev().into(), found.ino().into(), found.size().into(), changed]
        }))
    }

    fn is_unsettled(self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = |changed: i128| now.as_nanos().cast_signed() - changed;
        self.0.is_some_and(|[.., changed]| since(changed) < UNSETTLED.as_nanos().cast_signed())
    }
}

fn find(root: &Path) -> Known {
    let git = root.join(".git");
    let mut finder =
        Finder { root, read: vec![(git.clone(), Seen::of(&git))], follows: Follows::default() };
    // A directory that does not exist leads nowhere; a file leads to it.
    let directory = if git.is_dir() { Some(git.clone()) } else { led_to(&git, b"gitdir: ") };
    if let Some(directory) = directory {
        let common = led_to(&directory.join(COMMON), b"").unwrap_or_else(|| directory.clone());
        finder.configuration(&common.join("config"), 0);
        finder.configuration(&directory.join(WORKTREE_CONFIG), 0);
    }
    Known { read: finder.read, follows: Arc::new(finder.follows) }
}

struct Finder<'f> {
    root: &'f Path,
    read: Vec<(PathBuf, Seen)>,
    follows: Follows,
}

impl Finder<'_> {
    fn configuration(&mut self, file: &Path, depth: usize) {
        if self.read.len() >= MAX_FILES || self.read.iter().any(|(known, _)| known == file) {
            return;
        }
        self.read.push((file.to_owned(), Seen::of(file)));
        let Some(config) = read(file, MAX_VIEW_BYTES).and_then(|text| Config::parse(&text)) else {
            return;
        };
        for setting in config.settings() {
            let Some(value) = setting.value.as_deref().filter(|value| !value.is_empty()) else {
                continue;
            };
            let path = &at_home(Path::new(std::ffi::OsStr::from_bytes(value)));
            if setting.name == b"core.hookspath" {
                // Git runs hooks at the top of the working tree.
                if let Some(below) = self.below_root(&self.root.join(path)) {
                    add(&mut self.follows.hooks, below);
                }
            } else if is_include(&setting.name) {
                let Some(above) = file.parent() else { continue };
                let included = plain(&above.join(path));
                if let Some(below) = self.below_root(&included) {
                    add(&mut self.follows.files, below);
                }
                if depth < MAX_DEPTH {
                    self.configuration(&included, depth + 1);
                }
            }
        }
    }

    /// A path of the project. What lies in the repository itself is protected with that, and the root as a
    /// whole is no directory of hooks.
    fn below_root(&self, path: &Path) -> Option<PathBuf> {
        let path = plain(path);
        // An absolute path may lead to the root through links.
        let path = if path.starts_with(self.root) {
            path
        } else {
            super::super::resolved(&path, self.root)
        };
        let below = path.strip_prefix(self.root).ok()?;
        let first = below.components().next()?;
        (first.as_os_str() != ".git").then_some(path)
    }
}

/// Git takes `~/` for the home directory of the person who runs it.
fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

fn is_include(name: &[u8]) -> bool {
    name == b"include.path" || name.starts_with(b"includeif.") && name.ends_with(b".path")
}

fn add(all: &mut Vec<PathBuf>, path: PathBuf) {
    if !all.contains(&path) {
        all.push(path);
    }
}

/// Without `.` and `..`; links are not looked at.
fn plain(path: &Path) -> PathBuf {
    super::super::absolute(path, Path::new("/"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(config: &str) -> Self {
            let tree = Self(tempfile::tempdir().expect("made"));
            tree.put(".git/config", config);
            tree
        }

        fn root(&self) -> PathBuf {
            self.0.path().canonicalize().expect("real")
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("above")).expect("made");
            fs::write(path, text).expect("written");
        }

        fn found(&self) -> (Vec<String>, Vec<String>) {
            let root = self.root();
            let found = follows(&root);
            let shown = |paths: &[PathBuf]| {
                let below = paths.iter().map(|path| path.strip_prefix(&root).expect("below"));
                below.map(|path| path.display().to_string()).collect()
            };
            (shown(&found.hooks), shown(&found.files))
        }
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|&one| one.to_owned()).collect()
    }

    #[test]
    fn hooks_and_includes_of_the_project_are_found() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("[core]\n\thooksPath = .husky/_", &[".husky/_"], &[]),
            ("[core]\n\tHOOKSPATH = ./a/../h/", &["h"], &[]),
            ("[core]\nhooksPath = a\n[core]\nhooksPath = b", &["a", "b"], &[]),
            ("[core]\nhooksPath = .\n[include]\npath = config.more", &[], &[]),
            ("[core]\nhooksPath = /usr/share/hooks\n[include]\npath = ~/.gitconfig", &[], &[]),
            ("[include]\n\tpath = ../.gitconfig", &[], &[".gitconfig"]),
            ("[includeIf \"gitdir:/x/\"]\n\tpath = ../x/y", &[], &["x/y"]),
            ("[include]\n\tpath\n[core]\nhooksPath =", &[], &[]),
            ("[core\nhooksPath = h", &[], &[]),
        ];
        for (config, hooks, files) in cases {
            assert_eq!(Tree::new(config).found(), (strings(hooks), strings(files)), "{config}");
        }
    }

    #[test]
    fn what_is_included_leads_on_and_circles_end() {
        let tree = Tree::new("[include]\npath = ../a");
        tree.put("a", "[include]\npath = b/c\n[core]\nhooksPath = h");
        tree.put("b/c", "[include]\npath = ../a\npath = c");
        assert_eq!(tree.found(), (strings(&["h"]), strings(&["a", "b/c"])));
        // What is remembered is not what was there before.
        tree.put("b/c", "[core]\nhooksPath = other");
        assert_eq!(tree.found(), (strings(&["other", "h"]), strings(&["a", "b/c"])));
    }

    #[test]
    fn absolute_paths_lead_to_the_root_by_any_name() {
        let tree = Tree::new("");
        let other = tempfile::tempdir().expect("made");
        let link = other.path().join("link");
        std::os::unix::fs::symlink(tree.root(), &link).expect("made");
        tree.put(".git/config", &format!("[core]\nhooksPath = {}/h/x", link.display()));
        assert_eq!(tree.found(), (strings(&["h/x"]), strings(&[])));
        let home = std::env::home_dir().expect("a home directory");
        assert_eq!(at_home(Path::new("~/a")), home.join("a"));
        assert_eq!(at_home(Path::new("~other/a")), Path::new("~other/a"));
    }

    #[test]
    fn a_working_tree_of_another_repository_reads_that_one() {
        let tree = Tree::new("[core]\nhooksPath = h");
        let main = tree.root();
        let other = tempfile::tempdir().expect("made");
        tree.put(".git/worktrees/w/commondir", "../..\n");
        tree.put(".git/worktrees/w/config.worktree", "[core]\nhooksPath = own");
        let root = other.path().canonicalize().expect("real");
        fs::write(root.join(".git"), format!("gitdir: {}/.git/worktrees/w\n", main.display()))
            .expect("written");
        assert_eq!(follows(&root).hooks, [root.join("h"), root.join("own")]);
    }
}
