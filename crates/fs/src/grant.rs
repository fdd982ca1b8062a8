//! Directories that are granted for longer than one call.
//!
//! A host grants a directory by its name. Whoever can write the directory around it can put another
//! one, or a link, in its place. So what was granted is identified when it is granted, and each use
//! compares: the directory is the same, or it is refused with [`FsError::RootChanged`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags};

use crate::location::name_of;
use crate::root::O_PATH;
use crate::{FileIdentity, FsError, Resolver, Root, path};

/// Whether a directory is kept open between its uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keeping {
    /// It is, while there is room: as long as it is open, its number is given to no other file, and
    /// using it takes fewer system calls. Those who grant the same directory share one descriptor.
    #[default]
    Open,
    /// It is not: for directories of which there are many, each of its own.
    Closed,
}

/// What has become of a directory that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// Nothing is at its path any more.
    Gone,
    /// Another directory is there.
    Directory,
    /// A link, which leads elsewhere.
    Link,
    /// Something else than a directory.
    File,
}

impl Replaced {
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::Gone => "it was removed or moved away",
            Self::Directory => "another directory is there now",
            Self::Link => "a link to another place is there now",
            Self::File => "no directory is there now",
        }
    }
}

/// How many directories are kept open in a process.
const MAX_OPEN: usize = 64;

/// Those that are.
static OPEN: Mutex<Vec<(FileIdentity, Weak<OwnedFd>)>> = Mutex::new(Vec::new());

/// A directory that was granted by name.
///
/// It is identified when it is first used, or before: by [`identify`](Self::identify), or by somebody
/// who looked at it for its number alone ([`seen`](Self::seen)).
#[derive(Debug)]
pub struct Granted {
    name: String,
    given: PathBuf,
    seen: Option<(u64, u64)>,
    keeping: Keeping,
    found: OnceLock<Found>,
}

#[derive(Debug)]
struct Found {
    identity: FileIdentity,
    /// Where it lies, without links.
    real: PathBuf,
    open: Option<Arc<OwnedFd>>,
    /// It is on a file system that answers without asking anybody.
    is_local: bool,
}

impl Granted {
    /// The directory that is at `given` (absolute) when it is first used. `name` is that of the grant:
    /// `rootDir`, `sandbox.writableRoots[1]`.
    #[must_use]
    pub fn new(name: impl Into<String>, given: impl Into<PathBuf>) -> Self {
        let (name, given) = (name.into(), given.into());
        Self { name, given, seen: None, keeping: Keeping::Open, found: OnceLock::new() }
    }

    /// The directory has these numbers of device and inode, or is not the one that is meant.
    #[must_use]
    pub fn seen(mut self, seen: Option<(u64, u64)>) -> Self {
        self.seen = seen;
        self
    }

    /// Whether it is kept open.
    #[must_use]
    pub fn keeping(mut self, keeping: Keeping) -> Self {
        self.keeping = keeping;
        self
    }

    /// Which grant it is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path as the host gave it.
    #[must_use]
    pub fn given(&self) -> &Path {
        &self.given
    }

    /// Finds out which directory it is, if that is not known. Says nothing about one that is known.
    pub fn identify(&self) -> Result<(), FsError> {
        self.found().map(drop)
    }

    /// Whether it is known which directory it is.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.found.get().is_some()
    }

    /// Where it lies, without links, and which directory it is.
    pub fn real_path(&self) -> Result<(&Path, FileIdentity), FsError> {
        self.found().map(|found| (found.real.as_path(), found.identity))
    }

    /// Whether an absolute path lies in it, by how the host calls it or by where it lies.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path::below(path, &self.given).is_some()
            || self.found.get().is_some_and(|found| path::below(path, &found.real).is_some())
    }

    /// Refuses a directory that is another one now.
    pub fn check(&self) -> Result<(), FsError> {
        self.checked().map(drop)
    }

    /// The directory, open, if it still is the one that was granted.
    pub fn open(&self) -> Result<Root, FsError> {
        self.open_with(Resolver::Automatic)
    }

    /// As [`Granted::open`], with the resolver chosen.
    pub fn open_with(&self, resolver: Resolver) -> Result<Root, FsError> {
        let found = self.checked()?;
        let open = if let Some(open) = &found.open {
            Arc::clone(open)
        } else {
            let open = self.open_given()?;
            let now = FileIdentity::of(&open).map_err(|error| self.unreadable(error))?;
            if !now.is(&found.identity) {
                return Err(self.changed());
            }
            Arc::new(open)
        };
        Ok(Root::granted(open, self.given.clone(), found.real.clone(), resolver))
    }

    /// The directory when it is kept open, on a file system of this machine, and still in its place:
    /// looking at it waits for nothing, since what is open keeps the way there in memory.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reads at once"))]
    pub(crate) fn try_open_cached(&self) -> Option<BorrowedFd<'_>> {
        let found = self.found.get().filter(|found| found.is_local)?;
        let open = found.open.as_ref()?;
        self.checked().is_ok().then(|| open.as_fd())
    }

    fn checked(&self) -> Result<&Found, FsError> {
        let Some(found) = self.found.get() else { return self.found() };
        self.compare(fs::metadata(&self.given), found)?;
        if found.real != self.given {
            // The links of its name can stay as they are while it is moved away.
            self.compare(fs::symlink_metadata(&found.real), found)?;
        }
        Ok(found)
    }

    fn compare(&self, now: io::Result<fs::Metadata>, found: &Found) -> Result<(), FsError> {
        match now {
            Ok(now) if FileIdentity::from(&now).is(&found.identity) => Ok(()),
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) && error.raw_os_error() != Some(rustix::io::Errno::LOOP.raw_os_error()) =>
            {
                Err(self.unreadable(error))
            }
            _ => Err(self.changed()),
        }
    }

    fn found(&self) -> Result<&Found, FsError> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let open = self.open_given()?;
        let identity = FileIdentity::of(&open).map_err(|error| self.unreadable(error))?;
        if self.seen.is_some_and(|seen| seen != (identity.device, identity.inode)) {
            return Err(self.changed());
        }
        // By its name, and not by what the open directory is called: it may be called otherwise for a
        // moment, and then it would be looked for there for ever.
        let real = fs::canonicalize(&self.given).ok().or_else(|| name_of(open.as_fd()).ok());
        let real = real.unwrap_or_else(|| self.given.clone());
        let there = fs::symlink_metadata(&real).map_err(|error| self.unreadable(error))?;
        if !FileIdentity::from(&there).is(&identity) {
            return Err(self.changed());
        }
        let is_local = is_local(&open);
        let open = match self.keeping {
            Keeping::Open => keep(identity, open),
            Keeping::Closed => None,
        };
        // Two calls at once look twice, and the first look counts.
        Ok(self.found.get_or_init(|| Found { identity, real, open, is_local }))
    }

    fn open_given(&self) -> Result<OwnedFd, FsError> {
        if !self.given.is_absolute() {
            return Err(self.unreadable(rustix::io::Errno::INVAL.into()));
        }
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &self.given, flags, Mode::empty());
        opened.map_err(|errno| match self.seen {
            // It was there, and is not there any more.
            Some(_) if matches!(errno, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
                self.changed()
            }
            _ => self.unreadable(errno.into()),
        })
    }

    fn unreadable(&self, error: io::Error) -> FsError {
        Root::unreadable(&self.given, error)
    }

    #[cold]
    fn changed(&self) -> FsError {
        let now = match (fs::symlink_metadata(&self.given), fs::metadata(&self.given)) {
            (Err(_), _) => Replaced::Gone,
            (Ok(entry), _) if entry.is_symlink() => Replaced::Link,
            (_, Ok(now)) if now.is_dir() => Replaced::Directory,
            _ => Replaced::File,
        };
        FsError::RootChanged {
            grant: self.name.clone(),
            path: self.given.to_string_lossy().into_owned(),
            now,
        }
    }
}

/// The directory of `around` (by name and place) that a path lies in by its name, `given`, and does not
/// by where it leads, `real`. Whoever can write that directory may have made the link.
pub fn led_out_of<'a>(
    given: &Path,
    real: &Path,
    around: impl Iterator<Item = (&'a Path, &'a Path)> + Clone,
) -> Option<&'a Path> {
    let inside = |path: &Path, way: &Path| path != way && path.starts_with(way);
    if given == real || around.clone().any(|(_, place)| real.starts_with(place)) {
        return None;
    }
    let mut around = around;
    around.find(|(name, place)| inside(given, name) || inside(given, place)).map(|(_, place)| place)
}

/// Keeps a directory open, if it is not yet and there is room.
fn keep(identity: FileIdentity, open: OwnedFd) -> Option<Arc<OwnedFd>> {
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(_, kept)| kept.strong_count() > 0);
    let known = all.iter().find(|(known, _)| known.is(&identity));
    if let Some(known) = known.and_then(|(_, kept)| kept.upgrade()) {
        return Some(known);
    }
    if all.len() >= MAX_OPEN {
        return None;
    }
    let open = Arc::new(open);
    all.push((identity, Arc::downgrade(&open)));
    Some(open)
}

#[cfg(target_os = "linux")]
fn is_local(open: &OwnedFd) -> bool {
    crate::cached_read::linux::is_on_local(open) == Some(true)
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &OwnedFd) -> bool {
    false
}
