//! What can go wrong with checkpoints.

use std::io;
use std::path::{Path, PathBuf};

use toolwright_names::{printable, printable_path};
use toolwright_sqlite::{SqliteError, SqliteErrorKind, TxError};

/// Why an operation on checkpoints failed. Unless the variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The database of the store.
    #[error("{}", .0.to_string())]
    Store(#[from] SqliteError),
    /// The directory cannot be opened or listed.
    #[error("{}: {source}", printable_path(path))]
    Root {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store would lie in the directory that it keeps.
    #[error("{} lies in {}", printable_path(store), printable_path(root))]
    StoreInside {
        /// The store.
        store: PathBuf,
        /// The directory.
        root: PathBuf,
    },
    /// The store keeps another directory.
    #[error(
        "{} keeps {}, not {}",
        printable_path(store),
        printable_path(kept),
        printable_path(root)
    )]
    OtherRoot {
        /// The store.
        store: PathBuf,
        /// The directory that it keeps.
        kept: PathBuf,
        /// The directory that was asked for.
        root: PathBuf,
    },
    /// There is no checkpoint with this number, or it was removed.
    #[error("checkpoint {id} is not in the store")]
    NoCheckpoint {
        /// The number.
        id: i64,
    },
    /// No changes are known of this call or turn.
    #[error("nothing is known of the {kind} `{name}`")]
    NoWindow {
        /// `call` or `turn`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Somebody else changed what would be restored.
    #[error("{} of the files were changed by somebody else", conflicts.len())]
    Conflicts {
        /// The paths, and why each is refused.
        conflicts: Vec<Conflict>,
    },
    /// The files are more than the store may keep.
    #[error("{needed} bytes are needed, and {limit} allowed")]
    TooLarge {
        /// The bytes of the files as the store keeps them.
        needed: u64,
        /// The most that it may keep.
        limit: u64,
    },
    /// A pattern of the options is none.
    #[error("{pattern}: {message}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// A path does not lie in the directory.
    #[error("{} lies outside", printable(path.as_bytes()))]
    Outside {
        /// The path.
        path: String,
    },
    /// A file or directory could not be prepared for its restoration.
    #[error("{}: {operation}: {source}", printable_path(path))]
    File {
        /// Its path, relative to the directory.
        path: PathBuf,
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The caller cancelled it.
    #[error("cancelled")]
    Cancelled,
}

/// A path that is not restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path, relative to the directory.
    pub path: PathBuf,
    /// Why.
    pub reason: ConflictReason,
}

/// Why a path is not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// Somebody else changed it since the checkpoint.
    ChangedByOthers,
    /// A later call changed it again.
    ChangedLater,
    /// It changed while it was being restored.
    ChangedMeanwhile,
    /// Something that checkpoints do not keep is in its place. It is never overwritten.
    Occupied,
}

impl ConflictReason {
    /// A name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChangedByOthers => "changed-by-others",
            Self::ChangedLater => "changed-later",
            Self::ChangedMeanwhile => "changed-meanwhile",
            Self::Occupied => "occupied",
        }
    }
}

pub(crate) type Result<T, E = CheckpointError> = std::result::Result<T, E>;

/// An error within a transaction.
pub(crate) type Tx<T> = std::result::Result<T, TxError<CheckpointError>>;

pub(crate) fn abort<T>(error: CheckpointError) -> Tx<T> {
    Err(TxError::Abort(error))
}

impl From<CheckpointError> for TxError<CheckpointError> {
    fn from(error: CheckpointError) -> Self {
        Self::Abort(error)
    }
}

/// What the store holds is damaged.
pub(crate) fn corrupt(store: &Path, what: &str) -> CheckpointError {
    SqliteErrorKind::Corrupt.because(store, what).into()
}
