//! The root: one directory descriptor that everything else is resolved below.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::{FsError, path};

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// By the kernel where it can, by the component walk where it cannot.
    #[default]
    Automatic,
    /// By the component walk alone: what systems without `openat2` do. For tests of that walk.
    Walk,
}

/// An open root directory: within one call nothing can be swapped under the descriptor. What keeps it
/// the same from one call to the next is [`Granted`](crate::Granted).
#[derive(Debug)]
pub struct Root {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    canonical: OnceLock<Option<PathBuf>>,
    resolver: Resolver,
    /// Its place was told, and not found out by its name.
    is_placed: bool,
}

/// A descriptor that names a place without granting to read it, where the system has such a thing.
#[cfg(target_os = "linux")]
pub(crate) const O_PATH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const O_PATH: OFlags = OFlags::RDONLY;

impl Root {
    /// Opens the directory at `path`, which must be absolute. Links in `path` itself are followed:
    /// where the root lies is the host's decision, not the agent's.
    pub fn open(path: &Path) -> Result<Self, FsError> {
        Self::open_with(path, Resolver::Automatic)
    }

    /// As [`Root::open`], with the resolver chosen.
    pub fn open_with(path: &Path, resolver: Resolver) -> Result<Self, FsError> {
        let failed = |errno: Errno| Self::unreadable(path, errno.into());
        if !path.is_absolute() {
            return Err(failed(Errno::INVAL));
        }
        let flags = O_PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
        let fd = Arc::new(fd);
        Ok(Self {
            fd,
            path: path.to_path_buf(),
            canonical: OnceLock::new(),
            resolver,
            is_placed: false,
        })
    }

    /// It cannot be opened.
    pub(crate) fn unreadable(path: &Path, error: io::Error) -> FsError {
        let path = path.to_string_lossy().into_owned();
        match Errno::from_io_error(&error) {
            // Says nothing about the root.
            Some(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO)) => {
                FsError::at(&path, "opening the root directory", errno)
            }
            _ => FsError::Root { path, source: error },
        }
    }

    /// A root of a directory that is open already, and lies at `path`.
    pub(crate) fn from_fd(fd: OwnedFd, path: PathBuf, resolver: Resolver) -> Self {
        Self::granted(Arc::new(fd), path.clone(), path, resolver)
    }

    /// A root of a directory that is open already, is called `path` by the host, and lies at `real`.
    pub(crate) fn granted(
        fd: Arc<OwnedFd>,
        path: PathBuf,
        real: PathBuf,
        resolver: Resolver,
    ) -> Self {
        Self { fd, path, canonical: OnceLock::from(Some(real)), resolver, is_placed: true }
    }

    /// The root as it was configured.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root with its links resolved, where that can be told.
    ///
    /// Only ever compared with text: nothing is opened by it.
    #[must_use]
    pub fn canonical(&self) -> Option<&Path> {
        self.canonical.get_or_init(|| std::fs::canonicalize(&self.path).ok()).as_deref()
    }

    /// Where the root lies, if that was looked at since it was opened.
    pub(crate) fn known_place(&self) -> Option<&Path> {
        self.is_placed.then(|| self.canonical()).flatten()
    }

    pub(crate) fn resolver(&self) -> Resolver {
        self.resolver
    }

    /// Turns what the caller wrote into a path relative to the root. A relative path stays as it
    /// is; an absolute one must begin with the root, as configured or with its links resolved.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, FsError> {
        path::validate(path)?;
        self.strip(Path::new(path))
            .ok_or_else(|| FsError::Escape { path: path.to_owned(), via_link: false })
    }

    /// `path` relative to the root, or `None` when it is absolute and elsewhere.
    pub(crate) fn strip(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            return Some(path.to_path_buf());
        }
        path::below(path, &self.path)
            .or_else(|| self.canonical().and_then(|canonical| path::below(path, canonical)))
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
