//! Git directories, which commands do not write.
//!
//! A caller that protects `.git/hooks` or `.git/config` means that no command plants what git will later run or
//! obey, outside of any sandbox. No list of such files can be complete. So commands work on a fork of the whole
//! directory, and what is no plain git directory of its work tree is read-only. This module finds which are
//! which. It runs before each command.

pub(super) mod follows;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use toolwright_git::directory::{Directory, Entry, read_followed};
use toolwright_git::repository::DOT_GIT;

use super::denied::Repository;
use super::trail::Trail;

/// The file that locates the shared part of a repository.
const COMMON: &str = "commondir";
/// The configuration of one working tree.
const WORKTREE_CONFIG: &str = "config.worktree";

/// No file that leads elsewhere is longer than a path.
const MAX_POINTER_BYTES: u64 = 4 << 10;
/// How many entries of a directory of hooks are looked at.
const MAX_HOOKS: usize = 512;
/// How many submodules are looked at, and how deep their directories lie.
const MAX_MODULES: usize = 512;
const MAX_MODULE_DEPTH: usize = 8;

/// The two names that stand for all files with the same effect.
pub(super) const NAMES: [&str; 2] = ["hooks", "config"];
/// What lies in a git directory that is its own root.
const OF_GIT: [&str; 16] = [
    "HEAD",
    "config",
    WORKTREE_CONFIG,
    COMMON,
    "branches",
    "remotes",
    "hooks",
    "info",
    "objects",
    "refs",
    "packed-refs",
    "logs",
    "index",
    "shallow",
    "modules",
    "worktrees",
];

/// Has commands work on forks of the git directories of a repository, or holds them read-only. `is_writable` says
/// what commands could write.
pub(super) fn hold(
    repository: &Repository,
    is_writable: impl Fn(&Path) -> bool,
    protected: &mut Vec<PathBuf>,
    forks: &mut Vec<PathBuf>,
) {
    let Repository { git, names } = repository;
    let Some(top) = git.parent() else { return };
    // What is empty is nobody's yet, and private to commands.
    if !exists(git) || is_empty(git) {
        // Commands can make none that the host sees.
        protected.retain(|path| !path.starts_with(git));
        if is_bare(top) {
            protected.extend(OF_GIT.iter().map(|name| top.join(name)));
        }
        return;
    }
    let is_bare_itself = git.file_name() != Some(DOT_GIT.as_ref());
    let mut directories =
        if is_bare_itself { Vec::new() } else { toolwright_git::repository::directories(top) };
    if directories.is_empty() && git.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        // Where no fork can be made of it, a cover is.
        directories.push(git.clone());
    }
    if directories.first() != Some(git) {
        // A file or a link in its place leads git elsewhere, and commands could exchange it.
        for path in Trail::of(git, top).paths().filter(|path| is_writable(path)) {
            if !protected.contains(&path) {
                protected.push(path);
            }
        }
    }
    for directory in directories {
        let is_ours = |path: &Path| NAMES.iter().any(|name| *path == directory.join(name));
        let is_held = |path: &PathBuf| {
            directory.starts_with(path) || path.starts_with(&directory) && !is_ours(path)
        };
        if protected.iter().any(is_held) {
            // Nothing of it comes back, so nothing of it is written.
            protected.push(directory);
            continue;
        }
        protected.retain(|path| !path.starts_with(&directory));
        if names.contains(&"hooks") {
            let targets = targets_of_hooks(&directory).into_iter();
            for target in targets.filter(|target| is_writable(target)) {
                if !protected.contains(&target) {
                    protected.push(target);
                }
            }
        }
        if !forks.contains(&directory) {
            forks.push(directory);
        }
    }
}

/// Where the hooks of a git directory and of its submodules lead that are links, outside of it.
fn targets_of_hooks(git: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut left = vec![(git.to_owned(), 0)];
    let mut seen = 0;
    while let Some((directory, depth)) = left.pop() {
        for entry in entries(&directory.join("hooks"), MAX_HOOKS) {
            if entry.kind == FileType::Symlink {
                let link = directory.join("hooks").join(entry.name);
                paths.extend(Trail::of(&link, &directory).paths());
            }
        }
        // Names of submodules have slashes in them, and submodules have submodules.
        let within = if is_bare(&directory) { directory.join("modules") } else { directory };
        let modules = entries(&within, MAX_MODULES).into_iter();
        for entry in modules.filter(|entry| entry.kind == FileType::Directory) {
            seen += 1;
            if depth < MAX_MODULE_DEPTH && seen < MAX_MODULES {
                left.push((within.join(entry.name), depth + 1));
            }
        }
    }
    paths.retain(|path| !path.starts_with(git));
    paths
}

fn entries(directory: &Path, most: usize) -> Vec<Entry> {
    let entries = Directory::open(directory).and_then(|directory| directory.entries(".", most));
    entries.ok().flatten().unwrap_or_default()
}

/// Whether a path lies in a directory of git's.
pub(super) fn is_within_git(path: &Path) -> bool {
    path.components().any(|name| name.as_os_str() == ".git")
}

/// Whether git takes a directory for a repository by its contents.
pub(super) fn is_bare(directory: &Path) -> bool {
    exists(&directory.join("HEAD"))
        && ["objects", "refs"].iter().all(|name| directory.join(name).is_dir())
}

fn is_empty(git: &Path) -> bool {
    Directory::open(git)
        .and_then(|git| git.entries(".", 1))
        .is_ok_and(|all| all.is_some_and(|all| all.is_empty()))
}

/// A link that leads nowhere is there too.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Where a file leads that holds a path.
fn led_to(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    fs::canonicalize(path_in(file, prefix)?).ok()
}

/// The path in a file, relative to the directory of the file.
fn path_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let text = read(file, MAX_POINTER_BYTES)?;
    let path = text.strip_prefix(prefix)?.trim_ascii_end();
    Some(file.parent()?.join(OsStr::from_bytes(path)))
}

/// The content of a file, if it is one and not too long. A person may have put a link in its place.
fn read(file: &Path, longest: u64) -> Option<Vec<u8>> {
    read_followed(file, longest).ok().flatten()
}
