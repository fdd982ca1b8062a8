//! A repository that a command has made.
//!
//! A command makes its git directory in memory, and the host has an empty directory in that place. What the
//! command made comes back as it would into an empty repository: the host makes one, and imports.
//!
//! All of it is written below `toolwright.new`. The name `toolwright.made` is the point of no return: what is
//! below it is moved to its place, `HEAD` last, because git takes nothing without a `HEAD` for a repository. No
//! command can write in the host's directory, so both names are the host's own.

mod borrowed_objects;
mod publish;
mod skeleton;

use crate::config::New;
use crate::directory::Directory;
use crate::refs::{self, Head};
use crate::upper::Upper;

use super::apply::NotWritten;
use super::modules::Budget;
use super::read::Failure;
use super::{Note, Snapshot, Terms, try_import};
use skeleton::Judged;

pub use publish::Found;
pub(super) use publish::{is_begun, recover};

/// What came of a repository that a command has made.
#[derive(Debug, Default)]
pub struct Made {
    /// Whether it is a repository of the host now. If not, the host's directory is as it was.
    pub is_made: bool,
    /// What a reader has to know.
    pub notes: Vec<Note>,
    /// Nothing was written, because another process is about to do the same.
    pub is_waiting: bool,
}

/// Makes a repository of what a command has made.
///
/// `git` is the host's own directory, which is empty, or has what a killed process has begun here. `content` is
/// what the command has made: every byte of it may be hostile. Either all of it is there afterwards, as far as
/// it is accepted, or the directory is empty.
#[must_use]
pub fn create(git: &Directory, content: &Directory, new: &New<'_>, terms: &Terms<'_>) -> Made {
    match make(git, content, new, terms, &mut Budget::all()) {
        Ok(Some(notes)) => Made { is_made: true, notes, is_waiting: false },
        Ok(None) => Made::default(),
        Err(NotWritten::Locked(path)) => {
            Made { is_made: false, notes: vec![Note::Locked(path)], is_waiting: true }
        }
        Err(NotWritten::Failed(failure)) => {
            let notes = vec![Note::Failed(failure.to_string())];
            Made { is_made: false, notes, is_waiting: false }
        }
    }
}

/// As [`create`]. `None`: the command has made nothing.
pub(super) fn make(
    git: &Directory,
    content: &Directory,
    new: &New<'_>,
    terms: &Terms<'_>,
    budget: &mut Budget,
) -> Result<Option<Vec<Note>>, NotWritten> {
    if content.entries(".", 1).is_ok_and(|entries| entries.is_none_or(|all| all.is_empty())) {
        return Ok(None);
    }
    let content = content.below(".").map_err(Failure::from)?;
    let content = content.ok_or_else(|| Failure::Unreadable("it is gone".to_owned()))?;
    let upper = Upper::from(content);
    let judged = Judged::read(&upper, new, terms)?;
    let Some(staging) = publish::begin(git)? else {
        return Err(NotWritten::Locked(publish::NEW.into()));
    };
    // Dropped without being published, the staging directory is removed.
    let notes = fill(staging.directory(), &upper, &judged, terms, budget)?;
    staging.publish()?;
    Ok(Some(notes))
}

fn fill(
    git: &Directory,
    upper: &Upper,
    judged: &Judged,
    terms: &Terms<'_>,
    budget: &mut Budget,
) -> Result<Vec<Note>, NotWritten> {
    judged.write(git)?;
    let mut snapshot =
        Snapshot::take(git).map_err(|error| Failure::Unreadable(error.to_string()))?;
    // The settings are there. What was refused is not to be named twice.
    snapshot.configs[0].clone_from(&judged.view);
    let mut notes = Vec::new();
    if !judged.refused.is_empty() {
        notes.push(Note::SettingsRefused(judged.refused.clone()));
    }
    budget.is_new = true;
    let imported = try_import(git, &snapshot, upper.directory(), terms, budget);
    budget.is_new = false;
    let imported = imported?;
    if let Some(reason) = imported.iter().find_map(failure) {
        return Err(Failure::Unreadable(reason).into());
    }
    notes.extend(imported);
    let is_wanted = |head: &Head| *head == judged.head;
    if !refs::read_head(git).as_ref().is_ok_and(is_wanted) {
        return Err(Failure::Unreadable("its HEAD is no commit that is there".to_owned()).into());
    }
    Ok(notes)
}

/// What was decided and could not be written. A submodule that failed is named by its own directory.
fn failure(note: &Note) -> Option<String> {
    let is_of_module = |reason: &str| {
        let tree = reason.strip_prefix("worktrees/").and_then(|rest| rest.split_once('/'));
        tree.map_or(reason, |(_, rest)| rest).starts_with("modules/")
    };
    match note {
        Note::Failed(reason) if !is_of_module(reason) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
