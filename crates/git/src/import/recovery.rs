//! Going on with what a killed host has begun, in a repository and in its submodules.

use std::io;
use std::path::Path;

use super::area;
use super::modules::{self, MAX_DEPTH, MAX_MODULES};
use super::new_repository::{self, Found};
use crate::directory::Directory;
use crate::transaction;

/// Finishes what killed processes have begun in a git directory, or takes it back: repositories that were
/// being made, and transactions. What failed in one submodule does not keep others from being looked at.
///
/// An import does the same first where it writes. This is for a host that begins, and for the process that
/// outlives one, because a lock that was left keeps a person's git out.
pub fn recover(git: &Directory) -> io::Result<Found> {
    recover_within(git, MAX_DEPTH)
}

fn recover_within(git: &Directory, depth: usize) -> io::Result<Found> {
    let found = new_repository::recover(git)?;
    transaction::recover(git)?;
    if depth == 0 {
        return Ok(found);
    }
    let is_module = |path: &Path, directory: &Directory| {
        modules::is_begun(path, directory) || new_repository::is_begun(directory)
    };
    let mut failure = None;
    let linked = area::Before::linked(git)?;
    for path in modules::find(git, &linked, MAX_MODULES, is_module)?.modules {
        let Ok(Some(module)) = git.below(&path) else { continue };
        match recover_within(&module, depth - 1) {
            Ok(Found::TakenBack) => modules::remove_empty(git, &path),
            Ok(_) => {}
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(found), Err)
}
