//! Files of the project that git obeys because the configuration of the root's repository says so: hooks
//! in another directory (`core.hooksPath`), and included configurations.
//!
//! They are often under version control, and installers of hooks write them anew each time. A mount over
//! them would have `git checkout` and `npm install` fail. So they are remembered with their
//! contents before a command. When it has ended, what has another content is set aside, and what was there
//! is put back. The same content under a new date is none of a command's doing that matters.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use toolwright_sandbox::policy::{Follows, follows};

use super::Grounds;
use super::disarm::{replace, set_aside};
use super::known::{DIRECTORY, Stamp};
use crate::git_reports::{GitProblem, GitReport};

/// How deep below a directory of hooks a file may lie that they read.
const MAX_DEPTH: usize = 3;
/// How many files are looked at in all.
const MAX_FILES: usize = 256;
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
        let follows = follows(&grounds.root);
        let before = std::mem::take(self);
        for link in links_to(&follows, &grounds.root) {
            if let Some(stamp) = Stamp::at(CWD, &link) {
                self.links.insert(link, stamp);
            }
        }
        for path in files_of(&follows) {
            let Some(stamp) = Stamp::at(CWD, &path) else { continue };
            let known = before.files.get(&path).filter(|known| known.stamp == stamp).cloned();
            let known =
                known.unwrap_or_else(|| Known { stamp: stamp.settled(), content: read(&path) });
            self.files.insert(path, known);
        }
    }

    /// Puts back what has changed.
    pub(super) fn look(&mut self, grounds: &Grounds, reports: &mut Vec<GitReport>) {
        let follows = follows(&grounds.root);
        let mut all: BTreeMap<PathBuf, GitReport> = BTreeMap::new();
        for link in links_to(&follows, &grounds.root) {
            if self.links.get(&link).copied() != Stamp::at(CWD, &link) {
                self.undo(&link, grounds, &mut all);
            }
        }
        for path in files_of(&follows) {
            let Some(stamp) = Stamp::at(CWD, &path) else { continue };
            match self.files.get(&path) {
                Some(known) if known.stamp == stamp => continue,
                Some(known) if known.content.is_some() && known.content == read(&path) => {}
                Some(_) => self.undo(&path, grounds, &mut all),
                // Others are read by nothing that was there.
                None if is_obeyed(&path, &follows) => self.undo(&path, grounds, &mut all),
                None => continue,
            }
            if let Some(known) = self.files.get_mut(&path)
                && let Some(stamp) = Stamp::at(CWD, &path)
            {
                known.stamp = stamp.settled();
            }
        }
        reports.extend(all.into_values());
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

/// Whether git looks for a file by itself.
fn is_obeyed(path: &Path, follows: &Follows) -> bool {
    let is_hook = || path.file_name().is_some_and(|name| HOOKS.iter().any(|hook| name == *hook));
    let in_hooks = || follows.hooks.iter().any(|hooks| path.parent() == Some(hooks));
    follows.files.iter().any(|file| file == path) || in_hooks() && is_hook()
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

/// The included configurations, and all in the directories of hooks.
fn files_of(follows: &Follows) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in &follows.hooks {
        add_files(directory, 0, &mut files);
    }
    files.extend(follows.files.iter().cloned());
    files.sort_unstable();
    files
}

fn add_files(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        if files.len() >= MAX_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => below.push(entry.path()),
            Ok(_) => files.push(entry.path()),
            Err(_) => {}
        }
    }
    // Those in the directory itself are the ones that git runs.
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
