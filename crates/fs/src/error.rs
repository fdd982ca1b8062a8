//! The one error type of this crate: what happened, and to which path.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use crate::errno::{errno_name, reason_of};
use crate::file_kind::FileKind;
use crate::grant::Replaced;

/// The operation of [`FsError::Io`] that can fail with the old content half overwritten.
pub const WRITE_IN_PLACE: &str = "writing in place";
/// The operation of [`FsError::Io`] that can fail with the new content already in its place.
pub const SYNC_DIRECTORY: &str = "syncing the directory";
/// The operation of [`FsError::Io`] that fails where `/proc` is not mounted.
pub const NAME_DESCRIPTOR: &str = "asking for the name of what is open";

/// Why a file cannot be replaced atomically although its bytes could be overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No file can be created in the directory, so there is nowhere for the new bytes to wait.
    DirectoryNotWritable,
    /// The file belongs to another user or group that this process may not give files to.
    OwnerNotKeepable,
    /// An extended attribute or access list could not be carried over.
    AttributesNotKeepable,
    /// The file is a mount point of its own (a bind mount), which cannot be renamed over.
    MountPoint,
}

impl Refusal {
    fn reason(self) -> &'static str {
        match self {
            Self::DirectoryNotWritable => "its directory is not writable",
            Self::OwnerNotKeepable => "its owner or group could not be kept",
            Self::AttributesNotKeepable => "its extended attributes could not be kept",
            Self::MountPoint => "it is a mount point (a bind-mounted file)",
        }
    }
}

/// Everything that can go wrong with a file below a root.
///
/// `path` is always the path as the caller wrote it. Nothing is changed on disk when one of these
/// is returned, with two exceptions, which [`FsError::Io`] names: [`WRITE_IN_PLACE`] (which has to
/// be allowed) may fail half-way, and [`SYNC_DIRECTORY`] may fail after the new content is there.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The path is empty, holds a NUL byte, is too long, or names a directory by its form.
    #[error("{summary}: `{path}`", summary = self.summary())]
    PathInvalid {
        /// The path as written.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path leaves the root, at its end or at any step on the way.
    #[error("{summary}: `{path}`", summary = self.summary())]
    Escape {
        /// The path as written.
        path: String,
        /// True when a symbolic link led outside.
        via_link: bool,
    },
    /// The file is protected, lies below a protected path, or above one.
    #[error("{summary}: `{path}`, by `{protected}`", summary = self.summary())]
    Protected {
        /// The path as written.
        path: String,
        /// The protected path, as the host wrote it.
        protected: String,
    },
    /// The file belongs to an open journal or thread store of this process.
    #[error("{summary}: `{path}` belongs to an open journal or thread store", summary = self.summary())]
    Reserved {
        /// The path as written.
        path: String,
    },
    /// Nothing exists there.
    #[error("{summary}: `{path}`", summary = self.summary())]
    NotFound {
        /// The path as written.
        path: String,
    },
    /// Something other than a regular file is there.
    #[error("{summary}: `{path}` is {kind}", summary = self.summary(), kind = kind.word())]
    NotAFile {
        /// The path as written.
        path: String,
        /// What it is.
        kind: FileKind,
    },
    /// A component on the way, or the path itself where a directory is needed, is no directory.
    #[error("{summary}: `{path}`", summary = self.summary())]
    NotADirectory {
        /// The path as written.
        path: String,
    },
    /// The operating system refused access.
    #[error("{summary}: `{path}`, {operation}", summary = self.summary())]
    Permission {
        /// The path as written.
        path: String,
        /// What was attempted.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// More bytes than the limit allows.
    #[error("{summary}: `{path}`, limit {limit} bytes", summary = self.summary())]
    TooLarge {
        /// The path as written.
        path: String,
        /// The size found.
        bytes: u64,
        /// The limit in force.
        limit: u64,
        /// True when it is the result of an edit that is too large, not the file as it was.
        result: bool,
    },
    /// The file changed between reading and publishing.
    #[error("{summary}: `{path}`", summary = self.summary())]
    Conflict {
        /// The path as written.
        path: String,
    },
    /// Other calls held the same file for too long.
    #[error("{summary}: `{path}`, waited {waited_ms} ms", summary = self.summary(), waited_ms = waited.as_millis())]
    Busy {
        /// The path as written.
        path: String,
        /// How long this call waited.
        waited: Duration,
    },
    /// The file can be overwritten only in place, which was not allowed.
    #[error("{summary}: `{path}`, {reason}", summary = self.summary(), reason = refusal.reason())]
    NotReplaceable {
        /// The path as written.
        path: String,
        /// Why.
        refusal: Refusal,
        /// The system's error.
        source: io::Error,
    },
    /// The root directory itself cannot be opened.
    #[error("{summary}: `{path}`", summary = self.summary())]
    Root {
        /// The root as configured.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A granted directory is not the one that was granted.
    #[error("{summary}: {grant} `{path}`, {}", now.says(), summary = self.summary())]
    RootChanged {
        /// Which grant it is: the name of the option.
        grant: String,
        /// The directory as configured.
        path: String,
        /// What is there now.
        now: Replaced,
    },
    /// Any other failure of the system: a full disk, too many open files, a failing device.
    #[error("{summary}: `{path}`, {operation}", summary = self.summary())]
    Io {
        /// The path as written.
        path: String,
        /// What was attempted.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl FsError {
    /// What happened, beginning with the words the documents use, without the path.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::PathInvalid { reason, .. } => (*reason).to_owned(),
            Self::Escape { via_link: false, .. } => "Path escapes sandbox root".to_owned(),
            Self::Escape { via_link: true, .. } => {
                "Path escapes sandbox root (via symlink)".to_owned()
            }
            Self::Protected { .. } | Self::Reserved { .. } => "Path is protected".to_owned(),
            Self::NotFound { .. } => "File not found".to_owned(),
            Self::NotAFile { .. } => "Not a regular file".to_owned(),
            Self::NotADirectory { .. } => "Not a directory".to_owned(),
            Self::Permission { source, .. } => format!("Permission denied ({})", reason_of(source)),
            Self::TooLarge { bytes, .. } => format!("File too large ({bytes} bytes)"),
            Self::Conflict { .. } => "File changed while it was being edited".to_owned(),
            Self::Busy { .. } => "File is busy with other calls".to_owned(),
            Self::NotReplaceable { source, .. } => {
                format!("File cannot be replaced atomically ({})", reason_of(source))
            }
            Self::Root { source, .. } => {
                format!("Root directory cannot be opened ({})", reason_of(source))
            }
            Self::Io { operation, .. } if *operation == NAME_DESCRIPTOR => {
                "The file system /proc is not mounted".to_owned()
            }
            Self::RootChanged { .. } => "A granted directory was replaced".to_owned(),
            Self::Io { source, .. } => format!("File operation failed ({})", reason_of(source)),
            Self::Cancelled => "Cancelled".to_owned(),
        }
    }

    /// The path as the caller wrote it (the root's own, where the root is the trouble).
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::PathInvalid { path, .. }
            | Self::Escape { path, .. }
            | Self::Protected { path, .. }
            | Self::Reserved { path }
            | Self::NotFound { path }
            | Self::NotAFile { path, .. }
            | Self::NotADirectory { path }
            | Self::Permission { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Conflict { path }
            | Self::Busy { path, .. }
            | Self::NotReplaceable { path, .. }
            | Self::Root { path, .. }
            | Self::RootChanged { path, .. }
            | Self::Io { path, .. } => Some(path),
            Self::Cancelled => None,
        }
    }

    /// The system's error name (such as `ENOSPC`), where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<&'static str> {
        let (Self::Permission { source, .. }
        | Self::NotReplaceable { source, .. }
        | Self::Root { source, .. }
        | Self::Io { source, .. }) = self
        else {
            return None;
        };
        Errno::from_io_error(source).and_then(errno_name)
    }

    /// Sorts a system error at `path` into the variant that tells the caller most.
    pub(crate) fn at(path: &str, operation: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ISDIR => Self::NotAFile { path, kind: FileKind::Directory },
            Errno::NAMETOOLONG => {
                Self::PathInvalid { path: shortened(&path), reason: "Path is too long" }
            }
            Errno::LOOP => Self::PathInvalid { path, reason: "Path has too many symbolic links" },
            Errno::ACCESS | Errno::PERM | Errno::ROFS => {
                Self::Permission { path, operation, source: errno.into() }
            }
            _ => Self::Io { path, operation, source: errno.into() },
        }
    }
}

/// Long paths are quoted by their beginning only.
pub(crate) fn shortened(path: &str) -> String {
    const SHOWN: usize = 200;
    match path.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", path.get(..at).unwrap_or(path)),
        None => path.to_owned(),
    }
}
