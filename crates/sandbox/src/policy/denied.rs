//! What may not be written, from the caller's list and the disk.

use std::fs;
use std::path::{Path, PathBuf};

use toolwright_git::repository::DOT_GIT;

use super::absent::Absent;
use super::git::{self, follows::GitReferenceKind};
use super::presets;
use super::trail::Trail;
use super::{Follows, Options, absolute, follows};

/// How many entries of a directory of hooks are looked at.
const MAX_HOOKS: usize = 512;

/// What may not be written.
#[derive(Debug, Default)]
pub(super) struct Denied {
    /// Every link on the way to a denied path as it is named, and the end of the way.
    pub(super) protected: Vec<PathBuf>,
    /// Absent paths, which get no placeholder.
    pub(super) set_aside: Vec<PathBuf>,
    /// Directories of hooks, of which commands have forks.
    pub(super) hooks: Vec<PathBuf>,
    /// The repositories of which something is denied.
    pub(super) repositories: Vec<Repository>,
    absent: Absent,
}

/// A repository of which something is denied.
#[derive(Debug)]
pub(super) struct Repository {
    /// Its directory, as it is named.
    pub(super) git: PathBuf,
    /// Which of [`git::NAMES`].
    pub(super) names: Vec<&'static str>,
}

/// What git is led to in a working tree, a path without links: every path that stays as it is where the hooks or
/// the configuration of git are protected, whether something is there or not. `follows` is of that working tree.
#[must_use]
pub fn led_to(top: &Path, guards: (bool, bool), follows: &Follows) -> Vec<PathBuf> {
    let mut denied = Denied::default();
    denied.add_references(top, guards, follows, |_| true);
    denied.protected.extend(denied.set_aside);
    denied.protected
}

impl Denied {
    /// `writable` are the directories besides the root that commands write, without links.
    pub(super) fn find(options: &Options<'_>, writable: &[PathBuf]) -> Self {
        // One that is granted itself, beside the root, is there for git alone.
        let is_git =
            |directory: &Path| !options.root.starts_with(directory) && git::is_bare(directory);
        let mut denied = Self::default();
        let forked = options.resolved.root_fork.as_ref().map(|forked| &*forked.base);
        // The git directory of a fork is its own: nothing that lies there is obeyed outside of it.
        let is_of_fork = |path: &Path| forked.is_some_and(|base| path.starts_with(base));
        let mut guards = (false, false);
        let [hooks, config] = git::NAMES.map(|name| options.root.join(".git").join(name));
        for entry in presets::expanded(options.deny_write) {
            let path = absolute(&entry.path, options.root, options.home);
            guards.0 |= path.as_os_str() == hooks.as_os_str();
            guards.1 |= path.as_os_str() == config.as_os_str();
            let is_repository = super::of_repository(&path).is_some();
            if !(is_repository && is_of_fork(&path)) {
                denied.add(&path, entry.is_set_aside, options.root);
            }
            // What has a name of its own holds in every directory that commands write.
            for directory in writable.iter().filter(|_| entry.is_everywhere) {
                let path = directory.join(&entry.path);
                if !(is_of_fork(directory) && super::of_repository(&path).is_some()) {
                    denied.add_in(directory, &entry, is_git(directory));
                }
            }
        }
        if guards.0 || guards.1 {
            let is_writable = |path: &Path| {
                path.starts_with(options.root)
                    || options.files == crate::plan::Files::Full
                    || writable.iter().any(|writable| path.starts_with(writable))
            };
            let tops = [options.root].into_iter().chain(writable.iter().map(PathBuf::as_path));
            for top in tops.filter(|top| !is_of_fork(top)) {
                denied.add_references(top, guards, &follows(top), is_writable);
            }
        }
        denied.hooks.sort_unstable();
        denied.hooks.dedup();
        denied
    }

    /// The way from a clean path.
    fn trail(&mut self, path: &Path, top: &Path) -> Trail {
        if self.absent.has(path, top) {
            return Trail { links: Vec::new(), end: path.to_owned(), exists: false };
        }
        Trail::of(path, top)
    }

    /// A path as it is named, with the repository that it belongs to.
    fn add(&mut self, path: &Path, is_set_aside: bool, top: &Path) {
        self.add_path(path, is_set_aside, top);
        if let Some((git, name)) = super::of_repository(path) {
            self.add_to(git, name);
        }
    }

    fn add_to(&mut self, git: &Path, name: &'static str) {
        if let Some(known) = self.repositories.iter_mut().find(|known| known.git == git) {
            known.names.push(name);
        } else {
            self.repositories.push(Repository { git: git.to_owned(), names: vec![name] });
        }
    }

    /// A path of a name in a directory besides the root. `is_git`: git takes it for a repository itself.
    fn add_in(&mut self, directory: &Path, entry: &presets::Protected, is_git: bool) {
        let path = directory.join(&entry.path);
        let Some((_, name)) = super::of_repository(&path) else {
            return self.add_path(&path, true, directory);
        };
        if is_git && !directory.ends_with(DOT_GIT) {
            self.add_path(&directory.join(name), false, directory);
            return self.add_to(directory, name);
        }
        match directory.parent().filter(|_| directory.ends_with(DOT_GIT)) {
            // The git directory of a work tree around the root or beside it is granted itself.
            Some(top) => self.add(&top.join(&entry.path), false, top),
            None => self.add(&path, false, directory),
        }
    }

    fn add_path(&mut self, path: &Path, is_set_aside: bool, top: &Path) {
        let trail = self.trail(path, top);
        // Where a link leads, a placeholder stands for what is not there.
        if is_set_aside && !trail.exists && trail.links.is_empty() {
            push(&mut self.set_aside, trail.end);
        } else {
            trail.paths().for_each(|path| push(&mut self.protected, path));
        }
    }

    /// What git is led to in a working tree.
    fn add_references(
        &mut self,
        top: &Path,
        (hooks, config): (bool, bool),
        follows: &Follows,
        is_writable: impl Fn(&Path) -> bool + Copy,
    ) {
        for reference in &follows.references {
            let is_guarded = if reference.kind == GitReferenceKind::Hooks { hooks } else { config };
            if !is_guarded {
                continue;
            }
            let trail = self.trail(&reference.path, top);
            match reference.kind {
                GitReferenceKind::Hooks => self.add_hooks(trail, top, is_writable),
                GitReferenceKind::Included => self.add_led_to(trail, is_writable),
                GitReferenceKind::Program if !trail.exists => {
                    // A name alone is a program of the system.
                    if reference.path.parent() != Some(top) {
                        self.add_led_to(trail, is_writable);
                    }
                }
                GitReferenceKind::Program | GitReferenceKind::Named => {
                    if trail.end.metadata().is_ok_and(|found| found.is_file()) {
                        self.add_led_to(trail, is_writable);
                    }
                }
            }
        }
    }

    fn add_led_to(&mut self, trail: Trail, is_writable: impl Fn(&Path) -> bool) {
        if !trail.exists && trail.links.is_empty() {
            if is_writable(&trail.end) {
                push(&mut self.set_aside, trail.end);
            }
            return;
        }
        trail
            .paths()
            .filter(|path| is_writable(path))
            .for_each(|path| push(&mut self.protected, path));
    }

    /// A directory of hooks, and what its entries lead to.
    fn add_hooks(&mut self, trail: Trail, top: &Path, is_writable: impl Fn(&Path) -> bool + Copy) {
        let directory = trail.end.clone();
        // A directory that holds others is more than one of hooks.
        if top.starts_with(&directory) || !trail.exists && git::is_within_git(&directory) {
            return;
        }
        let is_directory = trail.exists && directory.is_dir();
        if is_directory && is_writable(&directory) && !git::is_within_git(&directory) {
            push(&mut self.hooks, directory.clone());
        }
        self.add_led_to(trail, is_writable);
        if is_directory {
            #[expect(
                clippy::disallowed_methods,
                reason = "names alone: opening a directory waits for nothing, and no file in it is opened"
            )]
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            for entry in entries.take(MAX_HOOKS) {
                if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    self.add_led_to(Trail::of(&entry.path(), top), is_writable);
                }
            }
        }
    }
}

/// There are a hundred paths, and this happens before each command: their bytes are compared, not their parts.
fn push(all: &mut Vec<PathBuf>, path: PathBuf) {
    if !all.iter().any(|known| known.as_os_str() == path.as_os_str()) {
        all.push(path);
    }
}
