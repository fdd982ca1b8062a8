//! What a command has changed of what git obeys, and what of it did not reach the host.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub use toolwright_git::note::Note as GitNote;
pub use toolwright_sandbox::refused_git::RefusedGit;

/// What there is to know after a command. Paths below the root begin there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitReport {
    /// Of the changes to a repository.
    Repository {
        /// Its directory.
        path: PathBuf,
        /// What became of them.
        note: GitNote,
    },
    /// What programs on the host would run or obey has another name now.
    SetAside {
        /// Where it lies.
        directory: PathBuf,
        /// Its names before.
        names: Vec<String>,
    },
    /// What was in a directory that only commands fill lies in another one now.
    MovedOut {
        /// The directory, which is empty.
        from: PathBuf,
        /// The other one.
        to: PathBuf,
    },
    /// What programs on the host would run or obey is there still.
    Left {
        /// Where it lies.
        directory: PathBuf,
        /// Its names.
        names: Vec<String>,
        /// Why it has the same name.
        reason: String,
    },
    /// A strict plan did not let the command make this, or write to it. Paths below the root begin there.
    Refused(RefusedGit),
    /// The command has made a git directory, and others run still. Commands alone see it until none does.
    Unsettled,
    /// A host was killed while its commands ran here. What they have left was judged now: the reports of it follow.
    Killed,
    /// A host was killed while its commands ran here, and what they have left cannot be told from what a person has.
    KilledUnknown,
    /// Commands have no fork of a repository, because something ran out. They can read it.
    ReadOnly {
        /// Its directory.
        path: PathBuf,
        /// What the kernel said.
        reason: String,
    },
    /// A directory of hooks in the project was changed for commands alone.
    Hooks {
        /// The directory.
        directory: PathBuf,
        /// What was changed in it.
        names: Vec<String>,
    },
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
