//! What a command has changed in its fork of a repository, brought back as data.
//!
//! The law: the repository changes as if the command had been a remote that was fetched from, and a work tree
//! that was edited. Everything is parsed, bounded and written anew. Nothing of the fork is copied as it is,
//! followed or obeyed, and git never has it as its own.

mod apply;
mod area;
mod changes;
mod generation;
mod indexes;
mod linked;
mod modules;
mod new_repository;
mod read;
mod recovery;
mod settings;
mod snapshot;
mod states;
mod template;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::database::Database;
use crate::directory::Directory;
use crate::transaction;
use crate::upper::Upper;
use apply::NotWritten;
use modules::{Budget, Which};
use read::{Failure, Received};

pub use crate::note::Note;
pub use changes::{has_changes, is_quiet};
pub use new_repository::{Found, Made, create};
pub use recovery::recover;
pub use snapshot::{NotTaken, Snapshot};

/// What decides about settings and addresses that come back.
pub struct Terms<'t> {
    /// Where the git directory lies.
    pub git: PathBuf,
    /// Where relative addresses begin: the top of the work tree, if there is one.
    pub top: Option<PathBuf>,
    /// Whether commands can write at a path.
    pub is_writable: Box<dyn Fn(&Path) -> bool + 't>,
    /// Whether commands can read at a path.
    pub is_readable: Box<dyn Fn(&Path) -> bool + 't>,
    /// Whether existing targets of fetches and pushes stay what they are.
    pub is_strict: bool,
    /// Whether no git directory that a command has written lies on the host. Then a submodule can be staged:
    /// git enters the directory of one that is.
    pub holds_git_directories: bool,
    /// Directories of objects of the host, each by the path that commands see and by the one where it lies. A
    /// repository that a command has made may borrow from these, and gets what they have.
    pub lent: Vec<(PathBuf, PathBuf)>,
}

impl fmt::Debug for Terms<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Terms").field("top", &self.top).finish_non_exhaustive()
    }
}

/// What came of the changes.
#[derive(Debug, Default)]
pub struct Imported {
    /// What a reader has to know.
    pub notes: Vec<Note>,
    /// Nothing was written, because another program holds a lock of the repository.
    pub is_waiting: bool,
}

/// Brings back what commands have changed in a fork of a repository.
///
/// Either everything that is accepted is written, or nothing is. A change that collides with another
/// program's is kept under another name, or left out, and noted.
#[must_use]
pub fn import(
    git: &Directory,
    snapshot: &Snapshot,
    changes: &Directory,
    terms: &Terms<'_>,
) -> Imported {
    match try_import(git, snapshot, changes, terms, &mut Budget::all()) {
        Ok(notes) => Imported { notes, is_waiting: false },
        Err(NotWritten::Locked(lock)) => {
            let mut name = lock.into_os_string();
            name.push(".lock");
            let name = name.into();
            Imported { notes: vec![Note::Locked(name)], is_waiting: true }
        }
        Err(NotWritten::Failed(failure)) => {
            Imported { notes: vec![Note::Failed(failure.to_string())], is_waiting: false }
        }
    }
}

fn try_import(
    git: &Directory,
    snapshot: &Snapshot,
    changes: &Directory,
    terms: &Terms<'_>,
    budget: &mut Budget,
) -> Result<Vec<Note>, NotWritten> {
    let work_tree = budget.work_tree.take();
    // What a host that was killed has begun is finished first.
    transaction::recover(git)?;
    let objects = git.below("objects").map_err(Failure::from)?;
    let objects = objects.ok_or_else(|| Failure::Unreadable("it has no objects".to_owned()))?;
    let database = Database::open(objects).map_err(Failure::from)?;
    let upper = changes.below(".").map_err(Failure::from)?;
    let upper = Upper::from(upper.ok_or_else(|| Failure::Unreadable("it is gone".to_owned()))?);
    let received = Received::read(git, &database, snapshot, &upper, terms)?;
    if budget.is_new {
        received.check_whole(git)?;
    }
    // A commit of a submodule comes before the one that names it.
    let brought = (&upper, &*received.areas);
    let mut notes = modules::import(git, snapshot, brought, terms, Which::Before, budget)?;
    notes.extend(apply::apply(
        git,
        snapshot,
        &upper,
        (&received, &database),
        terms,
        work_tree.as_deref(),
    )?);
    notes.extend(modules::import(git, snapshot, brought, terms, Which::OfNewTrees, budget)?);
    if !received.left_out.is_empty() {
        notes.push(Note::LeftOut(received.left_out));
    }
    Ok(notes)
}
