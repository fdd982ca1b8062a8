//! The calls that could leave a git directory on the host.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, OFlags, Stat, fstat};
use rustix::io::Errno;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::refused_git::RefusedGit;

use super::absent::Absent;
use super::moving::move_directory;
use super::perform::{link_descriptor, make_directory, remove_directory, remove_file, rename};
use super::resolve::Place;
use super::strict::{Strict, path_of, path_of_descriptor};
use super::supervisor_socket::SupervisorSocket;
use crate::mounts::{DirectoryIdentity, Revealed};

/// How often another process may make a name again that is to be replaced.
const TRIES: usize = 16;

/// Keeps the git directories of commands away from the host.
#[derive(Debug)]
pub(super) struct GitDirectories {
    supervisor: SupervisorSocket,
    /// Whether one was made since this was last asked.
    made: AtomicBool,
    /// Whether those that commands make are private.
    hides: bool,
    /// Under a strict plan.
    strict: Option<Strict>,
    absent: Absent,
    /// Whether the root is a fork, in which directories are renamed by steps.
    is_forked: bool,
}

/// What a plan says of names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRules<'a> {
    pub(crate) plan: &'a Plan,
    /// Protected paths that are to stay absent.
    pub(crate) absent: &'a [PathBuf],
}

impl GitDirectories {
    pub(super) fn new(supervisor: SupervisorSocket, rules: NameRules<'_>) -> Self {
        let NameRules { plan, absent } = rules;
        let strict = plan.is_git_strict.then(Strict::default);
        let (hides, absent) = (plan.hides_git_directories, Absent::new(absent));
        let is_forked = plan.root_fork.is_some();
        Self { supervisor, made: AtomicBool::new(false), hides, strict, absent, is_forked }
    }

    /// Renames what is no git directory.
    pub(super) fn move_entry(&self, from: &Place, to: &Place, flags: u32) -> Result<(), Errno> {
        match rename(from, to, flags) {
            Err(Errno::XDEV) if self.is_forked => {
                let (old, new) = (from.above()?, to.above()?);
                let name = |place: &Place| OsStr::from_bytes(place.plain_name()).to_owned();
                move_directory((old.as_fd(), &name(from)), (new.as_fd(), &name(to)), flags)
            }
            result => result,
        }
    }

    /// Whether what is made at a place would be a git directory, which commands have for themselves.
    pub(super) fn is_private(&self, place: &Place) -> bool {
        self.hides && place.is_git_directory()
    }

    /// Whether paths are kept absent.
    pub(super) fn keeps_absent(&self) -> bool {
        !self.absent.is_empty()
    }

    /// Refuses to make a file or an empty directory that has to stay absent.
    pub(super) fn check_new(&self, place: &Place) -> Result<(), Errno> {
        self.with_path(place, |path| self.absent.check(path))
    }

    /// Refuses to put something else at a place that has to stay absent, or above one.
    pub(super) fn check_moved(&self, place: &Place) -> Result<(), Errno> {
        self.with_path(place, |path| self.absent.check_moved(path))
    }

    fn with_path(
        &self,
        place: &Place,
        check: impl FnOnce(&Path) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        // What has no name in a directory is not new.
        let path = if self.keeps_absent() { path_of(place) } else { None };
        path.map_or(Ok(()), |path| check(&path))
    }

    pub(super) fn take_made(&self) -> bool {
        self.made.swap(false, Ordering::Relaxed)
    }

    /// What was refused since this was last asked.
    pub(super) fn take_refused(&self) -> Vec<RefusedGit> {
        self.strict.as_ref().map(Strict::take_refused).unwrap_or_default()
    }

    /// Makes an entry. Under a strict plan it is none that git on the host would obey.
    pub(super) fn add<T>(
        &self,
        place: &Place,
        add: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match &self.strict {
            Some(strict) => strict.add(place, &self.supervisor, add),
            None => add(),
        }
    }

    /// Makes a file that a strict plan allows.
    pub(super) fn create<T>(
        &self,
        place: &Place,
        create: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.check_new(place)?;
        if let Some(strict) = &self.strict {
            strict.check_link(place, &self.supervisor)?;
        }
        self.add(place, create)
    }

    /// Refuses to make anything but a directory where git takes the name for `.git`.
    pub(super) fn refuse(&self, place: &Place) -> Errno {
        let noted = self.strict.as_ref().map(|strict| strict.check_link(place, &self.supervisor));
        noted.and_then(Result::err).unwrap_or(Errno::PERM)
    }

    /// Refuses to write to a file that leads git elsewhere, or to give it a name under which it could be written, if
    /// the host sees it and the plan is strict.
    pub(super) fn check_written(&self, file: impl AsFd) -> Result<(), Errno> {
        if self.keeps_absent() {
            self.absent.check(&path_of_descriptor(&file)?)?;
        }
        let strict = self.strict.as_ref();
        strict.map_or(Ok(()), |strict| strict.check_file(file, &self.supervisor))
    }

    /// Makes a directory that is empty for the host. When the call returns, commands see another one in its place.
    pub(super) fn make(&self, place: &Place, mode: u32) -> Result<(), Errno> {
        make_directory(place, mode)?;
        let hide = |path: &Path, identity| self.supervisor.hide(path, identity);
        if self.hide(place, hide).is_err() {
            // Whatever commands have put into it meanwhile keeps it, and the look after the command finds that.
            let _ = remove_directory(place);
            return Err(Errno::PERM);
        }
        Ok(())
    }

    fn hide(
        &self,
        place: &Place,
        ask: impl FnOnce(&Path, DirectoryIdentity) -> Result<bool, Errno>,
    ) -> Result<(), Errno> {
        let made = place.open(OFlags::DIRECTORY)?;
        let identity = DirectoryIdentity::of(&fstat(&made)?);
        if ask(&path_of_descriptor(&made)?, identity)? {
            self.made.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Removes a directory, and what commands see in its place if that is empty.
    pub(super) fn remove(&self, place: &Place) -> Result<(), Errno> {
        match remove_directory(place) {
            // The kernel has found that the caller may remove it.
            Err(Errno::BUSY) => {}
            result => return result,
        }
        let seen = place.open(OFlags::DIRECTORY)?;
        match self.supervisor.reveal(DirectoryIdentity::of(&fstat(&seen)?)) {
            Ok(Revealed::Removed) => return Ok(()),
            Ok(Revealed::Uncovered) => {}
            // Another process may have removed it meanwhile.
            Err(Errno::BUSY) => return remove_directory(place),
            Err(errno) => return Err(errno),
        }
        let removed = remove_directory(place);
        if removed.is_err() {
            let hide = |path: &Path, identity| self.supervisor.hide_again(path, identity);
            let _ = self.hide(place, hide);
        }
        removed
    }

    /// Renames from or to a name of git directories. No directory gets such a name by it.
    pub(super) fn rename(&self, from: &Place, to: &Place, flags: u32) -> Result<(), Errno> {
        if flags & (libc::RENAME_EXCHANGE | libc::RENAME_WHITEOUT) != 0 {
            // Both ends are looked up, so that what is absent is reported first.
            from.open(OFlags::empty())?;
            return Err(Errno::XDEV);
        }
        if !self.is_private(to) {
            return match self.add(to, || rename(from, to, flags)) {
                // It is a private directory. Programs copy it then.
                Err(Errno::BUSY) if is_directory(from) => Err(Errno::XDEV),
                result => result,
            };
        }
        let file = from.open(OFlags::empty())?;
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            // Programs make the directory and copy what it contains.
            FileType::Directory => Err(Errno::XDEV),
            FileType::RegularFile => self.create(to, || move_file(&file, &stat, from, to, flags)),
            _ => Err(self.refuse(to)),
        }
    }
}

/// Renames a file by steps of which none can rename a directory, whatever other processes do to the names.
fn move_file(
    file: &OwnedFd,
    stat: &Stat,
    from: &Place,
    to: &Place,
    flags: u32,
) -> Result<(), Errno> {
    let is_same = |other: &Stat| (other.st_dev, other.st_ino) == (stat.st_dev, stat.st_ino);
    for _ in 0..TRIES {
        match link_descriptor(file, to) {
            Ok(()) => {
                let removed = match from.open(OFlags::empty()).and_then(fstat) {
                    Ok(there) if is_same(&there) => remove_file(from),
                    _ => Ok(()),
                };
                if removed.is_err() {
                    let _ = remove_file(to);
                }
                return removed;
            }
            Err(Errno::EXIST) if flags & libc::RENAME_NOREPLACE == 0 => {
                match to.open(OFlags::empty()).and_then(fstat) {
                    // Two names of one file: the kernel does nothing then.
                    Ok(there) if is_same(&there) => return Ok(()),
                    Ok(there) if FileType::from_raw_mode(there.st_mode).is_dir() => {
                        return Err(Errno::ISDIR);
                    }
                    Err(errno) if errno != Errno::NOENT => return Err(errno),
                    _ => match remove_file(to) {
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(errno) => return Err(errno),
                    },
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::BUSY)
}

fn is_directory(place: &Place) -> bool {
    let stat = place.open(OFlags::empty()).and_then(fstat);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}
