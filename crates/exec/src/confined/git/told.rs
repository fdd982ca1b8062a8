//! What is told of forks. What commands change in those of which nothing comes back is told once.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use toolwright_git::directory::{Directory, Entry};
use toolwright_sandbox::plan::Plan;

use super::shown;
use crate::git_reports::{GitNote, GitReport};

/// What became of the changes of forks.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) reports: Vec<GitReport>,
    /// Reports about changes that wait, in place of those above when no more is tried.
    pub(super) waiting: Vec<GitReport>,
    /// Whether changes stay in a fork until other commands have ended.
    pub(super) is_delayed: bool,
}

/// A git directory that the host does not understand. Commands have a fork of it all the same.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) path: PathBuf,
    pub(super) changes: Directory,
    /// Why, until that was told.
    pub(super) reason: Option<String>,
}

/// A directory of hooks in the project, of which commands have a fork.
#[derive(Debug)]
pub(super) struct Hooks {
    pub(super) path: PathBuf,
    pub(super) changes: Directory,
    pub(super) said: Vec<String>,
}

/// Says that commands cannot write to a repository because something ran out.
pub(super) fn read_only(plan: &Plan, path: &Path, errno: Errno) -> Option<GitReport> {
    /// Errors of the system's limits, not of the repository.
    const RAN_OUT: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC];
    let reason = RAN_OUT.contains(&errno).then(|| errno.to_string())?;
    Some(GitReport::ReadOnly { path: shown(plan, path), reason })
}

impl Unread {
    /// Says once that something was changed in vain.
    pub(super) fn news(&mut self, plan: &Plan) -> Option<GitReport> {
        let entries = self.changes.entries(".", 2).ok().flatten().unwrap_or_default();
        let is_changed = entries.iter().any(|entry| entry.name != "objects");
        let reason = if is_changed { self.reason.take()? } else { return None };
        Some(GitReport::of_fork(&shown(plan, &self.path), GitNote::Failed(reason)))
    }
}

impl Hooks {
    /// What commands have changed and nobody was told of.
    pub(super) fn news(&mut self, plan: &Plan) -> Option<GitReport> {
        /// How many names are looked at.
        const MAX: usize = 1000;
        /// A longer file counts as changed.
        const MAX_BYTES: u64 = 256 << 10;
        let entries = self.changes.entries(".", MAX).ok().flatten().unwrap_or_default();
        let of_host = Directory::open(&self.path).ok()?;
        // Installers write the same files again each time.
        let is_same = |entry: &Entry| {
            let read =
                |directory: &Directory| directory.read(&entry.name, MAX_BYTES).ok().flatten();
            read(&of_host).is_some_and(|content| read(&self.changes) == Some(content))
        };
        let changed = entries.into_iter().filter(|entry| !is_same(entry));
        let names = changed.map(|entry| entry.name.to_string_lossy().into_owned());
        let names: Vec<String> = names.filter(|name| !self.said.contains(name)).collect();
        if names.is_empty() {
            return None;
        }
        self.said.extend(names.iter().cloned());
        Some(GitReport::Hooks { directory: shown(plan, &self.path), names })
    }
}
