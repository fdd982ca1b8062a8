//! Whether a repository is still as it was.
//!
//! Git replaces its files by renaming others over them, so a change of any of them changes the directory that
//! holds it. A look at a few directories and files tells whether there was one.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, StatxFlags, statx};

use crate::directory::Directory;

/// Files that something else than git may write in place, and the directory itself.
const WATCHED: [&str; 5] = [".", "HEAD", "config", "config.worktree", "index"];
/// A clock of files may stand still for as long: a change within this time may leave the same time behind.
const GRANULARITY: Duration = Duration::from_millis(20);
/// More directories are not watched, and the repository counts as changed.
const MAX_DIRECTORIES: usize = 50_000;

/// The versions of the files and directories that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Generation {
    versions: Vec<(PathBuf, Option<Version>)>,
    /// Whether every change after this would be visible.
    is_settled: bool,
}

/// The version of one file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    inode: u64,
    device: (u32, u32),
    size: u64,
    modified: (i64, u32),
    changed: (i64, u32),
}

impl Generation {
    /// The one of now. `more` are other directories that matter.
    pub(super) fn now(git: &Directory, more: Vec<PathBuf>) -> Self {
        let mut paths: Vec<PathBuf> = WATCHED.iter().map(PathBuf::from).chain(more).collect();
        let mut left = vec![PathBuf::from("refs")];
        while let Some(directory) = left.pop() {
            if paths.len() + left.len() > MAX_DIRECTORIES {
                return Self::none();
            }
            let entries = git.entries(&directory, usize::MAX).unwrap_or_default();
            let below = entries.into_iter().flatten();
            left.extend(
                below
                    .filter(|entry| entry.kind == FileType::Directory)
                    .map(|entry| directory.join(entry.name)),
            );
            paths.push(directory);
        }
        let versions: Vec<_> = paths
            .into_iter()
            .map(|path| {
                let version = Version::of(git, &path);
                (path, version)
            })
            .collect();
        let is_settled = versions.iter().flat_map(|(_, version)| version).all(Version::is_settled);
        Self { versions, is_settled }
    }

    /// One that is never current.
    pub(super) fn none() -> Self {
        Self { versions: Vec::new(), is_settled: false }
    }

    /// Whether nothing has changed since.
    pub(super) fn is_current(&self, git: &Directory) -> bool {
        self.is_settled
            && self.versions.iter().all(|(path, version)| Version::of(git, path) == *version)
    }
}

impl Version {
    fn of(git: &Directory, path: &Path) -> Option<Self> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let found = statx(git.as_fd(), path, flags, StatxFlags::BASIC_STATS).ok()?;
        let (modified, changed) = (found.stx_mtime, found.stx_ctime);
        Some(Self {
            inode: found.stx_ino,
            device: (found.stx_dev_major, found.stx_dev_minor),
            size: found.stx_size,
            modified: (modified.tv_sec, modified.tv_nsec),
            changed: (changed.tv_sec, changed.tv_nsec),
        })
    }

    fn is_settled(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds)
            .map(|seconds| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds));
        let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.is_some_and(|age| age > GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_change_is_seen() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path();
        fs::create_dir_all(root.join("refs/heads/a")).expect("directories");
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(root.join("refs/heads/a/b"), "x").expect("a file");
        let git = Directory::open(root).expect("it is there");
        std::thread::sleep(GRANULARITY * 2);
        let then = Generation::now(&git, Vec::new());
        assert!(then.is_current(&git));
        for (path, text) in [("refs/heads/a/c", "y"), ("HEAD", "z"), ("index", "new")] {
            let then = Generation::now(&git, Vec::new());
            fs::write(root.join("new"), text).expect("a file");
            fs::rename(root.join("new"), root.join(path)).expect("a rename");
            assert!(!then.is_current(&git), "{path}");
            std::thread::sleep(GRANULARITY * 2);
        }
    }
}
