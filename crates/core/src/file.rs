//! The file that an operation works on, and how its change is published.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_fs::{Durability, FsError, Granted, UpdateError, WriteOptions};

use crate::access::protected_paths;
use crate::access::target::Target;
use crate::failure::Unfinished;

/// A file at either door.
#[derive(Debug, Clone, Copy)]
pub enum File<'a> {
    /// Named by a path below a root: it is found and used in one step.
    Below {
        /// The root.
        root: &'a Granted,
        /// The path, relative to the root or absolute.
        path: &'a str,
    },
    /// Opened before, and allowed by the policy of a session.
    Opened(&'a Target),
}

/// How a changed file is published.
#[derive(Debug, Clone)]
pub struct Publish {
    /// Wait until file and directory are on the disk.
    pub fsync: bool,
    /// Overwrite in place where the file cannot be replaced atomically.
    pub allow_in_place: bool,
    /// How long to wait for other calls on the same file.
    pub wait: Duration,
    /// Paths below the root that are not written; the usual ones without a list. An opened file was
    /// checked when it was opened.
    pub deny_write: Option<Vec<PathBuf>>,
}

impl Publish {
    fn options(&self, file: File<'_>) -> WriteOptions {
        WriteOptions {
            durability: if self.fsync { Durability::Fsync } else { Durability::Process },
            allow_in_place: self.allow_in_place,
            wait: self.wait,
            protected: match file {
                File::Below { .. } => protected_paths(self.deny_write.as_deref()),
                File::Opened(_) => Vec::new(),
            },
        }
    }
}

impl File<'_> {
    /// The path as the caller wrote it.
    #[must_use]
    pub fn display_path(&self) -> &str {
        match self {
            Self::Below { path, .. } => path,
            Self::Opened(target) => target.file.display_path(),
        }
    }

    /// The failure in the words of the door that the file came through.
    pub(crate) fn unfinished(&self, error: impl Into<Unfinished>) -> Unfinished {
        match self {
            Self::Below { .. } => error.into(),
            Self::Opened(_) => error.into().for_session(),
        }
    }

    /// Makes `bytes` the content; true when an opened file did not exist before.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        publish: &Publish,
        cancel: &AtomicBool,
    ) -> Result<bool, FsError> {
        let options = publish.options(*self);
        match self {
            Self::Below { root, path } => {
                toolwright_fs::write(&root.open()?, path, bytes, &options, cancel)?;
                Ok(false)
            }
            Self::Opened(target) => target.file.write(bytes, &options, cancel),
        }
    }

    /// Replaces the content by what `transform` makes of it.
    pub(crate) fn update<E>(
        &self,
        limit_bytes: u64,
        publish: &Publish,
        cancel: &AtomicBool,
        transform: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<(), UpdateError<E>> {
        let options = publish.options(*self);
        match self {
            Self::Below { root, path } => {
                let root = root.open()?;
                toolwright_fs::update(&root, path, limit_bytes, &options, cancel, transform)
            }
            Self::Opened(target) => target.file.update(limit_bytes, &options, cancel, transform),
        }
        .map(drop)
    }
}
