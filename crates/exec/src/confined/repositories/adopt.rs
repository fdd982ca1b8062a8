//! A repository that commands make in the root.
//!
//! While `.git` is absent, commands see a directory of their own in its place, which lies in
//! [`NEW_REPOSITORY`] below it. Once no command runs, what makes a repository is moved up, and git on the
//! host finds it. The host makes the directory itself and the configuration, so nobody who still has the
//! former one open reaches what git obeys.
//!
//! The configuration is written first, with a mark, and `HEAD` is moved last. Git takes the directory for a
//! repository from then on, so an interrupted move is gone on with before the next command.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_sandbox::plan::{MAX_VIEW_BYTES, NEW_REPOSITORY, NEW_REPOSITORY_MARK};

use super::Grounds;
use super::disarm::{failed_write, with_write_access};
use super::found::{self, Found};
use super::known::{CONFIGURATIONS, Known, Place};
use crate::git_reports::{GitProblem, GitReport};

/// What git keeps in a repository and does not obey. The list is closed.
const MOVED: &[&str] = &[
    "objects",
    "refs",
    "reftable",
    "packed-refs",
    "logs",
    "info",
    "index",
    "description",
    "shallow",
    "hooks",
    "modules",
    "worktrees",
    "lfs",
    "rr-cache",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "gc.log",
    "HEAD",
];

/// The directory of a new repository, and the one that commands see in its place.
#[derive(Debug)]
pub(super) struct NewRepository {
    above: Directory,
    /// Locked together with other commands, also of other processes of the host.
    new: Directory,
}

impl NewRepository {
    fn open(git: &Path) -> Option<Self> {
        let above = Directory::open(git).ok()?;
        let new = above.below(NEW_REPOSITORY).ok()??;
        Some(Self { above, new })
    }

    /// Takes part in its use. What was being taken over when a process ended is taken over first, if no
    /// command of this process runs.
    pub(super) fn begin(git: &Path, grounds: &Grounds, is_first: bool) -> Option<Self> {
        let mut opened = Self::open(git)?;
        if is_first && is_begun(&opened.above) {
            adopt(opened, git, grounds, true);
            opened = Self::open(git)?;
        }
        flock(&opened.new, FlockOperation::NonBlockingLockShared).ok()?;
        Some(opened)
    }
}

fn is_begun(above: &Directory) -> bool {
    let text = above.read("config", MAX_VIEW_BYTES).ok().flatten();
    text.is_some_and(|text| text.starts_with(NEW_REPOSITORY_MARK))
}

/// Takes over what commands have made. `is_last`: none of this process runs any more.
pub(super) fn adopt(
    NewRepository { above, new }: NewRepository,
    git: &Path,
    grounds: &Grounds,
    is_last: bool,
) -> Vec<GitReport> {
    // That is all there is to know after most commands.
    if statat(&new, "HEAD", AtFlags::SYMLINK_NOFOLLOW).is_err() {
        return Vec::new();
    }
    let is_begun = is_begun(&above);
    let is = |within: &Directory, name: &str, is_dir: bool| {
        statat(within, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            if is_dir { kind.is_dir() } else { kind.is_file() }
        })
    };
    // Without them git would not take the directory for a repository.
    let is_one = is(&new, "HEAD", false)
        && ["objects", "refs"]
            .iter()
            .all(|name| is(&new, name, true) || is_begun && is(&above, name, true));
    let has_head = statat(&above, "HEAD", AtFlags::SYMLINK_NOFOLLOW).is_ok();
    // Another configuration is a person's.
    let is_taken = !is_begun && is(&above, "config", false);
    if !is_one || has_head || is_taken {
        return Vec::new();
    }
    let report = |problem| GitReport {
        file: grounds.shown(git),
        problem: Some(problem),
        ..GitReport::default()
    };
    // Commands of other processes of the host hold it too.
    if !is_last || flock(&new, FlockOperation::NonBlockingLockExclusive).is_err() {
        return vec![report(GitProblem::InUse)];
    }
    let mut reports = Vec::new();
    // Before anything is moved, while nobody finds what is obeyed.
    let whole = git.join(NEW_REPOSITORY);
    let mut places = found::modules(&whole);
    places.push(whole.clone());
    for place in &places {
        let mut own = Vec::new();
        let seen = git.join(place.strip_prefix(&whole).unwrap_or(Path::new("")));
        let top = git.parent().filter(|_| *place == whole);
        let seen = Place { seen: Some(&seen), top };
        let found = Found { directory: place.clone(), lead: None };
        Known::default().look_at(&found, &seen, true, grounds, &places, &mut own);
        let shown = grounds.shown(&whole);
        reports.extend(own.into_iter().map(|report| match report.file.strip_prefix(&shown) {
            Ok(below) => GitReport { file: grounds.shown(&git.join(below)), ..report },
            Err(_) => report,
        }));
    }
    // What could not be disarmed stays where git does not look.
    let is_left = |report: &GitReport| matches!(report.problem, Some(GitProblem::NotWritten(_)));
    if reports.iter().any(is_left) {
        return reports;
    }
    if let Err(problem) = take_over(&above, &new) {
        reports.push(report(problem));
    }
    reports
}

fn take_over(above: &Directory, new: &Directory) -> Result<(), GitProblem> {
    let read = |name| new.read(name, MAX_VIEW_BYTES).map_err(|_| GitProblem::Unreadable);
    let (config, more) = (read("config")?.unwrap_or_default(), read("config.worktree")?);
    write(above, "config", &[NEW_REPOSITORY_MARK, &config].concat())?;
    if let Some(more) = more {
        write(above, "config.worktree", &more)?;
    }
    move_up(above, new).map_err(failed)?;
    // Git takes it for a repository now.
    write(above, "config", &config)
}

/// Writes a settled configuration into a file of the host's, which appears whole.
#[expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]
fn write(above: &Directory, name: &str, text: &[u8]) -> Result<(), GitProblem> {
    let lock = format!("{name}.lock");
    let _ = unlinkat(above, &*lock, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(above, &*lock, flags, Mode::from_raw_mode(0o644)).map_err(failed)?;
    File::from(file).write_all(text).map_err(|error| failed_write(&error))?;
    renameat(above, &*lock, above, name).map_err(failed)
}

fn move_up(above: &Directory, new: &Directory) -> Result<(), Errno> {
    for name in MOVED {
        let Ok(stat) = statat(new, *name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !kind.is_file() && !kind.is_dir() {
            continue;
        }
        let flags = RenameFlags::NOREPLACE;
        with_write_access(new, || renameat_with(new, *name, above, *name, flags))?;
    }
    // The rest stays where nobody looks.
    for name in CONFIGURATIONS {
        let _ = unlinkat(new, name, AtFlags::empty());
    }
    let _ = unlinkat(new, OsStr::new("branches"), AtFlags::REMOVEDIR);
    let _ = unlinkat(above, NEW_REPOSITORY, AtFlags::REMOVEDIR);
    Ok(())
}

fn failed(errno: Errno) -> GitProblem {
    GitProblem::NotWritten(errno.raw_os_error())
}
