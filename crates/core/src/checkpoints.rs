//! Checkpoints: opening a store, comparing with the tree as it is, coming back to a checkpoint, a call or a
//! turn.

pub mod report;
mod request;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sha2::{Digest, Sha256};
use toolwright_checkpoints::{
    Checkpoints, Diff, Options, Origin, Progress, Restore, Restored, Take, Taken, WindowKind,
};
use toolwright_sandbox::policy::state_directory;

pub use request::limits;

use crate::failure::{Failure, Unfinished};

/// The bytes of a hash in the name of a store.
const HASH_BYTES: usize = 8;

/// A store to be opened.
#[derive(Debug, Clone)]
pub struct OpenInput {
    /// The directory that it keeps.
    pub root: PathBuf,
    /// The directory of the store; `None` for one of the user's, named after the root.
    pub store: Option<PathBuf>,
    /// How it is used.
    pub options: Options,
}

impl OpenInput {
    /// Opens it.
    pub fn run(self) -> Result<Checkpoints, Unfinished> {
        let store = match self.store {
            Some(store) => store,
            None => default_store(&self.root)?,
        };
        Ok(Checkpoints::open(&self.root, &store, self.options)?)
    }
}

/// Below `$XDG_STATE_HOME`, or `~/.local/state`: what should stay, and is nobody's configuration.
fn default_store(root: &Path) -> Result<PathBuf, Failure> {
    let state = state_directory().ok_or_else(Failure::no_place_for_checkpoints)?;
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let hash = Sha256::digest(real.as_os_str().as_bytes());
    let mut name = real.file_name().map_or_else(|| OsString::from("root"), OsString::from);
    name.push("-");
    for byte in &hash[..HASH_BYTES] {
        name.push(format!("{byte:02x}"));
    }
    Ok(state.join("checkpoints").join(name))
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct DiffInput {
    /// The earlier checkpoint, as a rule.
    pub from: i64,
    /// The later one; `None` for the tree as it is, of which a checkpoint is taken if it has changed.
    pub to: Option<i64>,
    /// The most bytes of the texts; none at all without it.
    pub max_text_bytes: Option<usize>,
}

impl DiffInput {
    /// Compares.
    pub fn run(
        self,
        checkpoints: &Checkpoints,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Diff, Unfinished> {
        let Self { from, to, max_text_bytes } = self;
        let to = match to {
            Some(to) => to,
            None => checkpoints.look(cancel, progress)?.id,
        };
        Ok(checkpoints.diff(from, to, max_text_bytes)?)
    }
}

/// Where to come back to.
#[derive(Debug, Clone)]
pub enum RestoreTarget {
    /// A checkpoint.
    Checkpoint(i64),
    /// The state before a call, as far as the call has changed it.
    Call(String),
    /// The state before a turn, as far as the turn has changed it.
    Turn(String),
}

/// What is restored.
#[derive(Debug, Clone)]
pub struct RestoreInput {
    /// Where to come back to.
    pub target: RestoreTarget,
    /// Only these paths and what is below them; all if there are none.
    pub paths: Vec<String>,
    /// Find out what would be done, and change nothing.
    pub dry_run: bool,
    /// Restore what somebody else has changed too.
    pub force: bool,
    /// A name for the restoration, by which it can be undone.
    pub call: Option<String>,
}

impl RestoreInput {
    /// Restores.
    pub fn run(
        &self,
        checkpoints: &Checkpoints,
        cancel: &AtomicBool,
        progress: &Progress,
    ) -> Result<Restored, Unfinished> {
        let Self { paths, dry_run, force, call, .. } = self;
        let window = |kind, name| {
            // A call whose process was killed ends with this.
            checkpoints.look(cancel, progress)?;
            let (first, last) = checkpoints.window(kind, name)?;
            Ok::<_, Unfinished>((first, Some(last)))
        };
        let (target, until) = match &self.target {
            RestoreTarget::Checkpoint(id) => (*id, None),
            RestoreTarget::Call(name) => window(WindowKind::Call, name)?,
            RestoreTarget::Turn(name) => window(WindowKind::Turn, name)?,
        };
        let restore = Restore { target, until, paths, dry_run: *dry_run, force: *force };
        Ok(checkpoints.restore(restore, call.as_deref(), cancel, progress)?)
    }
}

/// Takes a checkpoint for its caller, whose the changes since the last one are.
pub fn take(
    checkpoints: &Checkpoints,
    label: Option<&str>,
    cancel: &AtomicBool,
    progress: &Progress,
) -> Result<Taken, Unfinished> {
    let take = Take { origin: Origin::Ours, label, reuse: false };
    Ok(checkpoints.take(take, cancel, progress)?)
}
