//! Files of the project that git obeys because the configuration of the root's repository says so: hooks
//! in another directory (`core.hooksPath`), and included configurations.
//!
//! They are often under version control, and installers of hooks write them anew each time. A mount over
//! them would have `git checkout` and `npm install` fail. So they are remembered with their
//! contents before a command. When it has ended, what has another content is set aside, and what was there
//! is put back. The same content under a new date is none of a command's doing that matters.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use toolwright_sandbox::policy::{Follows, follows};

use super::Grounds;
use super::disarm::{replace, set_aside};
use super::known::{DIRECTORY, Stamp};
use crate::git_reports::{GitProblem, GitReport};

/// How deep below a directory of hooks a file may lie that they read.
const MAX_DEPTH: usize = 3;
/// How many files are remembered in all.
const MAX_FILES: usize = 256;
/// How many names are read to find them.
const MAX_READ: usize = 4096;
/// A longer file is set aside when it changes, and is not put back.
const MAX_BYTES: u64 = 256 << 10;

/// The hooks that git runs by their names.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Where git was led to before the command. A command can change an included file, and so where git is
    /// led to now.
    follows: Arc<Follows>,
    /// By their paths.
    files: BTreeMap<PathBuf, Known>,
    /// Links on the way to them.
    links: BTreeMap<PathBuf, Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    stamp: Stamp,
    /// `None`: it is too long, or no file.
    content: Option<(Vec<u8>, Mode)>,
}

impl Followed {
    /// Takes what is there for a person's.
    pub(super) fn remember(&mut self, grounds: &Grounds) {
        let before = std::mem::take(self);
        self.follows = follows(&grounds.root);
        for link in links_to(&self.follows, &grounds.root) {
            if let Some(stamp) = Stamp::at(CWD, &link) {
                self.links.insert(link, stamp);
            }
        }
        for path in files_of(&self.follows, &before.files) {
            if self.files.len() >= MAX_FILES {
                break;
            }
            let Some(stamp) = Stamp::at(CWD, &path) else { continue };
            let known = before.files.get(&path).filter(|known| known.stamp == stamp).cloned();
            let known =
                known.unwrap_or_else(|| Known { stamp: stamp.settled(), content: read(&path) });
            self.files.insert(path, known);
        }
    }

    /// Puts back what has changed.
    pub(super) fn look(&mut self, grounds: &Grounds, reports: &mut Vec<GitReport>) {
        let mut all: BTreeMap<PathBuf, GitReport> = BTreeMap::new();
        for link in links_to(&self.follows, &grounds.root) {
            if self.links.get(&link).copied() != Stamp::at(CWD, &link) {
                self.undo(&link, grounds, &mut all);
            }
        }
        // New files that git does not look for are read by nothing that was there.
        let mut paths: BTreeSet<PathBuf> = obeyed(&self.follows).collect();
        paths.extend(self.files.keys().cloned());
        for path in paths {
            let Some(stamp) = Stamp::at(CWD, &path) else { continue };
            match self.files.get(&path) {
                Some(known) if known.stamp == stamp => continue,
                Some(known) if known.content.is_some() && known.content == read(&path) => {}
                _ => self.undo(&path, grounds, &mut all),
            }
            if let Some(known) = self.files.get_mut(&path)
                && let Some(stamp) = Stamp::at(CWD, &path)
            {
                known.stamp = stamp.settled();
            }
        }
        reports.extend(all.into_values());
        // What is included is as it was again, so that only a person can have led git elsewhere.
        if follows(&grounds.root) != self.follows {
            self.remember(grounds);
        }
    }

    fn undo(&self, path: &Path, grounds: &Grounds, all: &mut BTreeMap<PathBuf, GitReport>) {
        let Some((above, name)) = path.parent().zip(path.file_name()) else { return };
        let shown = grounds.shown(above);
        // What commands cannot write, they have not changed.
        let Ok(above) = fs::canonicalize(above) else { return };
        if !grounds.is_writable(&above) {
            return;
        }
        let report = all
            .entry(above.clone())
            .or_insert_with(|| GitReport { file: shown, ..GitReport::default() });
        let opened = openat2(CWD, &above, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let failed = |errno: rustix::io::Errno| GitProblem::NotWritten(errno.raw_os_error());
        let named = name.to_string_lossy().into_owned();
        let undone = opened.map_err(failed).and_then(|above| {
            set_aside(&above, name).map_err(failed)?;
            report.disabled.push(named.clone());
            self.put_back(path, &above, name)
        });
        match undone {
            Ok(true) => report.put_back.push(named),
            Ok(false) => {}
            Err(problem) => report.problem = Some(problem),
        }
    }

    fn put_back(&self, path: &Path, above: &OwnedFd, name: &OsStr) -> Result<bool, GitProblem> {
        let Some(known) = self.files.get(path) else { return Ok(false) };
        let Some((content, mode)) = &known.content else { return Ok(false) };
        replace(above, name, content, *mode)?;
        Ok(true)
    }
}

/// The paths at which git looks by itself, whether something is there or not.
fn obeyed(follows: &Follows) -> impl Iterator<Item = PathBuf> {
    let hooks = |directory: &PathBuf| HOOKS.map(|name| directory.join(name));
    follows.files.iter().cloned().chain(follows.hooks.iter().flat_map(hooks))
}

/// The links on the way from the root, below it.
fn links_to(follows: &Follows, root: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    for path in follows.hooks.iter().chain(&follows.files) {
        let Ok(below) = path.strip_prefix(root) else { continue };
        let mut at = root.to_owned();
        for name in below {
            at.push(name);
            if at.symlink_metadata().is_ok_and(|found| found.is_symlink()) && !links.contains(&at) {
                links.push(at.clone());
            }
        }
    }
    links
}

/// What git obeys, what was known before, and what hooks may read: those that have not changed for longest
/// first, because what a command adds is newer.
fn files_of(follows: &Follows, before: &BTreeMap<PathBuf, Known>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = obeyed(follows).collect();
    let is_below = |path: &&PathBuf| follows.hooks.iter().any(|hooks| path.starts_with(hooks));
    files.extend(before.keys().filter(is_below).cloned());
    let mut others = Vec::new();
    for directory in &follows.hooks {
        add_files(directory, 0, &mut others);
    }
    others.sort_unstable();
    files.extend(others.into_iter().map(|(_, path)| path));
    files
}

fn add_files(directory: &Path, depth: usize, files: &mut Vec<((i64, i64), PathBuf)>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        if files.len() >= MAX_READ {
            return;
        }
        match entry.metadata() {
            Ok(found) if found.is_dir() => below.push(entry.path()),
            Ok(found) => files.push(((found.ctime(), found.ctime_nsec()), entry.path())),
            Err(_) => {}
        }
    }
    // Those in the directory itself are nearer to the hooks.
    for directory in below.into_iter().filter(|_| depth < MAX_DEPTH) {
        add_files(&directory, depth + 1, files);
    }
}

/// What is in a file, and what may be done with it. Nothing is waited for.
fn read(path: &Path) -> Option<(Vec<u8>, Mode)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return None;
    }
    let mut content = Vec::new();
    File::from(file).take(MAX_BYTES + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= MAX_BYTES).then(|| (content, Mode::from_raw_mode(stat.st_mode)))
}
