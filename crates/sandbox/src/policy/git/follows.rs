//! What git is led to in a working tree: hooks in another directory, more configurations, and the programs and
//! files that settings name.
//!
//! These are often files of the project, and under version control. Nobody asks for them but git, so
//! they are found by reading the configurations as git does: the system's, the user's, those of the repository
//! and of the working tree, whichever condition an include has.

mod scopes;
mod words;

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_git::config::Config;

use self::scopes::Scopes;
use super::{COMMON, WORKTREE_CONFIG, led_to, read};
use crate::policy::trail::Trail;

/// Git reads no more includes within each other.
const MAX_DEPTH: usize = 10;
/// A longer configuration is not read.
const MAX_CONFIG_BYTES: u64 = 256 << 10;
/// More are not followed.
const MAX_FILES: usize = 96;
/// More paths are not looked at before a command.
const MAX_LEADS: usize = 512;
/// For how many roots the answer is remembered.
const MAX_ROOTS: usize = 64;
/// Clocks of file systems are coarse: a file that has changed just now may change again and look the same.
const UNSETTLED: Duration = Duration::from_millis(20);

/// Paths that git obeys because a configuration says so. Nothing has to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Follows {
    /// The directories of hooks below the root, outside of its repository. The last one counts, and a
    /// condition may take it away.
    pub hooks: Vec<PathBuf>,
    /// Included configurations below the root, outside of its repository.
    pub files: Vec<PathBuf>,
    /// All of it, wherever it lies.
    pub references: Vec<GitReference>,
}

/// A path that git is led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitReference {
    /// What git does there.
    pub kind: GitReferenceKind,
    /// The path as it is named: absolute, without `.` and `..`.
    pub path: PathBuf,
}

/// What git does at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitReferenceKind {
    /// It runs hooks in this directory.
    Hooks,
    /// It reads this configuration.
    Included,
    /// It runs this program, if it is one.
    Program,
    /// A setting that is not known to be harmless names this file, if it is one.
    #[default]
    Named,
}

/// What git is led to in the working tree `root`, a path without links.
#[must_use]
pub fn follows(root: &Path) -> Arc<Follows> {
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Known>>> = LazyLock::new(Mutex::default);
    let scopes = Scopes::of_process();
    let is_current = |known: &Known| {
        known.scopes == scopes && known.read.iter().all(|(file, seen)| Seen::of(file) == *seen)
    };
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
    if let Some(known) = known.filter(is_current) {
        return known.follows;
    }
    let known = find(root, &scopes);
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
    /// Where else git looked.
    scopes: Scopes,
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

fn find(root: &Path, scopes: &Scopes) -> Known {
    let mut finder =
        Finder { root, top: root, scopes, read: Vec::new(), follows: Follows::default() };
    let repository = finder.repository();
    for file in &scopes.files {
        finder.configuration(file, 0);
    }
    if let Some(directory) = repository {
        let common = led_to(&directory.join(COMMON), b"").unwrap_or_else(|| directory.clone());
        finder.configuration(&common.join("config"), 0);
        finder.configuration(&directory.join(WORKTREE_CONFIG), 0);
        // Those of a repository in the root are protected with it.
        if finder.top != root {
            finder.refer(GitReferenceKind::Hooks, common.join("hooks"));
        }
    }
    Known { scopes: scopes.clone(), read: finder.read, follows: Arc::new(finder.follows) }
}

struct Finder<'f> {
    root: &'f Path,
    /// The top of the working tree that the root lies in.
    top: &'f Path,
    scopes: &'f Scopes,
    read: Vec<(PathBuf, Seen)>,
    follows: Follows,
}

impl Finder<'_> {
    /// The directory of the repository that git finds in the root: there, or above.
    fn repository(&mut self) -> Option<PathBuf> {
        for above in self.root.ancestors() {
            let git = above.join(".git");
            let seen = Seen::of(&git);
            self.read.push((git.clone(), seen));
            if seen.0.is_some() {
                self.top = above;
                // A directory that does not exist leads nowhere; a file leads to it.
                return if git.is_dir() { Some(git) } else { led_to(&git, b"gitdir: ") };
            }
        }
        None
    }

    fn configuration(&mut self, file: &Path, depth: usize) {
        if self.read.len() >= MAX_FILES || self.read.iter().any(|(known, _)| known == file) {
            return;
        }
        self.read.push((file.to_owned(), Seen::of(file)));
        let Some(config) = read(file, MAX_CONFIG_BYTES).and_then(|text| Config::parse(&text))
        else {
            return;
        };
        for setting in config.settings() {
            let Some(value) = setting.value.as_deref().filter(|value| !value.is_empty()) else {
                continue;
            };
            let path = &self.scopes.at_home(Path::new(std::ffi::OsStr::from_bytes(value)));
            if setting.name == b"core.hookspath" {
                // Git runs hooks at the top of the working tree.
                let hooks = plain(&self.top.join(path));
                if let Some(below) = self.below_root(&hooks) {
                    add(&mut self.follows.hooks, below);
                }
                self.refer(GitReferenceKind::Hooks, hooks);
            } else if is_include(&setting.name) {
                let Some(above) = file.parent() else { continue };
                let included = plain(&above.join(path));
                if let Some(below) = self.below_root(&included) {
                    add(&mut self.follows.files, below);
                }
                self.refer(GitReferenceKind::Included, included.clone());
                if depth < MAX_DEPTH {
                    self.configuration(&included, depth + 1);
                }
            } else {
                let named = words::named(&setting.name, value);
                // Some programs begin where git was called.
                for directory in [self.top, self.root] {
                    for path in named.paths(directory, self.scopes) {
                        self.refer(named.kind, path);
                    }
                }
            }
        }
    }

    fn refer(&mut self, kind: GitReferenceKind, path: PathBuf) {
        let all = &mut self.follows.references;
        if all.len() < MAX_LEADS && !all.iter().any(|known| known.path == path) {
            all.push(GitReference { kind, path });
        }
    }

    /// A path of the project. What lies in the repository itself is protected with that, and the root as a
    /// whole is no directory of hooks.
    fn below_root(&self, path: &Path) -> Option<PathBuf> {
        let path = plain(path);
        // An absolute path may lead to the root through links.
        let path = if path.starts_with(self.root) { path } else { Trail::of(&path, self.root).end };
        let below = path.strip_prefix(self.root).ok()?;
        let first = below.components().next()?;
        (first.as_os_str() != ".git").then_some(path)
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
mod tests;
