//! What git obeys in one repository, and what of it a command may have changed.
//!
//! It is reported. Only in the repository that the host is about to take over, it is also disarmed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fstat, openat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use toolwright_git::config::{Change, Config, changes, with_changes};
use toolwright_git::directory::Directory;

use super::Grounds;
use super::found::{self, Found, MAX_LEAD};
use super::known::{CONFIGURATIONS, Known, LEADS, Place, Stamp, active_hooks};
use crate::confined::settings;
use crate::git_reports::{GitProblem, GitReport};

/// Behind the name of what git is not to obey.
const ASIDE: &str = "disabled";
/// The last of the names that are tried.
const MAX_NUMBER: usize = 10;

/// One that is looked at now.
pub(super) struct Repository<'r> {
    pub(super) found: &'r Found,
    pub(super) directory: &'r Directory,
    pub(super) place: &'r Place<'r>,
    /// Whether what git would obey is taken away, and not only reported.
    pub(super) disarms: bool,
    pub(super) grounds: &'r Grounds,
    /// The directories of the others.
    pub(super) known: &'r [PathBuf],
}

impl Repository<'_> {
    fn report(&self, name: &str) -> GitReport {
        let file = self.grounds.shown(&self.found.directory.join(name));
        GitReport { file, ..GitReport::default() }
    }

    pub(super) fn configurations(&self, before: &Known, reports: &mut Vec<GitReport>) {
        for (name, known) in CONFIGURATIONS.iter().zip(&before.configurations) {
            if Stamp::at(self.directory, *name) == known.as_ref().map(|(stamp, _)| *stamp) {
                continue;
            }
            let text = known.as_ref().map(|(_, text)| &**text);
            let mut report = self.report(name);
            match self.settle(name, text) {
                Ok(refused) if self.disarms => report.refused = refused,
                Ok(obeyed) => report.obeyed = obeyed,
                Err(problem) => report.problem = Some(problem),
            }
            if report.has_news() {
                reports.push(report);
            }
        }
    }

    /// Names what of a configuration is not harmless, and undoes it where that is to be done.
    fn settle(&self, name: &str, before: Option<&[u8]>) -> Result<Vec<String>, GitProblem> {
        let now = self.grounds.read(self.directory, name);
        if matches!(now, Ok(None)) {
            return Ok(Vec::new());
        }
        let parsed = now.ok().flatten().and_then(|text| Config::parse(&text));
        let known = Config::parse(before.unwrap_or_default());
        let (Some(after), Some(known)) = (parsed, known) else {
            if !self.disarms {
                return Err(GitProblem::Unjudged);
            }
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
        if refused.is_empty() || !self.disarms {
            return Ok(settings::names(&refused));
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
        let back = Directory::open(&tree).ok().and_then(|tree| tree.read(".git", MAX_LEAD).ok()?);
        let back = back.as_deref().and_then(|text| text.strip_prefix(b"gitdir: "));
        let back = back.map(|path| plain(&tree.join(found::path_of(path))));
        back.as_deref() == Some(seen)
    }

    fn replace(&self, name: &str, text: &[u8]) -> Result<(), GitProblem> {
        replace(self.directory, OsStr::new(name), text, Mode::from_raw_mode(0o644))
    }

    pub(super) fn hooks(&self, before: &Known, reports: &mut Vec<GitReport>) {
        let Some(now) = Stamp::at(self.directory, "hooks") else { return };
        let mut report = self.report("hooks");
        match self.directory.below("hooks").ok().flatten() {
            Some(hooks) => {
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
                        self.take(&mut report, &hooks, &name);
                    }
                }
            }
            None if before.hooks == Some(now) => {}
            // A link, which may lead to any directory.
            None => {
                report = self.report("");
                self.take(&mut report, self.directory, OsStr::new("hooks"));
            }
        }
        if report.has_news() {
            reports.push(report);
        }
    }

    pub(super) fn leads(&self, before: &Known, reports: &mut Vec<GitReport>) {
        let mut report = self.report("");
        for (name, known) in LEADS.iter().zip(&before.leads) {
            let Ok(stat) = statat(self.directory, *name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_harmless = Some(Stamp::of(&stat)) == *known
                || Stamp::is_empty_directory(&stat, self.directory, name)
                || *name == "commondir" && self.is_known(&self.found.directory.join(name));
            if !is_harmless {
                self.take(&mut report, self.directory, OsStr::new(name));
            }
        }
        if report.has_news() {
            reports.push(report);
        }
    }

    /// Sets a file aside where that is to be done, and names it.
    fn take(&self, report: &mut GitReport, directory: &Directory, name: &OsStr) {
        if self.disarms {
            report.take_aside(directory, name);
        } else {
            report.left.push(name.to_string_lossy().into_owned());
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
    fn has_news(&self) -> bool {
        let all = [&self.refused, &self.obeyed, &self.left, &self.disabled];
        self.problem.is_some() || all.iter().any(|names| !names.is_empty())
    }

    pub(super) fn take_aside(&mut self, directory: impl AsFd, name: &OsStr) {
        match set_aside(directory, name) {
            Ok(()) => self.disabled.push(name.to_string_lossy().into_owned()),
            Err(errno) => self.problem = Some(GitProblem::NotWritten(errno.raw_os_error())),
        }
    }
}

/// Puts another file in the place of one, under a name beside it that no command knows.
#[expect(clippy::disallowed_methods, reason = "it makes a file, and reads none")]
pub(super) fn replace(
    directory: &Directory,
    name: &OsStr,
    content: &[u8],
    mode: Mode,
) -> Result<(), GitProblem> {
    let failed = |errno: Errno| GitProblem::NotWritten(errno.raw_os_error());
    let mut new = name.to_owned();
    new.push(format!(".{}", unique()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let flags = flags | OFlags::CLOEXEC;
    let file = with_write_access(directory, || openat(directory, &*new, flags, mode));
    let file = file.map_err(failed)?;
    let rename = || renameat(directory, &*new, directory, name);
    // The mask of the process does not apply to what is put back.
    let written = fchmod(&file, mode)
        .map_err(failed)
        .and_then(|()| File::from(file).write_all(content).map_err(|error| failed_write(&error)));
    let renamed = written.and_then(|()| match rename() {
        // A directory in its place.
        Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
            set_aside(directory, name).and_then(|()| rename()).map_err(failed)
        }
        renamed => renamed.map_err(failed),
    });
    if renamed.is_err() {
        let _ = unlinkat(directory, &*new, AtFlags::empty());
    }
    renamed
}

/// Sets aside what a command has made where there was nothing, unless it is what a person had there. The name
/// itself is moved, and no link is followed on the way to it.
pub(super) fn set_path_aside(path: &Path, of_person: Option<&(u64, u64)>) -> Option<GitReport> {
    // A plan has no link on the way, so that one is new: it goes, and with it what it leads to from here.
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let link = above.into_iter().find(|above| above.is_symlink());
    let path = link.filter(|_| path.symlink_metadata().is_ok()).unwrap_or(path);
    let (above, name) = path.parent().zip(path.file_name())?;
    let mut report = GitReport::default();
    match Directory::open(above) {
        Ok(above) => {
            let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            if of_person == Some(&(stat.st_dev, stat.st_ino)) {
                return None;
            }
            report.take_aside(above, name);
        }
        Err(_) if path.symlink_metadata().is_err() => return None,
        // A link on the way: what it leads to is not touched.
        Err(_) => report.left.push(name.to_string_lossy().into_owned()),
    }
    Some(report)
}

/// Gives a file another name, which git does not look for.
pub(super) fn set_aside(directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    for number in 0..=MAX_NUMBER {
        let mut other = name.to_owned();
        other.push(match number {
            0 => format!(".{ASIDE}"),
            // A command may have taken all the numbers.
            MAX_NUMBER => format!(".{ASIDE}-{}", unique()),
            _ => format!(".{ASIDE}-{number}"),
        });
        let rename = || renameat_with(&directory, name, &directory, &other, RenameFlags::NOREPLACE);
        match with_write_access(&directory, rename) {
            Err(Errno::EXIST) => {}
            // This file system cannot, or the other name would be too long. Nobody could have known this one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NAMETOOLONG) => {
                let other = format!("{ASIDE}-{}", unique());
                return with_write_access(&directory, || {
                    renameat(&directory, name, &directory, &*other)
                });
            }
            Err(Errno::NOENT) => return Ok(()),
            result => return result,
        }
    }
    Err(Errno::EXIST)
}

/// A part of a name that no command could know before.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Changes something in a directory, also in one that a command has closed to its own user.
pub(super) fn with_write_access<T>(
    directory: impl AsFd,
    act: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {}
        result => return result,
    }
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    fchmod(&directory, mode | Mode::RWXU)?;
    act()
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
