//! Forks where the system has overlays.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolwright_fork_store::{Apply, Fork, MAX_BYTES, OpenFork, Store};
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::policy::{forks_directory, presets};

use super::{Action, ApplyInput, OpenInput, StoredInput, report};
use crate::access::protected_list;
use crate::failure::{Failure, Unfinished};

/// A fork that tools work in.
#[derive(Debug)]
pub struct Forked(Mutex<Option<OpenFork>>);

impl Forked {
    /// Makes a fork, or opens one.
    pub fn open(input: &OpenInput) -> Result<Self, Unfinished> {
        let store = store(input.store.as_deref())?;
        let open = if let Some(id) = &input.id {
            store.reopen_with(id, input.max_bytes)?
        } else {
            let max_bytes = input.max_bytes.unwrap_or(MAX_BYTES);
            store.fork_of_size(&input.base, input.label.as_deref(), max_bytes)?
        };
        Ok(Self(Mutex::new(Some(open))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenFork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is, as JSON for programs.
    pub fn facts(&self) -> Result<String, Unfinished> {
        Ok(report::facts(self.lock().as_ref().ok_or_else(Failure::fork_is_closed)?.fork()))
    }

    /// What tools get in place of the directory; `None` once it is closed.
    #[must_use]
    pub fn grant(&self) -> Option<DirectoryGrant> {
        self.lock().as_ref().map(|open| open.granted("rootDir"))
    }

    /// Compares it, or applies it.
    pub fn act(&self, action: &Action, cancel: &AtomicBool) -> Result<String, Unfinished> {
        let mut open = self.lock();
        match action {
            Action::Discard => {
                let open = open.take().ok_or_else(Failure::fork_is_closed)?;
                open.discard()?;
                Ok("null".to_owned())
            }
            action => {
                let open = open.as_ref().ok_or_else(Failure::fork_is_closed)?;
                act(open.fork(), action, cancel)
            }
        }
    }

    /// Leaves it as a process does that ends. It stays in the store, and its changes may not be on the disk yet.
    pub fn leave(&self) {
        if let Some(open) = self.lock().take() {
            let _ = open.fork().settle();
        }
    }

    /// Closes it. It stays in the store.
    pub fn close(&self) -> Result<(), Unfinished> {
        let open = self.lock().take();
        if let Some(open) = open {
            open.close()?;
        }
        Ok(())
    }
}

fn act(fork: &Fork, action: &Action, cancel: &AtomicBool) -> Result<String, Unfinished> {
    match action {
        Action::Compare(None) => Ok(report::status(&fork.changes()?)),
        Action::Compare(Some(max)) => {
            let (changes, diff) = fork.diff(*max)?;
            Ok(report::diff(&changes, &diff))
        }
        Action::Apply(ApplyInput { paths, dry_run, refuse_merges }) => {
            let (dry_run, refuse_merges) = (*dry_run, *refuse_merges);
            let applied = fork.apply(Apply { paths, dry_run, refuse_merges }, cancel)?;
            Ok(report::applied(&applied))
        }
        Action::Undo => Ok(report::undone(&fork.undo(cancel)?)),
        Action::Discard => Ok("null".to_owned()),
    }
}

impl StoredInput {
    /// Does it.
    pub fn run(&self, cancel: &AtomicBool) -> Result<String, Unfinished> {
        let store = store(self.store.as_deref())?;
        match &self.action {
            Action::Discard => store.discard(&self.id)?,
            Action::Undo => return Ok(report::undone(&store.undo(&self.id, cancel)?)),
            action @ Action::Compare(_) => return act(&store.look(&self.id)?, action, cancel),
            action @ Action::Apply(..) => return act(&store.take(&self.id)?, action, cancel),
        }
        Ok("null".to_owned())
    }
}

/// The forks of a store, and only those of `base` if there is one, as JSON for programs.
pub fn list(place: Option<&Path>, base: Option<&Path>) -> Result<String, Unfinished> {
    let base = base.map(|base| base.canonicalize().unwrap_or_else(|_| base.to_owned()));
    Ok(report::list(&store(place)?.list(base.as_deref())?))
}

/// Removes forks that nobody needs.
pub fn collect(place: Option<&Path>, max_age_ms: Option<u64>) -> Result<String, Unfinished> {
    Ok(report::collected(&store(place)?.collect(max_age_ms)?))
}

fn store(place: Option<&Path>) -> Result<Store, Unfinished> {
    let place = match place {
        Some(place) => place.to_owned(),
        None => forks_directory().ok_or_else(Failure::no_place_for_forks)?,
    };
    // What the tools of agents do not write either, unless somebody names it.
    let protected = presets::expand(&protected_list(None));
    Ok(Store::open(&place, protected)?)
}
