//! What git obeys in one repository, and what of it a command may have changed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, fstat, openat,
    openat2, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use toolwright_sandbox::git_config::{Change, Config, changes, with_changes};
use toolwright_sandbox::plan::MAX_VIEW_BYTES;

use super::Grounds;
use super::found::{self, Found};
use crate::confined::settings;
use crate::git_reports::{GitProblem, GitReport};

/// Behind the name of what git is not to obey.
const ASIDE: &str = "disabled";
/// How many names there are for one.
const MAX_ASIDE: usize = 1000;
/// The configurations in the directory of a repository.
pub(super) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Where git looked for addresses before it had a configuration, and where it looks for the rest of a
/// repository.
const LEADS: [&str; 3] = ["commondir", "branches", "remotes"];

const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);

/// Which version of a file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([i128; 6]);

impl Stamp {
    fn at(directory: impl AsFd, name: impl rustix::path::Arg) -> Option<Self> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self::of(&stat))
    }

    fn of(stat: &Stat) -> Self {
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mode),
            i128::from(stat.st_mtime) << 64 | i128::from(stat.st_mtime_nsec),
            i128::from(stat.st_ctime) << 64 | i128::from(stat.st_ctime_nsec),
        ])
    }

    fn is_empty_directory(stat: &Stat, directory: impl AsFd, name: &str) -> bool {
        FileType::from_raw_mode(stat.st_mode).is_dir()
            && openat(directory, name, DIRECTORY, Mode::empty()).and_then(Dir::new).is_ok_and(
                |mut entries| {
                    entries.all(|entry| {
                        entry.is_ok_and(|one| matches!(one.file_name().to_bytes(), b"." | b".."))
                    })
                },
            )
    }
}

/// How a repository was when it was last looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) directory: Option<PathBuf>,
    identity: Option<(u64, u64)>,
    lead: Option<Vec<u8>>,
    configurations: [Option<(Stamp, Vec<u8>)>; 2],
    hooks: Option<Stamp>,
    /// Those that git would run.
    active: BTreeMap<OsString, Stamp>,
    leads: [Option<Stamp>; 3],
}

impl Known {
    /// Whether it was known in another place before.
    pub(super) fn is_at(&self, other: Option<(u64, u64)>) -> bool {
        other.is_some() && self.lead.is_none() && self.identity == other
    }

    /// Takes what is there for a person's. `false`: nothing is there that could become a repository.
    pub(super) fn remember(&mut self, place: &Path, grounds: &Grounds) -> bool {
        let Some(found) = found::find(place, &grounds.root) else {
            *self = Self::default();
            return may_become_one(place);
        };
        if let Ok(directory) = open(&found.directory) {
            self.read(&found, &directory);
        }
        true
    }

    fn read(&mut self, found: &Found, directory: &OwnedFd) {
        self.directory = Some(found.directory.clone());
        self.identity = identity(directory);
        self.lead.clone_from(&found.lead);
        for (name, known) in CONFIGURATIONS.iter().zip(&mut self.configurations) {
            let now = Stamp::at(directory, *name);
            if now != known.as_ref().map(|(stamp, _)| *stamp) {
                let text = read_file(directory, name).ok().flatten();
                *known = now.zip(text);
            }
        }
        for (name, known) in LEADS.iter().zip(&mut self.leads) {
            *known = Stamp::at(directory, *name);
        }
        let hooks = Stamp::at(directory, "hooks");
        if hooks != self.hooks {
            self.active = active_hooks(directory);
        } else if let Ok(hooks) = openat(directory, "hooks", DIRECTORY, Mode::empty()) {
            for (name, stamp) in &mut self.active {
                if let Some(now) = Stamp::at(&hooks, &**name) {
                    *stamp = now;
                }
            }
        }
        self.hooks = hooks;
    }

    /// Sets aside what is new, and remembers the rest. `false`, as for [`remember`](Self::remember).
    pub(super) fn look(
        &mut self,
        place: &Place<'_>,
        grounds: &Grounds,
        known: &[PathBuf],
        reports: &mut Vec<GitReport>,
    ) -> bool {
        let Some(found) = found::find(place.at, &grounds.root) else {
            *self = Self::default();
            return may_become_one(place.at);
        };
        // What commands cannot write, they have not made.
        if !grounds.is_writable(&found.directory) {
            return true;
        }
        let Ok(directory) = open(&found.directory) else { return true };
        // It may have been moved with all that was in it.
        if self.lead != found.lead || self.identity != identity(&directory) {
            *self = Self::default();
        }
        let look = Repository { found: &found, directory: &directory, place, grounds, known };
        look.configurations(self, reports);
        look.hooks(self, reports);
        look.leads(self, reports);
        self.read(&found, &directory);
        true
    }
}

/// A place in which a repository was found.
#[derive(Debug)]
pub(super) struct Place<'p> {
    pub(super) at: &'p Path,
    /// The path under which commands know the repository, if that is another one.
    pub(super) seen: Option<&'p Path>,
    /// Where relative addresses begin.
    pub(super) top: Option<&'p Path>,
}

impl<'p> Place<'p> {
    pub(super) fn new(at: &'p Path) -> Self {
        let top = at.join(".git").symlink_metadata().is_ok().then_some(at);
        Self { at, seen: None, top }
    }
}

/// The identity of the repository in a place.
pub(super) fn identity_at(place: &Path, root: &Path) -> Option<(u64, u64)> {
    let found = found::find(place, root).filter(|found| found.lead.is_none())?;
    identity(&open(&found.directory).ok()?)
}

fn identity(directory: &OwnedFd) -> Option<(u64, u64)> {
    fstat(directory).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

fn may_become_one(place: &Path) -> bool {
    [".git", "HEAD"].iter().any(|name| place.join(name).symlink_metadata().is_ok())
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, directory, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// One that is looked at now.
struct Repository<'r> {
    found: &'r Found,
    directory: &'r OwnedFd,
    place: &'r Place<'r>,
    grounds: &'r Grounds,
    /// The directories of the others.
    known: &'r [PathBuf],
}

impl Repository<'_> {
    fn report(&self, name: &str) -> GitReport {
        let file = self.grounds.shown(&self.found.directory.join(name));
        GitReport { file, ..GitReport::default() }
    }

    fn configurations(&self, before: &Known, reports: &mut Vec<GitReport>) {
        for (name, known) in CONFIGURATIONS.iter().zip(&before.configurations) {
            if Stamp::at(self.directory, *name) == known.as_ref().map(|(stamp, _)| *stamp) {
                continue;
            }
            let text = known.as_ref().map(|(_, text)| &**text);
            let mut report = self.report(name);
            match self.settle(name, text) {
                Ok(refused) => report.refused = refused,
                Err(problem) => report.problem = Some(problem),
            }
            if !report.refused.is_empty() || report.problem.is_some() {
                reports.push(report);
            }
        }
    }

    /// Undoes what of a configuration is not harmless, and names it.
    fn settle(&self, name: &str, before: Option<&[u8]>) -> Result<Vec<String>, GitProblem> {
        let now = read_file(self.directory, name);
        if matches!(now, Ok(None)) {
            return Ok(Vec::new());
        }
        let parsed = now.ok().flatten().and_then(|text| Config::parse(&text));
        let known = Config::parse(before.unwrap_or_default());
        let (Some(after), Some(known)) = (parsed, known) else {
            self.replace(name, before.unwrap_or_default())?;
            return Err(GitProblem::Unreadable);
        };
        let all = changes(&known, &after);
        let is_own = |change: &Change| change.name == b"core.worktree" && self.is_own_tree(change);
        let all: Vec<Change> = all.into_iter().filter(|change| !is_own(change)).collect();
        let grounds = settings::Grounds {
            top: self.place.top,
            is_writable: &|path| self.grounds.is_writable(path),
            holds_worktree_config: true,
        };
        let (_, refused) = settings::divide(all, &after, &grounds);
        if refused.is_empty() {
            return Ok(Vec::new());
        }
        let undone: Vec<Change> = refused
            .iter()
            .map(|change| Change {
                before: change.after.clone(),
                after: change.before.clone(),
                ..change.clone()
            })
            .collect();
        let text =
            with_changes(&after, &undone).unwrap_or_else(|| before.unwrap_or_default().into());
        self.replace(name, &text)?;
        Ok(settings::names(&refused))
    }

    /// Whether the working tree of a submodule leads back here.
    fn is_own_tree(&self, change: &Change) -> bool {
        let [Some(path)] = &change.after[..] else { return false };
        let seen = self.place.seen.unwrap_or(&self.found.directory);
        let tree = plain(&seen.join(OsStr::from_bytes(path)));
        let is_inside =
            tree.starts_with(&self.grounds.root) && !tree.iter().any(|name| name == ".git");
        let has_links = || tree.canonicalize().ok().as_ref() != Some(&tree);
        if !is_inside || has_links() {
            return false;
        }
        let back = std::fs::read(tree.join(".git")).ok();
        let back = back.as_deref().and_then(|text| text.strip_prefix(b"gitdir: "));
        let back = back.map(|path| plain(&tree.join(OsStr::from_bytes(path.trim_ascii_end()))));
        back.as_deref() == Some(seen)
    }

    /// Writes a configuration as git does, under the lock beside it.
    fn replace(&self, name: &str, text: &[u8]) -> Result<(), GitProblem> {
        let failed = |errno: Errno| GitProblem::NotWritten(errno.raw_os_error());
        let lock = format!("{name}.lock");
        // Nothing that could have made one is left but commands that go on, and they are not waited for.
        let _ = unlinkat(self.directory, &*lock, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o644);
        let file = openat(self.directory, &*lock, flags | OFlags::CLOEXEC, mode).map_err(failed)?;
        let written = File::from(file).write_all(text);
        written.map_err(|error| failed_write(&error))?;
        match renameat(self.directory, &*lock, self.directory, name) {
            // A directory in its place.
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                set_aside(self.directory, OsStr::new(name)).map_err(failed)?;
                renameat(self.directory, &*lock, self.directory, name).map_err(failed)
            }
            result => result.map_err(failed),
        }
    }

    fn hooks(&self, before: &Known, reports: &mut Vec<GitReport>) {
        let Some(now) = Stamp::at(self.directory, "hooks") else { return };
        let mut report = self.report("hooks");
        match openat(self.directory, "hooks", DIRECTORY, Mode::empty()) {
            Ok(hooks) => {
                let active = if Some(now) == before.hooks {
                    let known = before.active.keys();
                    known
                        .filter_map(|name| Some((name.clone(), Stamp::at(&hooks, &**name)?)))
                        .collect()
                } else {
                    active_hooks(self.directory)
                };
                for (name, stamp) in active {
                    if before.active.get(&name) != Some(&stamp) {
                        report.take_aside(&hooks, &name);
                    }
                }
            }
            Err(_) if before.hooks == Some(now) => {}
            // A link, which may lead to any directory.
            Err(_) => {
                report = self.report("");
                report.take_aside(self.directory, OsStr::new("hooks"));
            }
        }
        if !report.disabled.is_empty() || report.problem.is_some() {
            reports.push(report);
        }
    }

    fn leads(&self, before: &Known, reports: &mut Vec<GitReport>) {
        let mut report = self.report("");
        for (name, known) in LEADS.iter().zip(&before.leads) {
            let Ok(stat) = statat(self.directory, *name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_harmless = Some(Stamp::of(&stat)) == *known
                || Stamp::is_empty_directory(&stat, self.directory, name)
                || *name == "commondir" && self.is_known(&self.found.directory.join(name));
            if !is_harmless {
                report.take_aside(self.directory, OsStr::new(name));
            }
        }
        if !report.disabled.is_empty() || report.problem.is_some() {
            reports.push(report);
        }
    }

    /// Whether a file leads to a repository that is looked after, or to none that commands write.
    fn is_known(&self, lead: &Path) -> bool {
        let Some(target) = found::led_to(lead) else { return false };
        target == self.found.directory
            || target == self.grounds.root.join(".git")
            || self.known.contains(&target)
            || !self.grounds.is_writable(&target)
    }
}

impl GitReport {
    fn take_aside(&mut self, directory: impl AsFd, name: &OsStr) {
        match set_aside(directory, name) {
            Ok(()) => self.disabled.push(name.to_string_lossy().into_owned()),
            Err(errno) => self.problem = Some(GitProblem::NotWritten(errno.raw_os_error())),
        }
    }
}

/// Sets aside what a command has made where there was nothing.
pub(super) fn set_path_aside(path: &Path) -> Option<GitReport> {
    path.symlink_metadata().ok()?;
    let above = openat2(CWD, path.parent()?, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let mut report = GitReport::default();
    match above {
        Ok(above) => report.take_aside(above, path.file_name()?),
        Err(errno) => report.problem = Some(GitProblem::NotWritten(errno.raw_os_error())),
    }
    Some(report)
}

/// Gives a file another name, which git does not look for.
fn set_aside(directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    for number in 0..MAX_ASIDE {
        let mut other = name.to_owned();
        other.push(match number {
            0 => format!(".{ASIDE}"),
            _ => format!(".{ASIDE}-{number}"),
        });
        match renameat_with(&directory, name, &directory, &other, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(()),
            result => return result,
        }
    }
    Err(Errno::EXIST)
}

/// The hooks that git would run, by their names.
fn active_hooks(directory: &OwnedFd) -> BTreeMap<OsString, Stamp> {
    let mut active = BTreeMap::new();
    let Ok(hooks) = openat(directory, "hooks", DIRECTORY, Mode::empty()) else { return active };
    let Ok(entries) = Dir::read_from(&hooks) else { return active };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        // Git runs no hook whose name has a dot in it.
        if name.contains(&b'.') {
            continue;
        }
        let name = OsStr::from_bytes(name);
        if let Some(stamp) = Stamp::at(&hooks, name) {
            active.insert(name.to_owned(), stamp);
        }
    }
    active
}

/// What a configuration says; `None` where there is none.
pub(super) fn read_file(directory: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let file = match openat(directory, name, FILE, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
        return Err(Errno::INVAL.into());
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_VIEW_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_VIEW_BYTES {
        return Err(Errno::FBIG.into());
    }
    Ok(Some(text))
}

pub(super) fn failed_write(error: &io::Error) -> GitProblem {
    GitProblem::NotWritten(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
}

/// Without `.` and `..`, which no link can change where there is none.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
