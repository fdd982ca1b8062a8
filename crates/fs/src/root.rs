//! The root: one directory descriptor that everything else is resolved below.

use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::fs::CWD;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::FsError;
use crate::path;

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// By the kernel where it can, by the component walk where it cannot.
    #[default]
    Automatic,
    /// By the component walk alone: what systems without `openat2` do. For tests of that walk.
    Walk,
}

/// An open root directory.
///
/// Opened anew for every call: a root that was moved, deleted or recreated between two calls is
/// seen as it is now, and within one call nothing can be swapped under the descriptor.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    canonical: OnceLock<Option<PathBuf>>,
    resolver: Resolver,
}

/// A descriptor that names a place without granting to read it, where the system has such a thing.
#[cfg(target_os = "linux")]
pub(crate) const PLACE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const PLACE: OFlags = OFlags::RDONLY;

impl Root {
    /// Opens the directory at `path`, which must be absolute. Links in `path` itself are followed:
    /// where the root lies is the host's decision, not the agent's.
    pub fn open(path: &Path) -> Result<Self, FsError> {
        Self::open_with(path, Resolver::Automatic)
    }

    /// As [`Root::open`], with the resolver chosen.
    pub fn open_with(path: &Path, resolver: Resolver) -> Result<Self, FsError> {
        let failed = |errno: Errno| {
            let path = path.to_string_lossy().into_owned();
            match errno {
                // Says nothing about the root.
                Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO => {
                    FsError::at(&path, "opening the root directory", errno)
                }
                _ => FsError::Root { path, source: errno.into() },
            }
        };
        if !path.is_absolute() {
            return Err(failed(Errno::INVAL));
        }
        let flags = PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
        Ok(Self { fd, path: path.to_path_buf(), canonical: OnceLock::new(), resolver })
    }

    /// A root of a directory that is open already, and lies at `path`.
    pub(crate) fn held(fd: OwnedFd, path: PathBuf, resolver: Resolver) -> Self {
        Self { fd, canonical: OnceLock::from(Some(path.clone())), path, resolver }
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
