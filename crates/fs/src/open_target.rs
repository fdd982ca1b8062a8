//! A file or directory that is opened first and acted on after a decision.
//!
//! The decision is about the real path of what was opened, and the operation acts on what was
//! opened. No path between the two could come to mean something else.

#[cfg(target_os = "linux")]
mod cached;
mod roots;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use roots::Roots;
pub(crate) use roots::open_below;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolwright_reserved::FileId;

use crate::cancel::checkpoint;
use crate::location::{name_of, unnamed};
use crate::root::O_PATH;
use crate::target::Target;
use crate::update::update_target;
use crate::walk::CreatedDirectories;
use crate::write::write_target;
use crate::{
    Content, DirectoryGrant, FileKind, FsError, FsErrorKind, GitBorder, Opener, Range, Resolver,
    Root, UpdateError, Updated, WriteOptions, publish, range, walk,
};

/// How often a write begins anew when its file is exchanged meanwhile.
const MAX_ATTEMPTS: usize = 32;

/// The kind of an open target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File {
        /// Its size when it was opened.
        bytes: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link that was not followed: see [`LastLink::Itself`].
    Link,
    /// A name that does not exist yet, in an existing directory or in directories to be created.
    Missing,
}

impl TargetKind {
    /// As a tool has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Directory => "directory",
            Self::Link => "link",
            Self::Missing => "missing",
        }
    }

    /// The size of a file.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::File { bytes } => Some(bytes),
            Self::Directory | Self::Link | Self::Missing => None,
        }
    }
}

/// What a path stands for where its last name is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    /// What the link leads to, as for reading and writing.
    Followed,
    /// The link itself, as for deleting and moving.
    Itself,
}

/// A file, a directory, a link or a missing name below a root, with an open descriptor.
#[derive(Debug)]
pub struct OpenTarget {
    display_path: String,
    real_path: PathBuf,
    kind: TargetKind,
    /// The directory itself, the parent of a file, or the deepest existing ancestor of a missing
    /// name.
    directory: OwnedFd,
    /// The real path of that directory.
    directory_path: PathBuf,
    /// Directories to be created.
    missing: Vec<OsString>,
    /// The name in the last of them.
    name: OsString,
    file: Option<File>,
    /// The text of a link.
    link: Option<OsString>,
    /// The root that it was found in.
    root: FileId,
    /// Why it cannot be opened. Revealed only after its path is allowed.
    open_error: Option<FsError>,
    resolver: Resolver,
}

impl OpenTarget {
    /// A directory. Of a file or a missing name it is the parent, or an ancestor.
    fn of_directory(
        display_path: &str,
        directory: OwnedFd,
        directory_path: PathBuf,
        (root, resolver): (FileId, Resolver),
    ) -> Self {
        Self {
            display_path: display_path.to_owned(),
            real_path: directory_path.clone(),
            kind: TargetKind::Directory,
            directory,
            directory_path,
            missing: Vec::new(),
            name: OsString::new(),
            file: None,
            link: None,
            root,
            open_error: None,
            resolver,
        }
    }

    /// Opens the regular file at the relative `path` below `root` if that needs no waiting: the
    /// kernel has the path and the file in its caches, and there is no link on the way. `None` says
    /// nothing about the file.
    #[must_use]
    pub fn try_open_cached(root: &DirectoryGrant, path: &str) -> Option<Self> {
        #[cfg(target_os = "linux")]
        return cached::open_target(root, path);
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (root, path);
            None
        }
    }

    /// Reads the whole file, if it is text of at most `limit` bytes and needs no waiting. `None`
    /// says nothing about the file.
    #[must_use]
    pub fn try_read_cached(&self, limit: u64) -> Option<Vec<u8>> {
        #[cfg(target_os = "linux")]
        return cached::read(self.file.as_ref()?, limit);
        #[cfg(not(target_os = "linux"))]
        {
            let _ = limit;
            None
        }
    }

    /// The path as the caller wrote it.
    #[must_use]
    pub fn display_path(&self) -> &str {
        &self.display_path
    }

    /// The real path of what was opened: absolute, without links.
    #[must_use]
    pub fn real_path(&self) -> &Path {
        &self.real_path
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// Fails for everything but a readable regular file.
    pub fn check_readable(&mut self) -> Result<(), FsError> {
        if let Some(open_error) = self.open_error.take() {
            return Err(open_error);
        }
        match self.kind {
            TargetKind::File { .. } => Ok(()),
            TargetKind::Directory => Err(self.is_directory()),
            TargetKind::Link => {
                Err(FsErrorKind::NotAFile { kind: FileKind::Symlink }.at(&self.display_path))
            }
            TargetKind::Missing => Err(FsErrorKind::NotFound.at(&self.display_path)),
        }
    }

    /// Where a link leads to, as it is written in the link.
    #[must_use]
    pub fn link(&self) -> Option<&OsStr> {
        self.link.as_deref()
    }

    /// Whether a missing name can be created as far as is known.
    pub(crate) fn is_creatable(&self) -> bool {
        self.kind == TargetKind::Missing && self.open_error.is_none()
    }

    /// Fails for everything but an existing file or link, which can be deleted or moved.
    pub fn check_removable(&mut self) -> Result<(), FsError> {
        match (self.kind, self.open_error.take()) {
            (TargetKind::Link, _) => Ok(()),
            (_, Some(open_error)) => Err(open_error),
            _ => self.check_readable(),
        }
    }

    /// Fails for what cannot be written or created.
    pub fn check_writable(&mut self) -> Result<(), FsError> {
        match (self.kind, self.open_error.take()) {
            // Being unreadable does not prevent a write.
            (
                TargetKind::File { .. },
                Some(FsError { kind: FsErrorKind::Permission { .. }, .. }),
            )
            | (_, None) => {}
            (_, Some(open_error)) => return Err(open_error),
        }
        if self.kind == TargetKind::Directory { Err(self.is_directory()) } else { Ok(()) }
    }

    fn is_directory(&self) -> FsError {
        FsErrorKind::NotAFile { kind: FileKind::Directory }.at(&self.display_path)
    }

    /// Reads a part of the open file.
    pub fn read_range(
        &self,
        offset: u64,
        limit: u64,
        cancel: &AtomicBool,
    ) -> Result<Range, FsError> {
        let file =
            self.file.as_ref().ok_or_else(|| FsErrorKind::NotFound.at(&self.display_path))?;
        range::read_range(file, &self.display_path, offset, limit, cancel)
    }

    /// Reads the first bytes of the open file, as they are.
    pub fn read_beginning(
        &self,
        max_bytes: usize,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>, FsError> {
        let file =
            self.file.as_ref().ok_or_else(|| FsErrorKind::NotFound.at(&self.display_path))?;
        range::pread(file, &self.display_path, 0, max_bytes, cancel)
    }

    /// Makes `bytes` the content of the file and creates missing directories. Returns true if the
    /// file is new.
    pub fn write(
        &self,
        bytes: &[u8],
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<bool, FsError> {
        let path = &self.display_path;
        publish::within_size_limit(path, bytes.len() as u64)?;
        let mut answer = Err(self.conflict());
        for _ in 0..MAX_ATTEMPTS {
            checkpoint(cancel)?;
            let mut created = CreatedDirectories::default();
            answer = self.target(&mut created, options, cancel).and_then(|target| {
                write_target(&target, &mut created, path, Content::Bytes(bytes), options, cancel)
            });
            if !matches!(answer, Err(FsError { kind: FsErrorKind::NotFound, .. })) {
                return answer;
            }
        }
        answer
    }

    /// Replaces the content of the existing file by the result of `transform`.
    pub fn update<E>(
        &self,
        limit: u64,
        options: &WriteOptions,
        cancel: &AtomicBool,
        transform: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Updated, UpdateError<E>> {
        checkpoint(cancel)?;
        let mut created = CreatedDirectories::default();
        let target = self.target(&mut created, options, cancel)?;
        update_target(&target, &self.display_path, limit, options, cancel, transform)
    }

    pub(crate) fn target(
        &self,
        created: &mut CreatedDirectories,
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Target, FsError> {
        let failed = |errno| FsError::at(&self.display_path, "opening its directory", errno);
        self.unmoved_directory()?;
        self.check_git(options.git)?;
        let mut directory = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0).map_err(failed)?;
        for name in &self.missing {
            let _new = options.git.new_name(&self.display_path, directory.as_fd(), name)?;
            walk::make_directory(directory.as_fd(), name, created)
                .map_err(|errno| FsError::at(&self.display_path, "creating a directory", errno))?;
            let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            directory = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                Ok(next) => next,
                // A link was put here, which may lead anywhere.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => return Err(self.conflict()),
                Err(errno) => return Err(failed(errno)),
            };
        }
        Target::at(directory, self.name.clone(), &self.display_path, options, cancel)
    }

    /// The directory that exists, and the directories to be created in it.
    pub(crate) fn unmoved_directory(&self) -> Result<(&OwnedFd, &[OsString]), FsError> {
        // The directory was moved since the decision, which need not hold at its new path.
        if real_path_of(&self.display_path, &self.directory)?.as_ref() != Some(&self.directory_path)
        {
            return Err(self.conflict());
        }
        Ok((&self.directory, &self.missing))
    }

    /// Fails if the target lies in a directory of git below its root, or would make one.
    fn check_git(&self, git: GitBorder) -> Result<(), FsError> {
        let (path, directory) = (&self.display_path, self.directory.as_fd());
        git.check_up_to(path, directory, self.root)?;
        let first = self.missing.first().unwrap_or(&self.name);
        git.check_new(path, directory, first)
    }

    fn conflict(&self) -> FsError {
        FsErrorKind::Conflict.at(&self.display_path)
    }

    /// A descriptor of the directory, or of the parent of the file.
    #[must_use]
    pub fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// The real path of that directory.
    #[must_use]
    pub fn directory_path(&self) -> &Path {
        &self.directory_path
    }

    /// The name in the directory; empty for the directory itself.
    #[must_use]
    pub fn name(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Opens files below the directory, for a search.
    pub fn opener(&self) -> Result<Opener, FsError> {
        let directory = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0)
            .map_err(|errno| FsError::at(&self.display_path, "opening", errno))?;
        Ok(Opener(Root::from_fd(directory, self.directory_path.clone(), self.resolver)))
    }
}

/// The real path of a directory. `None` if it has been deleted.
fn real_path_of(display_path: &str, directory: &OwnedFd) -> Result<Option<PathBuf>, FsError> {
    let failed = |errno| FsError::at(display_path, "looking at its directory", errno);
    let real_path = name_of(directory.as_fd()).map_err(|errno| unnamed(display_path, errno))?;
    // Checked afterwards: only then is the name certain to be that of an existing directory.
    let links = rustix::fs::fstat(directory).map_err(failed)?.st_nlink;
    Ok((links > 0).then_some(real_path))
}
