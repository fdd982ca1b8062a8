//! Forks of a directory for a host: opening, comparing, applying, discarding.

#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod report;
mod request;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub use kept::{Forked, collect, list};
pub use request::{directory, max_age_ms};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Forked, collect, list};

/// A fork to be made or opened.
#[derive(Debug, Clone, Default)]
pub struct OpenInput {
    /// The directory to fork; without one, the fork of the name `id` is opened.
    pub base: PathBuf,
    /// The directory of the store; `None` for the user's.
    pub store: Option<PathBuf>,
    /// A name for people.
    pub label: Option<String>,
    /// The name of a fork that was made before.
    pub id: Option<String>,
    /// How many bytes its changes may have; `None` for as many as before, or the default.
    pub max_bytes: Option<u64>,
}

/// What is asked of a fork that no program has open.
#[derive(Debug, Clone)]
pub struct StoredInput {
    /// The directory of the store; `None` for the user's.
    pub store: Option<PathBuf>,
    /// The name of the fork.
    pub id: String,
    /// What to do with it.
    pub action: Action,
}

/// What is applied.
#[derive(Debug, Clone, Default)]
pub struct ApplyInput {
    /// These paths and what is below them; all if there are none.
    pub paths: Vec<String>,
    /// Only tell what would be done.
    pub dry_run: bool,
    /// Take what both sides have changed for a conflict, also where the lines are different ones.
    pub refuse_merges: bool,
}

/// What to do with a fork.
#[derive(Debug, Clone)]
pub enum Action {
    /// Tell what has changed, with a diff of at most this many bytes.
    Compare(Option<usize>),
    /// Apply changes.
    Apply(ApplyInput),
    /// Take the last apply back.
    Undo,
    /// Throw it away.
    Discard,
}
