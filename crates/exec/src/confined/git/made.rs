//! Git directories that commands have made.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, RenameFlags, StatxFlags, mkdirat, renameat_with, statx, unlinkat};
use rustix::io::Errno;
use toolwright_fs::remove_tree;
use toolwright_git::config::New;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Made};
use toolwright_git::repository::DOT_GIT;
use toolwright_sandbox::plan::Plan;

use super::set_aside::{Identity, identity_at, unique, with_write_access};
use super::terms;
use crate::git_reports::GitNote;

/// A git directory that is private to commands.
#[derive(Debug)]
pub(super) struct Private {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// What commands have made of it.
    pub(super) content: Directory,
    /// The directory that the host sees there.
    pub(super) git: Directory,
}

impl Private {
    /// Whether commands have made a repository of it. They may be about to.
    pub(super) fn is_whole(&self) -> bool {
        let has = |name| matches!(self.content.entry(name), Ok(Some(_)));
        self.path.file_name() == Some(OsStr::new(DOT_GIT))
            && ["HEAD", "objects", "refs"].into_iter().all(has)
    }

    /// Makes a repository of the host of it.
    pub(super) fn bring_back(&self, plan: &Plan, lent: Vec<(PathBuf, PathBuf)>) -> Made {
        let terms = terms(plan, &self.path, lent);
        import::create(&self.git, &self.content, &New::default(), &terms)
    }

    /// Notes that nobody is to take the directory of the host for a person's.
    pub(super) fn remember(&self) {
        if let Some(identity) = identity_at(&self.git, ".") {
            covered().insert(identity);
        }
    }

    /// Notes that it is a repository of the host now.
    pub(super) fn forget(&self) {
        if let Some(identity) = identity_at(&self.git, ".") {
            covered().remove(&identity);
        }
        note_of_command(&self.git);
    }
}

/// Device, inode and time of birth. Another directory may have the first two later.
type Birth = (Identity, (i64, u32));

/// The repositories that commands have made since this process began. Commands may remove these.
fn of_commands() -> MutexGuard<'static, BTreeSet<Birth>> {
    static OF_COMMANDS: Mutex<BTreeSet<Birth>> = Mutex::new(BTreeSet::new());
    OF_COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note_of_command(git: &Directory) {
    of_commands().extend(birth(git));
}

/// Which directory it is, if commands have made the repository at a path.
pub(super) fn of_command(path: &Path) -> Option<Identity> {
    let birth = birth(&Directory::open(path).ok()?)?;
    of_commands().contains(&birth).then_some(birth.0)
}

/// `None`: the file system does not tell when it was made.
fn birth(git: &Directory) -> Option<Birth> {
    let stat = statx(git, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let has_time = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
    let time = (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec);
    has_time.then_some((identity_at(git, ".")?, time))
}

/// The directories of the host on which private ones lie, or lay when their supervisor ended.
fn covered() -> MutexGuard<'static, BTreeSet<Identity>> {
    static COVERED: Mutex<BTreeSet<Identity>> = Mutex::new(BTreeSet::new());
    COVERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a directory is one on which a private one lies or lay. What is in it was put there by a command that had
/// it open before.
pub(super) fn is_covered(identity: Identity) -> bool {
    covered().contains(&identity)
}

/// What came of a git directory of plain files.
pub(super) enum Anew {
    /// A repository that the host has made is in its place.
    Made(Vec<GitNote>),
    /// It is as it was, for these reasons.
    Refused(Vec<GitNote>),
}

/// Whether a bare repository has nothing in it that git does not put there.
pub(super) fn is_only_git(top: &Directory, place: &Path) -> bool {
    /// More of these are none of git.
    const MAX: usize = 1000;
    const NAMES: [&str; 21] = [
        "branches",
        "config",
        "config.worktree",
        "description",
        "gc.log",
        "gc.pid",
        "git-daemon-export-ok",
        "hooks",
        "index",
        "info",
        "lfs",
        "logs",
        "modules",
        "objects",
        "packed-refs",
        "refs",
        "remotes",
        "rr-cache",
        "sequencer",
        "shallow",
        "worktrees",
    ];
    let is_state = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let is_fan = |name: &[u8]| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
    let has = |path: &Path, is_of_git: &dyn Fn(&[u8]) -> bool| {
        let entries = top.entries(path, MAX).ok().flatten();
        entries.is_some_and(|all| all.iter().all(|entry| is_of_git(entry.name.as_bytes())))
    };
    let is_known = |name: &[u8]| NAMES.iter().any(|known| name == known.as_bytes());
    has(place, &|name| is_known(name) || is_state(name))
        && has(&place.join("objects"), &|name| name == b"info" || name == b"pack" || is_fan(name))
}

/// Puts a repository that the host makes in the place of one that a command has made of plain files.
pub(super) fn anew(plan: &Plan, above: &Directory, name: &OsStr, path: &Path) -> Anew {
    let refused = |errno: Errno| Anew::Refused(vec![GitNote::Failed(errno.to_string())]);
    let mut other = name.to_owned();
    other.push(format!(".{}", unique()));
    let made = with_write_access(above, || mkdirat(above, &other, Mode::from_raw_mode(0o777)));
    if let Err(errno) = made {
        return refused(errno);
    }
    let (Ok(Some(content)), Ok(Some(git))) = (above.below(name), above.below(&other)) else {
        let _ = unlinkat(above, &other, AtFlags::REMOVEDIR);
        return refused(Errno::NOENT);
    };
    let new = New { is_bare: name != DOT_GIT, ..New::default() };
    let Made { is_made, notes, .. } =
        import::create(&git, &content, &new, &terms(plan, path, Vec::new()));
    if !is_made {
        let _ = unlinkat(above, &other, AtFlags::REMOVEDIR);
        return Anew::Refused(notes);
    }
    let exchange = || {
        let flags = RenameFlags::EXCHANGE;
        with_write_access(above, || renameat_with(above, name, above, &other, flags))
    };
    let mut exchanged = exchange();
    // It has a name now that nobody knows. A person may have put something into it before.
    if exchanged.is_ok() && new.is_bare && !is_only_git(above, Path::new(&other)) {
        if exchange().is_err() {
            return refused(Errno::NOTEMPTY);
        }
        exchanged = Err(Errno::NOTEMPTY);
    }
    // Now it is what the command has made, or a file system has no exchange and it is the new one.
    let _ = remove_tree(&below(above, &other), None);
    match exchanged {
        Ok(()) => {
            note_of_command(&git);
            Anew::Made(notes)
        }
        Err(errno) => refused(errno),
    }
}

fn below(directory: &Directory, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(directory.as_fd().as_raw_fd().to_string()).join(name)
}
