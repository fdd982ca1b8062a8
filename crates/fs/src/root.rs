//! The root: one directory descriptor that everything else is resolved below.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::{FsError, FsErrorKind, path};

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// By the kernel where it can, otherwise by the component walk.
    #[default]
    Automatic,
    /// By the component walk only, as on systems without `openat2`. For tests of that walk.
    Walk,
}

/// An open root directory. Within one call nothing can be exchanged under the descriptor. From one
/// call to the next, [`DirectoryGrant`](crate::DirectoryGrant) keeps it the same.
#[derive(Debug)]
pub struct Root {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    canonical: OnceLock<Option<PathBuf>>,
    resolver: Resolver,
    /// The host gave its real path, so the name of the descriptor is not asked for.
    knows_real_path: bool,
    /// The directory that was forked, for one that lies in a fork of it.
    forked: Option<PathBuf>,
}

/// Opens a descriptor that names a file without granting to read it, where the system has such a
/// flag.
#[cfg(target_os = "linux")]
pub(crate) const O_PATH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const O_PATH: OFlags = OFlags::RDONLY;

impl Root {
    /// Opens the directory at `path`, which must be absolute. Links in `path` itself are followed:
    /// the host decides where the root is, not the agent.
    pub fn open(path: &Path) -> Result<Self, FsError> {
        Self::open_with(path, Resolver::Automatic)
    }

    /// As [`Root::open`], with the given resolver.
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
            knows_real_path: false,
            forked: None,
        })
    }

    /// The directory cannot be opened.
    pub(crate) fn unreadable(path: &Path, error: io::Error) -> FsError {
        let path = path.to_string_lossy();
        match Errno::from_io_error(&error) {
            // A descriptor limit says nothing about the root.
            Some(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO)) => {
                FsError::at(&path, "opening the root directory", errno)
            }
            _ => FsErrorKind::Root { source: error }.at(path),
        }
    }

    /// A directory that is open already. `path` is what it is called: nothing is opened by it.
    #[must_use]
    pub fn of_open(fd: OwnedFd, path: PathBuf) -> Self {
        Self::from_fd(fd, path, Resolver::Automatic)
    }

    /// From a directory that is open already, at `path`.
    pub(crate) fn from_fd(fd: OwnedFd, path: PathBuf, resolver: Resolver) -> Self {
        Self::granted(Arc::new(fd), path.clone(), path, resolver)
    }

    /// From a directory that is open already, which the host calls `path` and whose real path is
    /// `real`.
    pub(crate) fn granted(
        fd: Arc<OwnedFd>,
        path: PathBuf,
        real: PathBuf,
        resolver: Resolver,
    ) -> Self {
        let canonical = OnceLock::from(Some(real));
        Self { fd, path, canonical, resolver, knows_real_path: true, forked: None }
    }

    /// The same as a directory of a fork of the directory at `base`.
    pub(crate) fn in_fork(self, base: PathBuf) -> Self {
        Self { forked: Some(base), ..self }
    }

    /// The directory that was forked, if this one lies in a fork of it.
    pub(crate) fn forked(&self) -> Option<&Path> {
        self.forked.as_deref()
    }

    /// The path of the root as the host configured it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The real path of the root, if it can be determined.
    ///
    /// It is only compared with text. Nothing is opened by it.
    #[must_use]
    pub fn canonical(&self) -> Option<&Path> {
        self.canonical.get_or_init(|| std::fs::canonicalize(&self.path).ok()).as_deref()
    }

    /// The real path of the root, if it was determined since the root was opened.
    pub(crate) fn known_real_path(&self) -> Option<&Path> {
        self.knows_real_path.then(|| self.canonical()).flatten()
    }

    pub(crate) fn resolver(&self) -> Resolver {
        self.resolver
    }

    /// Turns the caller's path into one relative to the root. A relative path stays as it is. An
    /// absolute one must begin with the root's configured path or its real path.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, FsError> {
        path::validate(path)?;
        self.strip(Path::new(path)).ok_or_else(|| FsErrorKind::Escape { via_link: false }.at(path))
    }

    /// `path` relative to the root, or `None` if it is absolute and elsewhere.
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
