//! Files of the project that git obeys because the configuration of the root's repository says so: hooks
//! in another directory (`core.hooksPath`), and included configurations.
//!
//! They are often under version control, and installers of hooks write them anew each time. A mount over
//! them would have `git checkout` and `npm install` fail. So they are remembered with their
//! contents before a command. When it has ended, what is new or has another content is reported. The same
//! content under a new date is none of a command's doing that matters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, statat};
use toolwright_git::directory::Directory;
use toolwright_sandbox::policy::{Follows, follows};

use super::Grounds;
use super::known::Stamp;
use crate::git_reports::GitReport;

/// How deep below a directory of hooks a file may lie that they read.
const MAX_DEPTH: usize = 3;
/// How many files are remembered in all.
const MAX_FILES: usize = 256;
/// How many names are read to find them.
const MAX_READ: usize = 4096;
/// A longer file is known by its date alone.
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
    content: Option<(Vec<u8>, u32)>,
}

impl Known {
    /// What lies there now. `None`: nothing, or nothing that commands read and write.
    fn at(path: &Path, grounds: &Grounds, before: Option<&Self>) -> Option<Self> {
        let (above, name) = (directory_of(path, grounds)?, path.file_name()?);
        let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let stamp = Stamp::of(&stat);
        if let Some(known) = before.filter(|known| known.stamp == stamp) {
            return Some(known.clone());
        }
        let text = above.read(name, MAX_BYTES).ok().flatten();
        // Only what has a content is compared by it.
        let stamp = if text.is_some() { stamp.settled() } else { stamp };
        Some(Self { stamp, content: text.map(|text| (text, stat.st_mode)) })
    }
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
            if let Some(known) = Known::at(&path, grounds, before.files.get(&path)) {
                self.files.insert(path, known);
            }
        }
    }

    /// Reports what has changed, and remembers it.
    pub(super) fn look(&mut self, grounds: &Grounds, reports: &mut Vec<GitReport>) {
        let mut all: BTreeMap<PathBuf, GitReport> = BTreeMap::new();
        for link in links_to(&self.follows, &grounds.root) {
            let now = Stamp::at(CWD, &link);
            if self.links.get(&link).copied() != now {
                report(&link, grounds, &mut all);
                self.links.extend(now.map(|stamp| (link, stamp)));
            }
        }
        // New files that git does not look for are read by nothing that was there.
        let mut paths: BTreeSet<PathBuf> = obeyed(&self.follows).collect();
        paths.extend(self.files.keys().cloned());
        for path in paths {
            let before = self.files.get(&path);
            let Some(now) = Known::at(&path, grounds, before) else { continue };
            match before {
                Some(known) if known.stamp == now.stamp => continue,
                Some(known) if known.content.is_some() && known.content == now.content => {}
                _ => report(&path, grounds, &mut all),
            }
            self.files.insert(path, now);
        }
        let now = follows(&grounds.root);
        if now != self.follows {
            // A changed include leads git to what was there before, too.
            let known: BTreeSet<PathBuf> = obeyed(&self.follows).collect();
            for path in obeyed(&now).filter(|path| !known.contains(path)) {
                if Known::at(&path, grounds, None).is_some() {
                    report(&path, grounds, &mut all);
                }
            }
            self.remember(grounds);
        }
        reports.extend(all.into_values());
    }
}

fn report(path: &Path, grounds: &Grounds, all: &mut BTreeMap<PathBuf, GitReport>) {
    let Some((above, name)) = path.parent().zip(path.file_name()) else { return };
    let file = grounds.shown(above);
    let report =
        all.entry(above.to_owned()).or_insert_with(|| GitReport { file, ..GitReport::default() });
    report.left.push(name.to_string_lossy().into_owned());
}

/// The directory in which a file is, unless commands could not write or read there: those have changed nothing,
/// and nothing is said of these. Links of the project lead to it.
fn directory_of(path: &Path, grounds: &Grounds) -> Option<Directory> {
    let above = fs::canonicalize(path.parent()?).ok()?;
    if !grounds.is_writable(&above) || grounds.plan.closes(&above) {
        return None;
    }
    Directory::open(&above).ok()
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
        // A person may have put a link on the way to it.
        let real = fs::canonicalize(directory).unwrap_or_default();
        let first = others.len();
        add_files(&real, 0, &mut others);
        for (_, path) in &mut others[first..] {
            if let Ok(below) = path.strip_prefix(&real) {
                *path = directory.join(below);
            }
        }
    }
    others.sort_unstable();
    files.extend(others.into_iter().map(|(_, path)| path));
    files
}

fn add_files(path: &Path, depth: usize, files: &mut Vec<((i64, i64), PathBuf)>) {
    let Ok(directory) = Directory::open(path) else { return };
    let entries = directory.entries(".", MAX_READ).ok().flatten().unwrap_or_default();
    let mut below = Vec::new();
    for entry in entries {
        if files.len() >= MAX_READ {
            return;
        }
        let Ok(Some(found)) = directory.entry(&entry.name) else { continue };
        if FileType::from_raw_mode(found.st_mode).is_dir() {
            below.push(path.join(entry.name));
        } else {
            let changed = (found.st_ctime, i64::try_from(found.st_ctime_nsec).unwrap_or_default());
            files.push((changed, path.join(entry.name)));
        }
    }
    // Those in the directory itself are nearer to the hooks.
    for directory in below.into_iter().filter(|_| depth < MAX_DEPTH) {
        add_files(&directory, depth + 1, files);
    }
}
