//! Directories that are granted for longer than one call.
//!
//! A host grants a directory by its name. Any process that can write the directory around it can
//! replace it by another one or by a link. So the grant identifies the directory once, and each use
//! compares: the directory is the same, or the use fails with [`FsErrorKind::RootChanged`].

mod forked;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::{fs, io};

use forked::ForkPart;
pub use forked::ForkedRoot;
use rustix::fs::{CWD, Mode, OFlags};

use crate::location::name_of;
use crate::root::O_PATH;
use crate::{FileIdentity, FsError, FsErrorKind, Resolver, Root, path};

/// How a granted directory has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootChange {
    /// There is nothing at its path any more.
    Gone,
    /// Another directory is there.
    Directory,
    /// A link, which leads elsewhere.
    Link,
    /// Something other than a directory is there.
    File,
    /// It was a fork, which was closed or discarded.
    Fork,
}

impl RootChange {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Gone => "it was removed or moved away",
            Self::Directory => "another directory is there now",
            Self::Link => "a link to another place is there now",
            Self::File => "no directory is there now",
            Self::Fork => "the fork was closed or discarded",
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
pub struct DirectoryGrant {
    name: String,
    path: PathBuf,
    seen: Option<(u64, u64)>,
    stays_open: bool,
    identified: OnceLock<Identified>,
    fork: Option<ForkPart>,
}

#[derive(Debug)]
struct Identified {
    identity: FileIdentity,
    /// Its real path.
    real: PathBuf,
    open: Option<Arc<OwnedFd>>,
    /// It is on a file system that sends no request to open a file.
    is_local: bool,
}

impl Identified {
    fn in_fork(identity: FileIdentity, path: &Path, open: &Arc<OwnedFd>) -> Self {
        Self { identity, real: path.to_owned(), open: Some(Arc::clone(open)), is_local: false }
    }
}

impl DirectoryGrant {
    /// The directory that is at `path` (absolute) when it is first used. `name` is the name of the
    /// grant: `rootDir`, `sandbox.writableRoots[1]`.
    #[must_use]
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let (name, path) = (name.into(), path.into());
        Self { name, path, seen: None, stays_open: true, identified: OnceLock::new(), fork: None }
    }

    /// A fork in the place of the directory at `path`, which is absolute and without links. The directory itself is
    /// never opened. When the fork ends, so does the grant.
    #[must_use]
    pub fn of_fork(name: impl Into<String>, path: impl Into<PathBuf>, fork: ForkedRoot) -> Self {
        let grant = Self::new(name, path);
        let part = ForkPart::whole(fork, grant.path.clone());
        let identified = Identified::in_fork(part.fork.identity, &grant.path, &part.fork.open);
        Self { identified: OnceLock::from(identified), fork: Some(part), ..grant }
    }

    /// A directory in the fork that this is a grant of, by its path in the directory that was forked: absolute, and
    /// without links in the fork. `None` if this is no grant of a fork, or the path is elsewhere.
    #[must_use]
    pub fn in_fork(&self, name: impl Into<String>, path: &Path) -> Option<Self> {
        let part = self.fork.as_ref()?.part_at(path)?;
        Some(Self { fork: Some(part), ..Self::new(name, path) })
    }

    /// The fork that is granted in place of the directory, by its number.
    #[must_use]
    pub fn fork(&self) -> Option<u64> {
        self.fork.as_ref().map(|part| part.fork.number)
    }

    /// The directory of which that is a fork: absolute, and without links.
    #[must_use]
    pub fn forked(&self) -> Option<&Path> {
        self.fork.as_ref().map(|part| &*part.base)
    }

    /// The numbers of device and inode that a host has noted as `DEVICE:INODE`.
    #[must_use]
    pub fn noted(identity: &str) -> Option<(u64, u64)> {
        let (device, inode) = identity.split_once(':')?;
        Some((device.parse().ok()?, inode.parse().ok()?))
    }

    /// Requires these numbers of device and inode.
    #[must_use]
    pub fn seen(mut self, seen: Option<(u64, u64)>) -> Self {
        self.seen = seen;
        self
    }

    /// Does not keep the directory open between uses: for a host that grants many different directories.
    ///
    /// An open directory's inode number is not reused, and using it takes fewer system calls. Grants of
    /// the same directory share one descriptor, and a process keeps only so many open.
    #[must_use]
    pub fn closed_between_uses(mut self) -> Self {
        self.stays_open = false;
        self
    }

    /// The name of the grant.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path as the host wrote it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies the directory unless it is identified already. Does not check it again.
    pub fn identify(&self) -> Result<(), FsError> {
        self.identified().map(drop)
    }

    /// Whether the directory is identified.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.identified.get().is_some()
    }

    /// The real path and the identity of the directory.
    pub fn real_path(&self) -> Result<(&Path, FileIdentity), FsError> {
        self.identified().map(|known| (known.real.as_path(), known.identity))
    }

    /// Whether an absolute path is inside the directory, by the host's name for it or by its real
    /// path.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path::below(path, &self.path).is_some()
            || self.identified.get().is_some_and(|known| path::below(path, &known.real).is_some())
    }

    /// Fails if another directory is at the path now.
    pub fn check(&self) -> Result<(), FsError> {
        self.checked().map(drop)
    }

    /// Opens the directory, if it still is the one that was granted.
    pub fn open(&self) -> Result<Root, FsError> {
        self.open_with(Resolver::Automatic)
    }

    /// As [`DirectoryGrant::open`], with the given resolver.
    pub fn open_with(&self, resolver: Resolver) -> Result<Root, FsError> {
        let known = self.checked()?;
        let open = if let Some(open) = &known.open {
            Arc::clone(open)
        } else {
            let open = self.open_path()?;
            let now = FileIdentity::of(&open).map_err(|error| self.unreadable(error))?;
            if !now.is(&known.identity) {
                return Err(self.changed());
            }
            Arc::new(open)
        };
        let root = Root::granted(open, self.path.clone(), known.real.clone(), resolver);
        Ok(if let Some(base) = self.forked() { root.in_fork(base.to_owned()) } else { root })
    }

    /// The directory, if it is open, local and still at its path. This never waits: while it is
    /// open, the kernel has the path to it in memory.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reads at once"))]
    pub(crate) fn try_open_cached(&self) -> Option<BorrowedFd<'_>> {
        let known = self.identified.get().filter(|known| known.is_local)?;
        let open = known.open.as_ref()?;
        self.checked().is_ok().then(|| open.as_fd())
    }

    fn checked(&self) -> Result<&Identified, FsError> {
        let Some(known) = self.identified.get() else { return self.identified() };
        if let Some(part) = &self.fork {
            return match part.state(&known.identity) {
                Ok(None) => Ok(known),
                Ok(Some(limit)) => {
                    Err(FsErrorKind::ForkFull { limit }.at(self.path.to_string_lossy()))
                }
                Err(now) => Err(self.changed_to(now)),
            };
        }
        self.compare(fs::metadata(&self.path), known)?;
        if known.real != self.path {
            // The links in its name can stay the same while the directory itself is moved away.
            self.compare(fs::symlink_metadata(&known.real), known)?;
        }
        Ok(known)
    }

    fn compare(&self, now: io::Result<fs::Metadata>, known: &Identified) -> Result<(), FsError> {
        match now {
            Ok(now) if FileIdentity::from(&now).is(&known.identity) => Ok(()),
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

    fn identified(&self) -> Result<&Identified, FsError> {
        if let Some(known) = self.identified.get() {
            return Ok(known);
        }
        if let Some(part) = &self.fork {
            let opened = part.open().map_err(|errno| self.unreadable(errno.into()))?;
            let found = Identified::in_fork(opened.1, &self.path, &opened.0);
            return Ok(self.identified.get_or_init(|| found));
        }
        let open = self.open_path()?;
        let identity = FileIdentity::of(&open).map_err(|error| self.unreadable(error))?;
        if self.seen.is_some_and(|seen| seen != (identity.device, identity.inode)) {
            return Err(self.changed());
        }
        // Resolved from its name and not from the descriptor: the directory may be renamed for a
        // moment, and that name would be expected from then on.
        let real = fs::canonicalize(&self.path).ok().or_else(|| name_of(open.as_fd()).ok());
        let real = real.unwrap_or_else(|| self.path.clone());
        let there = fs::symlink_metadata(&real).map_err(|error| self.unreadable(error))?;
        if !FileIdentity::from(&there).is(&identity) {
            return Err(self.changed());
        }
        let is_local = is_local(&open);
        let open = if self.stays_open { share(identity, open) } else { None };
        // If two calls identify it at the same time, the first result counts.
        Ok(self.identified.get_or_init(|| Identified { identity, real, open, is_local }))
    }

    fn open_path(&self) -> Result<OwnedFd, FsError> {
        if !self.path.is_absolute() {
            return Err(self.unreadable(rustix::io::Errno::INVAL.into()));
        }
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &self.path, flags, Mode::empty());
        opened.map_err(|errno| match self.seen {
            // It existed when it was granted and does not any more.
            Some(_) if matches!(errno, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
                self.changed()
            }
            _ => self.unreadable(errno.into()),
        })
    }

    fn unreadable(&self, error: io::Error) -> FsError {
        Root::unreadable(&self.path, error)
    }

    #[cold]
    fn changed(&self) -> FsError {
        let now = match (fs::symlink_metadata(&self.path), fs::metadata(&self.path)) {
            (Err(_), _) => RootChange::Gone,
            (Ok(entry), _) if entry.is_symlink() => RootChange::Link,
            (_, Ok(now)) if now.is_dir() => RootChange::Directory,
            _ => RootChange::File,
        };
        self.changed_to(now)
    }

    fn changed_to(&self, now: RootChange) -> FsError {
        FsErrorKind::RootChanged { grant: self.name.clone(), now }.at(self.path.to_string_lossy())
    }
}

/// The directory of `around`, pairs of a name and a real path, that contains a path by its name
/// `path` but not by its real path `real`. Any process that can write that directory may have made
/// the link.
pub fn led_out_of<'a>(
    path: &Path,
    real: &Path,
    around: impl Iterator<Item = (&'a Path, &'a Path)> + Clone,
) -> Option<&'a Path> {
    let inside = |path: &Path, directory: &Path| path != directory && path.starts_with(directory);
    if path == real || around.clone().any(|(_, real_path)| real.starts_with(real_path)) {
        return None;
    }
    let mut around = around;
    around
        .find(|(name, real_path)| inside(path, name) || inside(path, real_path))
        .map(|(_, real_path)| real_path)
}

/// Keeps a directory open, unless it is open already or there are too many.
fn share(identity: FileIdentity, open: OwnedFd) -> Option<Arc<OwnedFd>> {
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(_, open)| open.strong_count() > 0);
    let same = all.iter().find(|(other, _)| other.is(&identity));
    if let Some(shared) = same.and_then(|(_, open)| open.upgrade()) {
        return Some(shared);
    }
    if all.len() >= MAX_OPEN {
        return None;
    }
    let open = Arc::new(open);
    all.push((identity, Arc::downgrade(&open)));
    Some(open)
}

/// Whether a directory is on a file system of this machine, whose times tell of every change.
#[must_use]
pub fn is_on_local(directory: &Path) -> bool {
    let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, directory, flags, Mode::empty()).is_ok_and(|open| is_local(&open))
}

#[cfg(target_os = "linux")]
fn is_local(open: &OwnedFd) -> bool {
    crate::cached_read::linux::is_on_local(open) == Some(true)
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &OwnedFd) -> bool {
    false
}
