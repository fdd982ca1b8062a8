//! Writing references: compared under git's locks, and written or removed by a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustix::fs::FileType;

use super::changes::RefChange;
use super::map::{RefMap, Unreadable, read_head, read_packed};
use super::name::RefName;
use super::packed::{self, Entry, Packed};
use super::value::{Head, RefValue};
use crate::directory::{Directory, ReadError};
use crate::transaction::{Transaction, TransactionError};

/// More new references than this are written to `packed-refs`, without a lock for each.
const LOOSE: usize = 100;
/// The most entries of a directory that are looked through for a reference in the way.
const ENTRIES: usize = 100_000;

/// What becomes of a change when the transaction is committed.
#[derive(Debug)]
pub enum Outcome {
    /// It is written.
    Written,
    /// The reference has this value already.
    Done,
    /// The person has changed the reference since. It stays as it is.
    Moved {
        /// Its value now.
        now: Option<RefValue>,
    },
    /// Another reference of the person has the name as a directory, or is one of its directories.
    InTheWay,
    /// It cannot be locked, read or written.
    Refused(TransactionError),
    /// The person's own file of this name cannot be read.
    Unreadable(Unreadable),
}

/// Locks references, compares them with what they were, and stages their new values. Outcomes are in the order
/// of the changes.
///
/// `Err`: `packed-refs` cannot be locked or read. Nothing else is staged then.
pub fn update(
    transaction: &mut Transaction<'_>,
    git: &Directory,
    changes: &[RefChange],
) -> Result<Vec<Outcome>, Outcome> {
    let is_new = |change: &&RefChange| {
        change.before.is_none() && matches!(change.after, Some(RefValue::Id(_)))
    };
    let is_bulk = changes.iter().filter(is_new).count() > LOOSE;
    let needs_packed = is_bulk || changes.iter().any(|change| change.after.is_none());
    let mut lock = |change: &RefChange| {
        if is_bulk && is_new(&change) {
            return None;
        }
        match transaction.lock(change.name.path(), 0o666) {
            // A file that this transaction deletes occupies the name. Its lock protects it.
            Ok(()) | Err(TransactionError::InTheWay(_)) => None,
            Err(error) => Some(Outcome::Refused(error)),
        }
    };
    let mut outcomes: Vec<Option<Outcome>> = changes.iter().map(&mut lock).collect();
    let packed_path = Path::new("packed-refs");
    if needs_packed {
        transaction.lock(packed_path, 0o666).map_err(Outcome::Refused)?;
    }
    let packed = read_packed(git).map_err(Outcome::Unreadable)?;
    let mut update =
        Update { git, packed: &packed, deleted: BTreeSet::new(), is_bulk, lines: BTreeMap::new() };
    // Deletions first: they make room.
    for is_deletion in [true, false] {
        for (change, outcome) in changes.iter().zip(&mut outcomes) {
            if outcome.is_none() && change.after.is_none() == is_deletion {
                *outcome = Some(update.stage(transaction, change));
            }
        }
    }
    if !update.lines.is_empty() {
        let lines = update.lines;
        let mut packed = packed.clone();
        packed.update(lines);
        transaction.write(packed_path, &packed::write(&packed)).map_err(Outcome::Refused)?;
    }
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Done)).collect())
}

/// Locks `HEAD`, compares it, and stages its new value.
pub fn update_head(
    transaction: &mut Transaction<'_>,
    git: &Directory,
    before: &Head,
    after: &Head,
) -> Outcome {
    let path = Path::new("HEAD");
    if let Err(error) = transaction.lock(path, 0o666) {
        return Outcome::Refused(error);
    }
    match read_head(git) {
        Err(error) => Outcome::Unreadable(error),
        Ok(now) if now == *after => Outcome::Done,
        Ok(now) if now != *before => Outcome::Moved {
            now: Some(match now {
                Head::Branch(name) => RefValue::Symbolic(name),
                Head::Detached(id) => RefValue::Id(id),
            }),
        },
        Ok(_) => match transaction.write(path, &after.content()) {
            Ok(()) => Outcome::Written,
            Err(error) => Outcome::Refused(error),
        },
    }
}

struct Update<'a> {
    git: &'a Directory,
    packed: &'a Packed,
    /// The names that are going to be deleted.
    deleted: BTreeSet<&'a str>,
    is_bulk: bool,
    /// What changes in `packed-refs`.
    lines: BTreeMap<Box<[u8]>, Option<Entry>>,
}

impl<'a> Update<'a> {
    fn stage(&mut self, transaction: &mut Transaction<'_>, change: &'a RefChange) -> Outcome {
        let now = match RefMap::read_one(self.git, &change.name, self.packed) {
            Ok(now) => now,
            Err(error) => return Outcome::Unreadable(error),
        };
        if now == change.after {
            return Outcome::Done;
        }
        if now != change.before {
            return Outcome::Moved { now };
        }
        let staged = match &change.after {
            None => self.delete(transaction, &change.name),
            Some(value) => match self.room(&change.name) {
                Ok(Room::Free) if !(self.is_bulk && change.before.is_none()) => {
                    transaction.write(change.name.path(), &value.content())
                }
                Ok(Room::Free | Room::Cleared) => self.pack(&change.name, value),
                Ok(Room::Taken) => return Outcome::InTheWay,
                Err(error) => {
                    let error = Unreadable::Read(change.name.to_string(), error);
                    return Outcome::Unreadable(error);
                }
            },
        };
        match staged {
            Ok(()) => Outcome::Written,
            Err(error) => Outcome::Refused(error),
        }
    }

    fn delete(
        &mut self,
        transaction: &mut Transaction<'_>,
        name: &'a RefName,
    ) -> Result<(), TransactionError> {
        transaction.remove(name.path())?;
        self.deleted.insert(name.as_str());
        let bytes = name.as_str().as_bytes();
        if self.packed.get(bytes).is_some() {
            self.lines.insert(bytes.into(), None);
        }
        Ok(())
    }

    /// Where files have no room until others are gone, `packed-refs` has.
    fn pack(&mut self, name: &RefName, value: &RefValue) -> Result<(), TransactionError> {
        let Some(id) = value.id() else {
            return Err(TransactionError::InTheWay(name.path().to_owned()));
        };
        let name: Box<[u8]> = name.as_str().as_bytes().into();
        self.lines.insert(name.clone(), Some(Entry { name, id, peeled: None }));
        Ok(())
    }

    /// Whether a file can be made for a name.
    fn room(&self, name: &RefName) -> Result<Room, ReadError> {
        let mut room = Room::Free;
        for parent in name
            .parents()
            .filter(|parent| parent.matches('/').count() > 1 || *parent == "refs/stash")
        {
            let is_there = self.packed.get(parent.as_bytes()).is_some()
                || matches!(self.git.file(parent), Ok(Some(_)));
            if is_there {
                if !self.deleted.contains(parent) {
                    return Ok(Room::Taken);
                }
                room = Room::Cleared;
            }
        }
        let prefix = format!("{name}/");
        for entry in self.packed.below(prefix.as_bytes()) {
            if !std::str::from_utf8(&entry.name).is_ok_and(|name| self.deleted.contains(name)) {
                return Ok(Room::Taken);
            }
            room = Room::Cleared;
        }
        let mut directories = vec![name.to_string()];
        while let Some(path) = directories.pop() {
            let directory = match self.git.below(&path) {
                Ok(Some(directory)) => directory,
                Ok(None) | Err(ReadError::WrongKind) => continue,
                Err(error) => return Err(error),
            };
            for entry in directory.entries(".", ENTRIES)?.unwrap_or_default() {
                let below = format!("{path}/{}", entry.name.to_string_lossy());
                if entry.kind == FileType::Directory {
                    directories.push(below);
                } else if self.deleted.contains(&*below) {
                    room = Room::Cleared;
                } else if !below.as_bytes().ends_with(b".lock") {
                    return Ok(Room::Taken);
                } else {
                    // Our own, or one of somebody who is about to make a reference.
                    room = Room::Cleared;
                }
            }
        }
        Ok(room)
    }
}

/// Whether a name has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A file can be made.
    Free,
    /// A file can be made when references are deleted that are going to be.
    Cleared,
    /// Another reference is there.
    Taken,
}
