//! The objects that a repository has.
//!
//! These are the person's own files, and so are the directories of other repositories that they name. Even
//! so nothing here waits or follows a link: a directory of another repository may lie where a command writes.

mod alternates;
mod store;

use std::io;
use std::sync::Arc;

use crate::directory::{Directory, ReadError};
use crate::object::{Id, Kind};
use store::Store;

/// The objects of a repository, and of those whose objects it borrows.
#[derive(Debug)]
pub struct Database {
    /// The repository's own come first.
    stores: Vec<Store>,
}

impl Database {
    /// Opens a directory of objects, and those that its `info/alternates` names.
    pub fn open(objects: Directory) -> Result<Self, ReadError> {
        let directories = alternates::follow(objects)?;
        Ok(Self { stores: directories.into_iter().map(Store::new).collect() })
    }

    /// Whether there is an object of this name.
    pub fn contains(&self, id: &Id) -> io::Result<bool> {
        self.first(|store| store.contains(id).map(|found| found.then_some(())))
            .map(|found| found.is_some())
    }

    /// The kind of an object. `None`: there is none.
    pub fn kind(&self, id: &Id) -> io::Result<Option<Kind>> {
        self.first(|store| store.kind(id))
    }

    /// Reads an object. `None`: there is none.
    ///
    /// # Errors
    ///
    /// The system's; `FileTooLarge` if it has more than `limit` bytes; `InvalidData` if its content is not
    /// what its name says.
    pub fn read(&self, id: &Id, limit: u64) -> io::Result<Option<(Kind, Vec<u8>)>> {
        let found = self.first(|store| store.read(id, limit))?;
        match found {
            Some((kind, content)) if Id::of(kind, &content) != *id => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "an object is damaged"))
            }
            found => Ok(found),
        }
    }

    /// The repository's own directory of objects.
    pub(crate) fn directory(&self) -> Option<&Arc<Directory>> {
        self.stores.first().map(Store::directory)
    }

    fn first<T>(
        &self,
        mut find: impl FnMut(&Store) -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        let mut failure = None;
        for store in &self.stores {
            match find(store) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                // Another store may have it whole.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }
}
