//! The objects that a command has added, as data.
//!
//! Every file is read once, into memory or into a file of ours, and what was read is what is verified and
//! stored. An object is accepted if it is well formed, if its name is its hash, and if everything that it
//! refers to is there: in the repository, or among what is accepted with it.

mod borders;
mod closure;
mod lookup;
mod loose;
mod packs;
mod reason;
mod spool;
mod store;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

pub use crate::bounds::{Bound, Bounds, Problem};
pub use borders::Borders;
pub(crate) use reason::{Fault, check_size};
pub use reason::{LeftOut, Reason};

use crate::bounds::Budget;
use crate::database::Database;
use crate::directory::{Directory, ReadError};
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
        let directory = base.directory().ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let incoming = Self {
            base,
            loose: BTreeMap::new(),
            packs: Vec::new(),
            spool: Spool::new(directory),
            left_out: Vec::new(),
            unnamed: 0,
        };
        let budget = Budget::new(bounds);
        let lookup = Lookup::new(base);
        let mut reader = Reader { incoming, added, borders, bounds, budget, lookup };
        reader.read()?;
        reader.close()?;
        Ok(reader.incoming)
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
        for (name, kind) in self.entries(".")? {
            let path = Path::new(&name);
            match (name.to_str(), kind) {
                // A whiteout. The host deletes no object.
                (_, FileType::CharacterDevice) => {}
                (Some("pack"), FileType::Directory) => self.read_packs()?,
                // Neither alternates nor commit graphs nor lists of packs come back.
                (Some("info"), FileType::Directory) => {}
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

    /// The entries of a directory of the command. What cannot be read is left out.
    fn entries(&mut self, path: &str) -> Result<Vec<(std::ffi::OsString, FileType)>, Problem> {
        match self.added.entries(path, self.budget.left().entries) {
            Ok(entries) => {
                let entries = entries.unwrap_or_default();
                self.budget.take(Bound::Entries, entries.len() as u64)?;
                Ok(entries.into_iter().map(|entry| (entry.name, entry.kind)).collect())
            }
            Err(ReadError::TooLarge(_)) => Err(Problem::Bound(Bound::Entries)),
            Err(error) => {
                self.leave_out(Path::new(path), error.into());
                Ok(Vec::new())
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
    fn refuse(&mut self, path: PathBuf, fault: Fault) -> Result<(), Problem> {
        match fault {
            Fault::Stop(problem) => Err(problem),
            Fault::Refused(reason) => {
                self.leave_out(&path, reason);
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
