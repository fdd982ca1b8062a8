//! The one error type of this crate: what happened, and to which path.

use std::time::Duration;
use std::{fmt, io};

use rustix::io::Errno;
use toolwright_names::printable;

use crate::errno::{errno_name, reason_of};
use crate::file_kind::FileKind;
use crate::grant::RootChange;

/// The operation of [`FsErrorKind::Io`] that can fail with the old content half overwritten.
pub const WRITE_IN_PLACE: &str = "writing in place";
/// The operation of [`FsErrorKind::Io`] that can fail with the new content already in its place.
pub const SYNC_DIRECTORY: &str = "syncing the directory";
/// The operation of [`FsErrorKind::Io`] that fails with some files of a change set changed. The next
/// call below the root tries it again.
pub const PUT_BACK: &str = "putting the files back";
/// The operation of [`FsErrorKind::Io`] that fails where `/proc` is not mounted.
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

/// How a path belongs to what git runs and obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitRule {
    /// A name in it is one that git, on some file system, takes for `.git`.
    Name,
    /// It lies in a directory that git takes for its own, under whatever name.
    Below,
    /// With it, git would take its directory for its own.
    Completes,
    /// A directory of git lies in it.
    Around,
}

impl GitRule {
    /// The rule in words, for the end of a sentence.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Name => "git takes a name in it for its own directory",
            Self::Below => "it lies in a directory that git takes for a repository",
            Self::Completes => "git would take its directory for a repository",
            Self::Around => "a directory of git lies in it",
        }
    }
}

/// What went wrong with a file below a root.
///
/// Nothing is changed on disk when one of these is returned, with three exceptions, which
/// [`FsErrorKind::Io`] names: [`WRITE_IN_PLACE`] (which has to be allowed) may fail half-way,
/// [`SYNC_DIRECTORY`] may fail after the new content is there, and [`PUT_BACK`] may leave some of
/// several files changed.
#[derive(Debug)]
pub struct FsError {
    /// What went wrong.
    pub kind: FsErrorKind,
    /// The path as the caller wrote it, or the root as configured where that cannot be used. Empty
    /// if the caller cancelled.
    pub path: String,
}

/// Everything that can go wrong with a file below a root.
#[derive(Debug)]
pub enum FsErrorKind {
    /// The path is empty, holds a NUL byte, is too long, or names a directory by its form.
    PathInvalid {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path leaves the root, at its end or at any step on the way.
    Escape {
        /// True when a symbolic link led outside.
        via_link: bool,
    },
    /// The file is protected, lies below a protected path, or above one.
    Protected {
        /// The protected path, as the host wrote it.
        protected: String,
    },
    /// It is part of a directory that git takes for its own, or would make one.
    Git {
        /// What it is.
        rule: GitRule,
    },
    /// The file belongs to an open journal or thread store of this process.
    Reserved,
    /// Nothing exists there.
    NotFound,
    /// Something exists there, where a change set creates a file.
    Exists,
    /// A change set has more files than it may have.
    TooManyFiles {
        /// The number of files.
        count: usize,
        /// The limit in force.
        limit: usize,
    },
    /// Something other than a regular file is there.
    NotAFile {
        /// What it is.
        kind: FileKind,
    },
    /// A component on the way, or the path itself where a directory is needed, is no directory.
    NotADirectory,
    /// The operating system refused access.
    Permission {
        /// What was attempted.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// More bytes than the limit allows.
    TooLarge {
        /// The size found.
        bytes: u64,
        /// The limit in force.
        limit: u64,
        /// True when it is the result of an edit that is too large, not the file as it was.
        result: bool,
    },
    /// The file changed between reading and publishing.
    Conflict,
    /// Other calls held the same file for too long.
    Busy {
        /// How long this call waited.
        waited: Duration,
    },
    /// The file can be overwritten only in place, which was not allowed.
    NotReplaceable {
        /// Why.
        refusal: Refusal,
        /// The system's error.
        source: io::Error,
    },
    /// The root directory itself cannot be opened.
    Root {
        /// The system's error.
        source: io::Error,
    },
    /// A granted directory is not the one that was granted.
    RootChanged {
        /// Which grant it is: the name of the option.
        grant: String,
        /// What is there now.
        now: RootChange,
    },
    /// A granted fork has more bytes than it may.
    ForkFull {
        /// How many it may have.
        limit: u64,
    },
    /// Any other failure of the system: a full disk, too many open files, a failing device.
    Io {
        /// What was attempted.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The caller cancelled.
    Cancelled,
}

impl FsErrorKind {
    /// This error, at a path as the caller wrote it.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> FsError {
        FsError { kind: self, path: path.into() }
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FsErrorKind as Kind;
        let Self { kind, path } = self;
        let (summary, path) = (self.summary(), printable(path.as_bytes()));
        match kind {
            Kind::Cancelled => return f.write_str("cancelled"),
            Kind::RootChanged { grant, .. } => write!(f, "{summary}: {grant} `{path}`")?,
            _ => write!(f, "{summary}: `{path}`")?,
        }
        match kind {
            Kind::Protected { protected } => {
                write!(f, ", by `{}`", printable(protected.as_bytes()))
            }
            Kind::Git { rule } => write!(f, ": {}", rule.reason()),
            Kind::Reserved => f.write_str(" belongs to an open journal or thread store"),
            Kind::NotAFile { kind } => write!(f, " is {}", kind.word()),
            Kind::Permission { operation, .. } | Kind::Io { operation, .. } => {
                write!(f, ", {operation}")
            }
            Kind::TooLarge { limit, .. } | Kind::ForkFull { limit } => {
                write!(f, ", limit {limit} bytes")
            }
            Kind::TooManyFiles { limit, .. } => write!(f, ", limit {limit} files"),
            Kind::Busy { waited } => write!(f, ", waited {} ms", waited.as_millis()),
            Kind::NotReplaceable { refusal, .. } => write!(f, ", {}", refusal.reason()),
            Kind::RootChanged { now, .. } => write!(f, ", {}", now.reason()),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for FsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.system_error().map(|error| error as _)
    }
}

impl FsError {
    /// What happened, beginning with the words the documents use, without the path.
    #[must_use]
    pub fn summary(&self) -> String {
        use FsErrorKind as Kind;
        let (words, source) = match &self.kind {
            Kind::PathInvalid { reason } => (*reason, None),
            Kind::Escape { via_link: false } => ("Path escapes sandbox root", None),
            Kind::Escape { via_link: true } => ("Path escapes sandbox root (via symlink)", None),
            Kind::Protected { .. } | Kind::Git { .. } | Kind::Reserved => {
                ("Path is protected", None)
            }
            Kind::NotFound => ("File not found", None),
            Kind::Exists => ("File already exists", None),
            Kind::TooManyFiles { count, .. } => return format!("Too many files ({count})"),
            Kind::NotAFile { .. } => ("Not a regular file", None),
            Kind::NotADirectory => ("Not a directory", None),
            Kind::Permission { source, .. } => ("Permission denied", Some(source)),
            Kind::TooLarge { bytes, .. } => return format!("File too large ({bytes} bytes)"),
            Kind::Conflict => ("File changed while it was being edited", None),
            Kind::Busy { .. } => ("File is busy with other calls", None),
            Kind::NotReplaceable { source, .. } => {
                ("File cannot be replaced atomically", Some(source))
            }
            Kind::Root { source } => ("Root directory cannot be opened", Some(source)),
            Kind::RootChanged { .. } => ("A granted directory was replaced", None),
            Kind::ForkFull { .. } => ("The fork is full", None),
            Kind::Io { operation, .. } if *operation == NAME_DESCRIPTOR => {
                ("The file system /proc is not mounted", None)
            }
            Kind::Io { source, .. } => ("File operation failed", Some(source)),
            Kind::Cancelled => ("Cancelled", None),
        };
        match source {
            Some(source) => format!("{words} ({})", reason_of(source)),
            None => words.to_owned(),
        }
    }

    /// The path as the caller wrote it (the root's own, where the root cannot be used).
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        (!matches!(self.kind, FsErrorKind::Cancelled)).then_some(&self.path)
    }

    /// The system's error name (such as `ENOSPC`), where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<&'static str> {
        Errno::from_io_error(self.system_error()?).and_then(errno_name)
    }

    fn system_error(&self) -> Option<&io::Error> {
        match &self.kind {
            FsErrorKind::Permission { source, .. }
            | FsErrorKind::NotReplaceable { source, .. }
            | FsErrorKind::Root { source }
            | FsErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }

    /// A failure of the system at `path`.
    pub(crate) fn io(path: &str, operation: &'static str, source: impl Into<io::Error>) -> Self {
        FsErrorKind::Io { operation, source: source.into() }.at(path)
    }

    /// Sorts a system error at `path` into the kind that tells the caller most.
    pub(crate) fn at(path: &str, operation: &'static str, errno: Errno) -> Self {
        use FsErrorKind as Kind;
        let kind = match errno {
            Errno::NOENT => Kind::NotFound,
            Errno::NOTDIR => Kind::NotADirectory,
            Errno::ISDIR => Kind::NotAFile { kind: FileKind::Directory },
            Errno::NAMETOOLONG => {
                return Kind::PathInvalid { reason: "Path is too long" }.at(shortened(path));
            }
            Errno::LOOP => Kind::PathInvalid { reason: "Path has too many symbolic links" },
            Errno::ACCESS | Errno::PERM | Errno::ROFS => {
                Kind::Permission { operation, source: errno.into() }
            }
            _ => Kind::Io { operation, source: errno.into() },
        };
        kind.at(path)
    }
}

/// Long paths are quoted by their beginning only.
pub(crate) fn shortened(path: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    match path.char_indices().nth(MAX_CHARACTERS) {
        Some((at, _)) => format!("{}…", path.get(..at).unwrap_or(path)),
        None => path.to_owned(),
    }
}
