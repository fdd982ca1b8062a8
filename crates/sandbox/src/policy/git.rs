//! The files that git reads as configuration or code, beside the hooks and the configuration of a
//! repository.
//!
//! A caller that protects `.git/hooks` or `.git/config` means that no command plants what git will
//! later run or obey, outside of any sandbox. More files have that effect: git follows `commondir`
//! and a `.git` that is a file, reads `config.worktree`, and has hooks for each submodule. This
//! module finds those that exist now. It runs before each command, so a file that does not exist
//! costs only the question.

pub(super) mod follows;
mod worktrees;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolwright_git::directory::{Directory, ReadError, read_followed};

use super::denied::Repository;
use super::trail::Trail;
use crate::plan::{MAX_VIEW_BYTES, NEW_REPOSITORY, NEW_REPOSITORY_MARK, PLACEHOLDER_TIME};

/// The file that locates the shared part of a repository.
const COMMON: &str = "commondir";
/// The configuration of one working tree.
const WORKTREE_CONFIG: &str = "config.worktree";

/// No file that leads elsewhere is longer than a path.
const MAX_LINK_BYTES: u64 = 4 << 10;
/// A longer configuration counts as one that includes more files.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Names of submodules have slashes in them, and submodules have submodules.
const MAX_MODULE_DEPTH: usize = 8;
/// Where there are more, all of them are protected as a whole.
const MAX_MODULES: usize = 512;
/// The same for a directory of them with very many entries.
const MAX_MODULE_ENTRIES: usize = 1 << 14;
/// The same for working trees that are protected. Each is some mounts.
const MAX_WORKTREES: usize = 512;

/// How many entries of a directory of hooks are looked at.
const MAX_HOOKS: usize = 512;

/// The two names that stand for all files with the same effect.
pub(super) const NAMES: [&str; 2] = ["hooks", "config"];

/// Adds the files of a repository, beside those of [`NAMES`] that are protected in it. `is_writable` says what
/// commands could write; nothing else needs protection.
pub(super) fn protect(
    repository: &Repository,
    is_writable: impl Fn(&Path) -> bool,
    protected: &mut Vec<PathBuf>,
    views: &mut Vec<PathBuf>,
) {
    let Repository { git, names, top } = repository;
    let known = protected.iter().cloned().collect();
    let mut finder = Finder { names, is_writable, protected, views, known, modules: 0 };
    // There are no links in the path of the top, so that this is the usual end of it.
    if git.parent() == Some(top) && git.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        return finder.repository(git, true);
    }
    let Ok(real) = fs::canonicalize(git) else {
        if !exists(git) {
            // Held with the directory, should it come into being.
            finder.add(&git.join(COMMON));
            finder.named(git);
        }
        // Without one, the directory itself may be a repository.
        if let Some(bare) = git.parent().filter(|directory| is_bare(directory)) {
            finder.repository(bare, false);
        }
        return;
    };
    let directory = if real.is_dir() { Some(real) } else { led_to(git, b"gitdir: ") };
    if let Some(directory) = directory {
        finder.repository(&directory, directory == *git);
    }
}

/// Whether the directory of a repository is still to be made: there is none, or only what stands for it.
pub(super) fn is_new(git: &Path) -> bool {
    let Ok(found) = git.symlink_metadata() else { return true };
    found.is_dir()
        && !exists(&git.join("HEAD"))
        && (found.mtime() == PLACEHOLDER_TIME || is_being_taken_over(git))
}

/// Whether the host was killed while it took over what commands had made. No command writes the mark.
fn is_being_taken_over(git: &Path) -> bool {
    let config = git.join("config");
    let is_file = config.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file
        && exists(&git.join(NEW_REPOSITORY))
        && read(&config, MAX_VIEW_BYTES).is_some_and(|text| text.starts_with(NEW_REPOSITORY_MARK))
}

struct Finder<'a, W> {
    names: &'a [&'a str],
    is_writable: W,
    protected: &'a mut Vec<PathBuf>,
    views: &'a mut Vec<PathBuf>,
    known: HashSet<PathBuf>,
    modules: usize,
}

impl<W: Fn(&Path) -> bool> Finder<'_, W> {
    /// A path without links above it, and where it leads if it is a link itself.
    fn add(&mut self, path: &Path) {
        for path in Trail::of(path, path.parent().unwrap_or(path)).paths() {
            if (self.is_writable)(&path) && self.known.insert(path.clone()) {
                self.protected.push(path);
            }
        }
    }

    /// What hooks lead to that are links.
    fn hooks(&mut self, directory: &Path) {
        #[expect(
            clippy::disallowed_methods,
            reason = "names alone: opening a directory waits for nothing, and no file in it is opened"
        )]
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries.take(MAX_HOOKS) {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.add(&entry.path());
            }
        }
    }

    /// A configuration of which commands have a view. What is no file is protected alone.
    fn view(&mut self, path: &Path) {
        let is_file = || can_have_view(path);
        if (self.is_writable)(path) && !self.views.iter().any(|known| known == path) && is_file() {
            self.views.push(path.to_owned());
        }
    }

    /// What an ordinary repository has beside its configuration, also before that is there: the one of
    /// the working tree, and the remotes that git had before it had a configuration.
    fn named(&mut self, directory: &Path) {
        if !self.names.contains(&"config") {
            return;
        }
        let more = directory.join(WORKTREE_CONFIG);
        self.add(&more);
        for name in ["branches", "remotes"] {
            self.add(&directory.join(name));
        }
        // A view of an absent file is one of the placeholder.
        let has_config = can_have_view(&directory.join("config"));
        if has_config && (!exists(&more) || can_have_view(&more)) && (self.is_writable)(&more) {
            self.views.push(more);
        }
    }

    /// `is_named`: the hooks and the configuration in the directory are protected already.
    fn repository(&mut self, directory: &Path, is_named: bool) {
        // The placeholder of an absent one leads to its own directory.
        self.add(&directory.join(COMMON));
        if is_named {
            self.named(directory);
        }
        self.repository_with(self.names, directory, is_named);
    }

    fn repository_with(&mut self, names: &[&str], directory: &Path, is_named: bool) {
        let leads = Some(directory.join(COMMON)).filter(|leads| exists(leads));
        let common = leads.as_deref().and_then(|leads| led_to(leads, b""));
        let common = common.as_deref().unwrap_or(directory);
        if let Some(leads) = leads {
            self.add(&leads);
        }
        if !is_named || common != directory {
            for name in names {
                self.add(&common.join(name));
            }
        }
        if names.contains(&"hooks") {
            self.hooks(&common.join("hooks"));
        }
        if names.contains(&"config") {
            self.view(&common.join("config"));
            let more = directory.join(WORKTREE_CONFIG);
            if exists(&more) || asks_for_more(&common.join("config")) {
                self.add(&more);
                self.view(&more);
            }
        }
        self.modules(&common.join("modules"), 0);
        self.worktrees(&common.join("worktrees"));
    }

    /// Their hooks, and their configuration: `git submodule update` rewrites that each time, in its view.
    fn modules(&mut self, directory: &Path, depth: usize) {
        let Some(entries) = names(directory, MAX_MODULE_ENTRIES) else {
            return self.add(directory);
        };
        for entry in entries {
            let Ok(real) = fs::canonicalize(entry) else { continue };
            if !real.is_dir() {
                continue;
            }
            self.modules += 1;
            if depth >= MAX_MODULE_DEPTH || self.modules > MAX_MODULES {
                return self.add(directory);
            }
            // Hooks that were protected once cannot be removed, so that it is known again.
            if ["hooks", "config", "HEAD"].iter().any(|name| exists(&real.join(name))) {
                // A configuration that is not there yet has to be made by git itself.
                let has_config = exists(&real.join("config"));
                let is_meant = |name: &&str| *name != "config" || has_config;
                let names: Vec<&str> = self.names.iter().copied().filter(is_meant).collect();
                self.repository_with(&names, &real, false);
            } else {
                self.modules(&real, depth + 1);
            }
        }
    }

    /// Other working trees of the repository, unless commands can write to them anyway: there `.git` is
    /// a file that could be exchanged.
    fn worktrees(&mut self, directory: &Path) {
        let above = directory.parent().unwrap_or(directory);
        let obeys_more = asks_for_more(&above.join("config"));
        let outside = worktrees::outside(directory, &self.is_writable);
        let Some(outside) = outside.filter(|trees| trees.len() <= MAX_WORKTREES) else {
            return self.add(directory);
        };
        for tree in outside {
            // A command that changes the link back would have it taken for one inside.
            let parts = [COMMON, WORKTREE_CONFIG, "gitdir"].map(|name| tree.join(name));
            let is_read =
                |part: &PathBuf| exists(part) || obeys_more && part.ends_with(WORKTREE_CONFIG);
            for part in parts.into_iter().filter(is_read) {
                self.add(&part);
            }
        }
    }
}

/// A link leads to a file that others may use as well, and is left alone.
fn can_have_view(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| found.is_file() && found.len() <= MAX_VIEW_BYTES)
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
    let text = read(file, MAX_LINK_BYTES)?;
    let path = text.strip_prefix(prefix)?.trim_ascii_end();
    Some(file.parent()?.join(OsStr::from_bytes(path)))
}

/// Whether this configuration has git read another one, which belongs to the working tree.
fn asks_for_more(config: &Path) -> bool {
    const WORD: &[u8] = b"worktreeconfig";
    match read(config, MAX_CONFIG_BYTES) {
        Some(text) => text.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD)),
        None => fs::metadata(config).is_ok_and(|metadata| metadata.len() > MAX_CONFIG_BYTES),
    }
}

/// The content of a file, if it is one and not too long. A person may have put a link in its place.
fn read(file: &Path, longest: u64) -> Option<Vec<u8>> {
    read_followed(file, longest).ok().flatten()
}

/// The entries of a directory, which may be a link to it. `None`: there are more than `most`.
fn names(directory: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let real = fs::canonicalize(directory).ok();
    let entries = real.map(|real| Directory::open(&real)?.entries(".", most));
    match entries {
        Some(Ok(Some(entries))) => {
            Some(entries.into_iter().map(|entry| directory.join(entry.name)).collect())
        }
        Some(Err(ReadError::TooLarge(_))) => None,
        _ => Some(Vec::new()),
    }
}
