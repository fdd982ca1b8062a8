//! Receiving a pack: it is read once, verified whole, and indexed anew.

use std::fs::File;
use std::sync::Arc;
use std::{io, mem};

use super::read::Pack;
use super::references::References;
use super::resolve::resolve;
use super::scan::scan;
use super::write_index::write_index;
use super::{Index, PackError};
use crate::bounds::{Budget, Problem};
use crate::directory::Directory;
use crate::incoming::{Borders, Fault, Reason};
use crate::loose::subdirectory;
use crate::object::{Id, Kind};
use crate::temporary::Temporary;

/// A verified pack that is not yet among the packs of the repository.
#[derive(Debug)]
pub(crate) struct Received {
    data: Temporary,
    index: Temporary,
    pack: Pack,
    /// Its name in the repository, without an extension.
    name: String,
    /// What its objects refer to in other places.
    references: Vec<(Id, Kind)>,
    is_known: bool,
    /// The empty file that says where it came from: who promised the objects it refers to.
    promisor: Option<Temporary>,
}

/// Reads a pack of `length` bytes into a directory. `is_known` tells whether the repository has an object.
pub(crate) fn receive(
    source: &File,
    length: u64,
    staging: &Arc<Directory>,
    budget: &mut Budget,
    borders: &Borders,
    mut is_known: impl FnMut(&Id) -> io::Result<bool>,
) -> Result<Received, Fault> {
    let stop = |error: io::Error| Fault::Stop(Problem::Io(error));
    let (data, data_file) = Temporary::create(staging, "tmp_pack_", 0o444).map_err(stop)?;
    let mut found = References::new(borders);
    let mut scan = scan(source, length, &data_file, budget, &mut found)?;
    resolve(&mut scan, &data_file, staging, budget, &mut found)?;

    scan.offset_deltas = Vec::new();
    scan.id_deltas = Vec::new();
    let mut entries = scan.entries;
    entries.sort_unstable_by_key(|entry| entry.id);
    if entries.is_sorted_by(|one, other| one.id < other.id) {
        let (index, index_file) = Temporary::create(staging, "tmp_idx_", 0o444).map_err(stop)?;
        write_index(entries.iter(), &scan.checksum, &index_file).map_err(stop)?;
        let mut all_known = true;
        for entry in &entries {
            budget.check_time()?;
            if !is_known(&entry.id).map_err(stop)? {
                all_known = false;
                break;
            }
        }
        // Both lists are sorted.
        let mut references = found.finish();
        let mut own = entries.iter().peekable();
        let mut is_wrong = false;
        references.retain(|(id, kind)| {
            while own.next_if(|entry| entry.id < *id).is_some() {}
            match own.peek().filter(|entry| entry.id == *id) {
                Some(entry) => {
                    is_wrong |= entry.kind != Some(*kind);
                    false
                }
                None => true,
            }
        });
        if is_wrong {
            return Err(Reason::Missing.into());
        }
        let pack = open(data_file, index_file).map_err(|error| match error {
            PackError::Io(error) => stop(error),
            error @ PackError::Damaged(_) => Reason::from(error).into(),
        })?;
        let name = format!("pack-{}", Id::new(scan.checksum));
        return Ok(Received {
            data,
            index,
            pack,
            name,
            references,
            is_known: all_known,
            promisor: None,
        });
    }
    // Git looks for the base of a difference by its name: with two of a name, it may go in a circle.
    Err(Reason::Damaged("an object that is there twice").into())
}

fn open(data: File, index: File) -> Result<Pack, PackError> {
    Pack::new(Index::open(index)?, data)
}

impl Received {
    /// Whether the repository has all of its objects.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Its name in a repository, without an extension.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What its objects refer to in other places, in order.
    pub(crate) fn references(&self) -> &[(Id, Kind)] {
        &self.references
    }

    /// Takes that list, which is then empty.
    pub(crate) fn take_references(&mut self) -> Vec<(Id, Kind)> {
        mem::take(&mut self.references)
    }

    /// Replaces that list.
    pub(crate) fn set_references(&mut self, references: Vec<(Id, Kind)>) {
        self.references = references;
    }

    /// Notes that it came from the remote that has what it lacks.
    pub(crate) fn set_promised(&mut self, staging: &Arc<Directory>) -> io::Result<()> {
        self.promisor = Some(Temporary::create(staging, "tmp_promisor_", 0o444)?.0);
        Ok(())
    }

    /// The kind of an object in it.
    pub(crate) fn kind(&self, id: &Id) -> io::Result<Option<Kind>> {
        self.look(id, |offset| self.pack.kind(offset).map(Some))
    }

    /// Reads an object in it. `FileTooLarge`: it has more than `limit` bytes.
    pub(crate) fn read(&self, id: &Id, limit: u64) -> io::Result<Option<(Kind, Vec<u8>)>> {
        let found = self.look(id, |offset| self.pack.read(offset, limit).map(Some))?;
        match found {
            Some(None) => Err(io::ErrorKind::FileTooLarge.into()),
            found => Ok(found.flatten()),
        }
    }

    fn look<T>(
        &self,
        id: &Id,
        read: impl FnOnce(u64) -> Result<Option<T>, PackError>,
    ) -> io::Result<Option<T>> {
        let found = self.pack.find(id).and_then(|offset| offset.map_or(Ok(None), read));
        found.map_err(|error| match error {
            PackError::Io(error) => error,
            PackError::Damaged(what) => io::Error::new(io::ErrorKind::InvalidData, what),
        })
    }

    /// Moves it among the packs of a repository. The index comes last: without one, git takes no notice of
    /// a pack.
    pub(crate) fn store(&self, objects: &Directory) -> io::Result<()> {
        let packs = subdirectory(objects, "pack")?;
        self.pack.sync()?;
        let promisor = self.promisor.as_ref().map(|promisor| (promisor, ".promisor"));
        let files = [(&self.data, ".pack")].into_iter().chain(promisor);
        for (temporary, extension) in files.chain([(&self.index, ".idx")]) {
            temporary.publish(&packs, &format!("{}{extension}", self.name))?;
        }
        Ok(())
    }
}
