//! Directories that are granted for longer than one call.
//!
//! A host grants a directory by its name. Any process that can write the directory around it can
//! replace it by another one or by a link. So the grant identifies the directory once, and each use
//! compares: the directory is the same, or the use fails with [`FsError::RootChanged`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags};

use crate::location::name_of;
use crate::root::O_PATH;
use crate::{FileIdentity, FsError, Resolver, Root, path};

/// Whether a grant keeps its directory open between uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keeping {
    /// It does, while the process may keep more open. An open directory's inode number is not
    /// reused, and using it takes fewer system calls. Grants of the same directory share one
    /// descriptor.
    #[default]
    Open,
    /// It does not: for a host that grants many different directories.
    Closed,
}

/// How a granted directory has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// There is nothing at its path any more.
    Gone,
    /// Another directory is there.
    Directory,
    /// A link, which leads elsewhere.
    Link,
    /// Something other than a directory is there.
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

/// The most directories that a process keeps open.
const MAX_OPEN: usize = 64;

/// The directories that are open.
static OPEN: Mutex<Vec<(FileIdentity, Weak<OwnedFd>)>> = Mutex::new(Vec::new());

/// A directory that was granted by name.
///
/// It is identified on its first use, by [`identify`](Self::identify), or by a caller that has only
/// looked at its numbers ([`seen`](Self::seen)).
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
    /// Its real path.
    real: PathBuf,
    open: Option<Arc<OwnedFd>>,
    /// It is on a file system that sends no request to open a file.
    is_local: bool,
}

impl Granted {
    /// The directory that is at `given` (absolute) when it is first used. `name` is the name of the
    /// grant: `rootDir`, `sandbox.writableRoots[1]`.
    #[must_use]
    pub fn new(name: impl Into<String>, given: impl Into<PathBuf>) -> Self {
        let (name, given) = (name.into(), given.into());
        Self { name, given, seen: None, keeping: Keeping::Open, found: OnceLock::new() }
    }

    /// Requires these numbers of device and inode.
    #[must_use]
    pub fn seen(mut self, seen: Option<(u64, u64)>) -> Self {
        self.seen = seen;
        self
    }

    /// Whether to keep it open.
    #[must_use]
    pub fn keeping(mut self, keeping: Keeping) -> Self {
        self.keeping = keeping;
        self
    }

    /// The name of the grant.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path as the host wrote it.
    #[must_use]
    pub fn given(&self) -> &Path {
        &self.given
    }

    /// Identifies the directory unless it is identified already. Does not check it again.
    pub fn identify(&self) -> Result<(), FsError> {
        self.found().map(drop)
    }

    /// Whether the directory is identified.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.found.get().is_some()
    }

    /// The real path and the identity of the directory.
    pub fn real_path(&self) -> Result<(&Path, FileIdentity), FsError> {
        self.found().map(|found| (found.real.as_path(), found.identity))
    }

    /// Whether an absolute path is inside the directory, by the host's name for it or by its real
    /// path.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path::below(path, &self.given).is_some()
            || self.found.get().is_some_and(|found| path::below(path, &found.real).is_some())
    }

    /// Fails if another directory is at the path now.
    pub fn check(&self) -> Result<(), FsError> {
        self.checked().map(drop)
    }

    /// Opens the directory, if it still is the one that was granted.
    pub fn open(&self) -> Result<Root, FsError> {
        self.open_with(Resolver::Automatic)
    }

    /// As [`Granted::open`], with the given resolver.
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

    /// The directory, if it is open, local and still at its path. This never waits: while it is
    /// open, the kernel has the path to it in memory.
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
            // The links in its name can stay the same while the directory itself is moved away.
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
        // Resolved from its name and not from the descriptor: the directory may be renamed for a
        // moment, and that name would be expected from then on.
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
        // If two calls identify it at the same time, the first result counts.
        Ok(self.found.get_or_init(|| Found { identity, real, open, is_local }))
    }

    fn open_given(&self) -> Result<OwnedFd, FsError> {
        if !self.given.is_absolute() {
            return Err(self.unreadable(rustix::io::Errno::INVAL.into()));
        }
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &self.given, flags, Mode::empty());
        opened.map_err(|errno| match self.seen {
            // It existed when it was granted and does not any more.
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

/// The directory of `around`, pairs of a name and a real path, that contains a path by its name
/// `given` but not by its real path `real`. Any process that can write that directory may have made
/// the link.
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

/// Keeps a directory open, unless it is open already or there are too many.
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
