//! The three indexes: as commands saw it, as they left it, and as it is.

use std::path::Path;

use crate::directory::{Directory, ReadError};
use crate::index::{Index, IndexError, Limits, Reading, Source};
use crate::object::Id;

/// The content of an object or a file, by its name.
pub(super) type Lookup<'l> = dyn Fn(&Id) -> Option<Vec<u8>> + 'l;

/// Reads an index of a person.
pub(super) fn of_person(
    bytes: &[u8],
    shared: &Lookup<'_>,
    tree: &Lookup<'_>,
) -> Result<Index, IndexError> {
    Index::parse(bytes, &Reading { source: Source::Person, limits: Limits::PERSON, shared, tree })
}

/// Reads an index of a command, beside one of a person with so many bytes.
pub(super) fn of_command(
    bytes: &[u8],
    beside: usize,
    shared: &Lookup<'_>,
    tree: &Lookup<'_>,
) -> Result<Index, IndexError> {
    let limits = Limits::beside(beside);
    Index::parse(bytes, &Reading { source: Source::Command, limits, shared, tree })
}

/// The shared part of a split index, which lies beside it.
pub(super) fn shared(git: &Directory, prefix: &Path, id: &Id) -> Option<Vec<u8>> {
    git.read(prefix.join(format!("sharedindex.{id}")), Limits::PERSON.bytes as u64).ok()?
}

/// The bytes of an index.
pub(super) fn read(git: &Directory) -> Result<Option<Vec<u8>>, ReadError> {
    git.read("index", Limits::PERSON.bytes as u64)
}
