//! What a command has changed of what git obeys: what of it did not reach the host, and what is there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use toolwright_git::import::Note as GitNote;

/// What was not carried over to one file, or was found there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitReport {
    /// The file, from the root on if it lies below it.
    pub file: PathBuf,
    /// Settings that may run programs or lead elsewhere.
    pub refused: Vec<String>,
    /// Settings that somebody else has changed too.
    pub changed_meanwhile: Vec<String>,
    /// Settings of a repository below the root that may run programs or lead elsewhere. They are new, and
    /// were left as they are.
    pub obeyed: Vec<String>,
    /// Files beside it, or in it, that programs on the host would run or obey. They are new or changed, and
    /// were left as they are.
    pub left: Vec<String>,
    /// Files beside it, or in it, that programs on the host would run or obey. They have another name now.
    pub disabled: Vec<String>,
    /// Why nothing was carried over at all.
    pub problem: Option<GitProblem>,
    /// What there is to know about a repository of which the command had a fork.
    pub of_fork: Option<GitNote>,
}

impl GitReport {
    pub(crate) fn of_fork(repository: &Path, note: GitNote) -> Self {
        Self { file: repository.to_owned(), of_fork: Some(note), ..Self::default() }
    }
}

/// Why nothing of a file was carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitProblem {
    /// It is none that git reads, or is too long.
    Unreadable,
    /// As `Unreadable`, of a file that was left as it is.
    Unjudged,
    /// There are too many changes.
    TooMany,
    /// Commands go on in a repository that is not in its place yet.
    InUse,
    /// The lock beside it is held, or was left behind.
    Locked,
    /// It has a second name.
    HasTwin,
    /// The system refused it, with this error number.
    NotWritten(i32),
}

/// Collects the reports of one command, however that ends.
#[derive(Debug, Default)]
pub struct GitReports(Mutex<Vec<GitReport>>);

impl GitReports {
    /// The reports so far.
    #[must_use]
    pub fn take(&self) -> Vec<GitReport> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, reports: Vec<GitReport>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(reports);
    }
}
