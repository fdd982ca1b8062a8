//! What git reads as configuration or code, beside the hooks and the configuration of a repository.
//!
//! A host that protects `.git/hooks` or `.git/config` wants no call to plant anything that git will
//! run or obey later. But git also follows `commondir` and a `.git` that is a file, reads
//! `config.worktree` and remotes of the old kind, has hooks and a configuration for each submodule, and takes a directory with
//! `HEAD`, `objects` and `refs` for a repository if it finds no other. Names decide, so files that
//! do not exist yet are protected too.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::same;

/// A file that leads elsewhere is no longer than a path.
const MAX_POINTER_BYTES: usize = 4 << 10;

/// A directory that git takes for a repository, or that it shares with one.
#[derive(Debug)]
pub(super) struct Repository {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) has_hooks: bool,
    pub(super) has_config: bool,
}

/// The git directory whose hooks or configuration a path is.
pub(super) fn directory_of(path: &Path) -> Option<&Path> {
    let directory = path.parent().filter(|above| above.file_name() == Some(OsStr::new(".git")))?;
    let name = path.file_name()?;
    (name == "hooks" || name == "config").then_some(directory)
}

/// Whether a path is the hooks or the configuration of the root's own repository.
pub(super) fn is_of_root(path: &Path) -> bool {
    directory_of(path).is_some_and(|directory| directory == Path::new(".git"))
}

/// As [`Repository::part`], for a repository in a directory below the root, also before it is there. `.git`
/// itself is protected as a file, which could lead elsewhere.
pub(super) fn part_of_nested<'p>(
    root: BorrowedFd<'_>,
    path: &'p Path,
    (has_hooks, has_config): (bool, bool),
    is_file: bool,
    case_counts: bool,
) -> Option<&'p Path> {
    if !has_hooks && !has_config {
        return None;
    }
    let is = |part: &OsStr, name: &str| same(part, OsStr::new(name), case_counts);
    let mut above = path.ancestors().filter(|above| {
        above.file_name().is_some_and(|name| is(name, ".git")) && above.iter().nth(1).is_some()
    });
    above.find_map(|git| {
        let Some(first) = path.strip_prefix(git).ok()?.iter().next() else {
            let is_lead = is_file && kind(root, path) != Some(FileType::Directory);
            return is_lead.then_some(path);
        };
        if has_hooks && is(first, "hooks") || has_config && is(first, "config") {
            let depth = git.iter().count() + 1;
            return path.ancestors().nth(path.iter().count() - depth);
        }
        Repository { path: git.to_owned(), has_hooks, has_config }.part(path, case_counts)
    })
}

impl Repository {
    /// The protected part that `place` is, or is below. Hooks and configuration are protected by
    /// their own names.
    pub(super) fn part<'p>(&self, path: &'p Path, case_counts: bool) -> Option<&'p Path> {
        let is = |part: &OsStr, name: &str| same(part, OsStr::new(name), case_counts);
        let names = || path.iter();
        let depth = self.path.components().count();
        let within = names().zip(&self.path).filter(|(a, b)| same(a, b, case_counts)).count();
        if within < depth {
            return None;
        }
        let is_lead = |part: &OsStr| {
            is(part, "commondir") || (self.has_config && is(part, "config.worktree"))
        };
        let is_code = |part: &OsStr| {
            is_lead(part)
                || (self.has_hooks && is(part, "hooks"))
                || (self.has_config && is(part, "config"))
        };
        let mut rest = names().skip(depth);
        let first = rest.next()?;
        // Remotes as they were before there was a configuration.
        let is_remotes = self.has_config && (is(first, "remotes") || is(first, "branches"));
        let length = if is_lead(first) || is_remotes {
            1
        } else if is(first, "modules") {
            // A name, which may contain slashes, comes first.
            rest.skip(1).position(is_code)? + 3
        } else if is(first, "worktrees") && rest.nth(1).is_some_and(is_lead) {
            3
        } else {
            return None;
        };
        let above = names().count() - depth - length;
        path.ancestors().nth(above)
    }
}

/// The directories in which git finds its repository when it looks at `git`, all below the root.
/// The one that it shares with others comes last, and may be the same.
pub(super) fn find(
    root: BorrowedFd<'_>,
    git: &Path,
    follow: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<[PathBuf; 2]> {
    let beside = git.parent().unwrap_or(Path::new(""));
    let directory = match kind(root, git) {
        Some(FileType::Directory) => git.to_owned(),
        Some(FileType::RegularFile) => follow(&beside.join(text(root, git, b"gitdir: ")?))?,
        None if is_bare(root, beside) => beside.to_owned(),
        _ => return None,
    };
    let common = text(root, &directory.join("commondir"), b"")
        .and_then(|path| follow(&directory.join(path)))
        .unwrap_or_else(|| directory.clone());
    Some([directory, common])
}

/// Whether git takes a directory for a repository by its contents.
fn is_bare(root: BorrowedFd<'_>, directory: &Path) -> bool {
    kind(root, &directory.join("HEAD")).is_some()
        && ["objects", "refs"].iter().all(|name| kind(root, &directory.join(name)).is_some())
}

fn kind(root: BorrowedFd<'_>, path: &Path) -> Option<FileType> {
    let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// The path that a file contains behind `prefix`.
fn text(root: BorrowedFd<'_>, path: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return None;
    }
    let mut bytes = [0; MAX_POINTER_BYTES];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes[..])).ok()?;
    let path = bytes[..length].strip_prefix(prefix)?.trim_ascii_end();
    (!path.contains(&0)).then(|| PathBuf::from(OsStr::from_bytes(path)))
}
