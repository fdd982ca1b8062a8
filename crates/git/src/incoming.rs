//! The objects that a command has added, as data.
//!
//! Every file is read once, into memory or into a file of ours, and what was read is what is verified and
//! stored. An object is accepted if it is well formed, if its name is its hash, and if everything that it
//! refers to is there: in the repository, or among what is accepted with it.

mod borders;
mod closure;
mod entries;
mod lookup;
mod loose;
mod packs;
mod reason;
mod spool;
mod store;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

pub use crate::bounds::{Bound, Bounds, Problem};
pub use borders::Borders;
pub(crate) use entries::Entries;
pub(crate) use reason::{Fault, check_size};
pub use reason::{LeftOut, Reason};

use crate::bounds::Budget;
use crate::database::Database;
use crate::directory::Directory;
use crate::object::{Id, Kind};
use crate::pack::Received;
use lookup::Lookup;
use loose::Loose;

use spool::Spool;

/// The accepted objects of a command.
#[derive(Debug)]
pub struct Incoming<'a> {
    base: &'a Database,
    loose: BTreeMap<Id, Loose>,
    /// `None` in the place of a pack that was dropped.
    packs: Vec<Option<Received>>,
    spool: Spool,
    left_out: Vec<LeftOut>,
    unnamed: usize,
}

impl<'a> Incoming<'a> {
    /// Reads a directory of objects that has only what a command added.
    pub fn read(
        added: &Directory,
        base: &'a Database,
        borders: &Borders,
        bounds: &Bounds,
    ) -> Result<Self, Problem> {
        let incoming = Self::none(base)?;
        let budget = Budget::new(bounds);
        let lookup = Lookup::new(base);
        let mut reader = Reader { incoming, added, borders, bounds, budget, lookup };
        reader.read()?;
        reader.close()?;
        Ok(reader.incoming)
    }

    /// What a command that added nothing leaves.
    pub fn none(base: &'a Database) -> io::Result<Self> {
        let directory = base.directory().ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Self {
            base,
            loose: BTreeMap::new(),
            packs: Vec::new(),
            spool: Spool::new(directory),
            left_out: Vec::new(),
            unnamed: 0,
        })
    }

    /// Whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loose.is_empty() && self.packs.iter().flatten().next().is_none()
    }

    /// The kind of an object that is accepted, or that the repository has. `None`: there is none.
    pub fn kind(&self, id: &Id) -> io::Result<Option<Kind>> {
        if let Some(loose) = self.loose.get(id) {
            return Ok(Some(loose.kind));
        }
        for pack in self.packs.iter().flatten() {
            if let Some(kind) = pack.kind(id)? {
                return Ok(Some(kind));
            }
        }
        self.base.kind(id)
    }

    /// Reads an object that is accepted, or that the repository has. `None`: there is none.
    ///
    /// # Errors
    ///
    /// The system's; `FileTooLarge` if it has more than `limit` bytes.
    pub fn object(&self, id: &Id, limit: u64) -> io::Result<Option<(Kind, Vec<u8>)>> {
        if let Some(loose) = self.loose.get(id) {
            if loose.size > limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut content = Vec::new();
            io::copy(&mut self.spool.read(loose.place, loose.size), &mut content)?;
            return Ok(Some((loose.kind, content)));
        }
        for pack in self.packs.iter().flatten() {
            if let Some(found) = pack.read(id, limit)? {
                return Ok(Some(found));
            }
        }
        self.base.read(id, limit)
    }

    /// Files that were not accepted. They are named up to a number.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// How many more files were not accepted.
    #[must_use]
    pub fn left_out_unnamed(&self) -> usize {
        self.unnamed
    }
}

/// What is needed while the objects are read.
struct Reader<'a, 'b> {
    incoming: Incoming<'a>,
    added: &'b Directory,
    borders: &'b Borders,
    bounds: &'b Bounds,
    budget: Budget,
    lookup: Lookup<'a>,
}

impl Reader<'_, '_> {
    fn read(&mut self) -> Result<(), Problem> {
        let mut entries = self.list(".")?;
        while let Some((name, kind)) = self.next(&mut entries, ".")? {
            let path = Path::new(&name);
            match (name.to_str(), kind) {
                // A whiteout: the host deletes no object. Neither alternates nor commit graphs nor lists of
                // packs come back.
                (_, FileType::CharacterDevice) | (Some("info"), FileType::Directory) => {}
                (Some("pack"), FileType::Directory) => self.read_packs()?,
                (Some(hex), FileType::Directory) if is_first_byte(hex) => self.read_loose(hex)?,
                (Some(text), _) if text.starts_with("tmp_") => {}
                (Some(text), _) if is_first_byte(text) || text == "pack" => {
                    self.leave_out(path, Reason::WrongKind);
                }
                _ => self.leave_out(path, Reason::Unknown),
            }
        }
        Ok(())
    }

    /// Lists a directory of the command. One that cannot be read is left out.
    fn list(&mut self, path: &str) -> Result<Option<Entries>, Problem> {
        match Entries::open(self.added, path) {
            Ok(entries) => Ok(Some(entries)),
            Err(reason) => self.refuse(path.as_ref(), reason.into()).map(|()| None),
        }
    }

    fn next(
        &mut self,
        entries: &mut Option<Entries>,
        path: &str,
    ) -> Result<Option<(OsString, FileType)>, Problem> {
        let Some(listed) = entries else { return Ok(None) };
        match listed.next(&mut self.budget) {
            Ok(entry) => Ok(entry),
            Err(fault) => {
                *entries = None;
                self.refuse(path.as_ref(), fault).map(|()| None)
            }
        }
    }

    fn leave_out(&mut self, name: &Path, reason: Reason) {
        if self.incoming.left_out.len() < self.bounds.named {
            self.incoming.left_out.push(LeftOut { name: name.to_owned(), reason });
        } else {
            self.incoming.unnamed += 1;
        }
    }

    /// Leaves a file out for a reason that is its own.
    fn refuse(&mut self, path: &Path, fault: Fault) -> Result<(), Problem> {
        match fault {
            Fault::Stop(problem) => Err(problem),
            Fault::Refused(reason) => {
                self.leave_out(path, reason);
                Ok(())
            }
        }
    }
}

fn is_first_byte(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn below(directory: &str, name: &OsStr) -> PathBuf {
    Path::new(directory).join(name)
}
