//! What a command has changed of the references.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::map::{RefMap, VALUE};
use super::name::RefName;
use super::packed::{self, Packed};
use super::value::{Head, RefValue};
use crate::directory::{Directory, ReadError};
use crate::object::Id;
use crate::upper::{Bounds, Kind, Node, Touched, Upper};

/// A reference that has another value in the command's view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// Its name.
    pub name: RefName,
    /// Its value when the view was made. `None`: it was not there.
    pub before: Option<RefValue>,
    /// Its value in the view. `None`: the command has deleted it.
    pub after: Option<RefValue>,
}

/// Why something of a command stays out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No command may give this name.
    #[error("not the name of a reference that a command may give")]
    Name,
    /// The content is no value, or a symbolic reference to where none may lead.
    #[error("not the value of a reference that a command may give")]
    Value,
    /// Something else than a file is there, or it cannot be read.
    #[error("not a regular file that can be read")]
    NotAFile,
    /// The file is too large.
    #[error("too large")]
    TooLarge,
    /// The command's `packed-refs` says what became of it, and does not parse.
    #[error("the command's packed-refs does not parse")]
    Packed,
    /// The repository's own file of this name is no value.
    #[error("the repository's own file does not parse")]
    Broken,
    /// Another reference has this name as a directory, or is one of its directories.
    #[error("another reference is in the way")]
    InTheWay,
    /// `HEAD` was deleted.
    #[error("deleted")]
    Deleted,
}

/// Something of a command that stays out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path in the git directory, or the name of the reference.
    pub path: PathBuf,
    /// Why.
    pub reason: Refusal,
}

/// What a command has changed of the references.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The references with other values, by name.
    pub refs: Vec<RefChange>,
    /// What stays out.
    pub left_out: Vec<LeftOut>,
}

/// Compares a command's view of the references with those at the time when the view was made.
///
/// Only names that the upper directory touches are compared. `Err`: it has more entries than the bound.
pub fn changes(snapshot: &RefMap, upper: &Upper, bounds: Bounds) -> Result<Changes, ReadError> {
    let mut view = View::new(snapshot);
    view.read_packed(upper, bounds)?;
    view.read_loose(upper, bounds)?;
    Ok(view.compare())
}

/// The command's `HEAD`, if it differs from the one at the time when the view was made.
pub fn head_change(snapshot: &Head, upper: &Upper) -> Result<Option<Head>, Refusal> {
    match upper.entry("HEAD") {
        Ok(Node::Absent) => return Ok(None),
        Ok(Node::File(_)) => {}
        Ok(Node::Whiteout) => return Err(Refusal::Deleted),
        _ => return Err(Refusal::NotAFile),
    }
    let content = upper.read("HEAD", VALUE).map_err(|error| refusal(&error))?;
    let head = Head::parse(&content.unwrap_or_default()).map_err(|_| Refusal::Value)?;
    Ok((head != *snapshot).then_some(head))
}

/// A command's view of the references.
struct View<'a> {
    snapshot: &'a RefMap,
    /// The command's files.
    loose: BTreeMap<RefName, RefValue>,
    /// The names whose files in the repository do not show.
    hidden: BTreeSet<RefName>,
    /// The command's `packed-refs`, if it has one. `Err`: it does not parse.
    packed: Option<Result<Packed, Refusal>>,
    left_out: BTreeMap<PathBuf, Refusal>,
}

impl<'a> View<'a> {
    fn new(snapshot: &'a RefMap) -> Self {
        Self {
            snapshot,
            loose: BTreeMap::new(),
            hidden: BTreeSet::new(),
            packed: None,
            left_out: BTreeMap::new(),
        }
    }

    fn read_packed(&mut self, upper: &Upper, bounds: Bounds) -> Result<(), ReadError> {
        let path = "packed-refs";
        self.packed = match upper.entry(path)? {
            Node::Absent => None,
            Node::Whiteout => Some(Ok(Packed::default())),
            Node::File(_) => Some(match upper.read(path, bounds.bytes) {
                Ok(content) => {
                    packed::parse(&content.unwrap_or_default()).map_err(|_| Refusal::Packed)
                }
                Err(error) => Err(refusal(&error)),
            }),
            Node::Directory { .. } | Node::Odd => Some(Err(Refusal::NotAFile)),
        };
        if let Some(Err(reason)) = &self.packed {
            self.left_out.insert(path.into(), *reason);
        }
        Ok(())
    }

    fn read_loose(&mut self, upper: &Upper, bounds: Bounds) -> Result<(), ReadError> {
        let mut reader = Reader { upper, directory: None, left: bounds.bytes };
        for Touched { path, kind } in upper.walk("refs", bounds)? {
            let name = RefName::parse(path.as_os_str().as_bytes());
            // A file of the repository shows only where nothing of the command has its place. What stays
            // out has no place: it deletes nothing.
            let reason = match (kind, name) {
                (Kind::File, Ok(name)) => match reader.value(&name) {
                    Ok(value) => {
                        self.hide(&path, true);
                        self.loose.insert(name, value);
                        continue;
                    }
                    Err(reason) => reason,
                },
                (Kind::Directory { is_opaque }, _) => {
                    self.hide(&path, is_opaque);
                    continue;
                }
                (Kind::Whiteout, _) => {
                    self.hide(&path, true);
                    continue;
                }
                (Kind::File, Err(_)) if is_lock(&path) => continue,
                (Kind::File, Err(_)) => Refusal::Name,
                (Kind::Odd, _) => Refusal::NotAFile,
            };
            self.left_out.insert(path, reason);
        }
        Ok(())
    }

    /// Notes that the repository's file at a path does not show, nor, with `below`, what is below it.
    fn hide(&mut self, path: &Path, below: bool) {
        let Some(path) = path.to_str() else { return };
        let snapshot = self.snapshot;
        if let Some((name, _)) = snapshot.loose.get_key_value(path) {
            self.hidden.insert(name.clone());
        }
        if below {
            let prefix = format!("{path}/");
            let names =
                snapshot.loose.range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded));
            let names =
                names.map(|(name, _)| name).take_while(|name| name.as_str().starts_with(&prefix));
            self.hidden.extend(names.cloned());
        }
    }

    fn compare(mut self) -> Changes {
        let mut names: BTreeSet<RefName> = self.loose.keys().chain(&self.hidden).cloned().collect();
        if let Some(Ok(packed)) = &self.packed {
            for name in self.snapshot.packed.differences(packed) {
                if let Ok(name) = RefName::parse(name) {
                    names.insert(name);
                } else {
                    let path = PathBuf::from(OsStr::from_bytes(name));
                    self.left_out.insert(path, Refusal::Name);
                }
            }
        }
        let mut changed = BTreeMap::new();
        for name in names {
            if self.left_out.contains_key(name.path()) {
                continue;
            }
            let before = self.snapshot.get(&name);
            match self.value(&name) {
                Ok(after) if after == before => {}
                Ok(after) => match self.check(&name, after.as_ref()) {
                    Ok(()) => _ = changed.insert(name, (before, after)),
                    Err(reason) => _ = self.left_out.insert(name.path().into(), reason),
                },
                Err(reason) => _ = self.left_out.insert(name.path().into(), reason),
            }
        }
        self.leave_out_conflicts(&mut changed);
        let refs =
            changed.into_iter().map(|(name, (before, after))| RefChange { name, before, after });
        let left_out = self.left_out.into_iter().map(|(path, reason)| LeftOut { path, reason });
        Changes { refs: refs.collect(), left_out: left_out.collect() }
    }

    /// The value of a name in the view.
    fn value(&self, name: &RefName) -> Result<Option<RefValue>, Refusal> {
        if let Some(value) = self.loose.get(name) {
            return Ok(Some(value.clone()));
        }
        if let Some(value) = self.snapshot.loose.get(name).filter(|_| !self.hidden.contains(name)) {
            return Ok(Some(value.clone()));
        }
        let packed = match &self.packed {
            None => &self.snapshot.packed,
            Some(Ok(packed)) => packed,
            Some(Err(_)) => return Err(Refusal::Packed),
        };
        Ok(packed.get(name.as_str().as_bytes()).map(RefValue::Id))
    }

    fn check(&self, name: &RefName, after: Option<&RefValue>) -> Result<(), Refusal> {
        if self.snapshot.broken.contains(name) {
            return Err(Refusal::Broken);
        }
        match after {
            Some(RefValue::Symbolic(target)) if !name.may_lead_to(target) => Err(Refusal::Value),
            Some(RefValue::Id(id)) if *id == Id::NONE => Err(Refusal::Value),
            _ => Ok(()),
        }
    }

    /// Leaves out what cannot be there together with another reference of the result.
    fn leave_out_conflicts(
        &mut self,
        changed: &mut BTreeMap<RefName, (Option<RefValue>, Option<RefValue>)>,
    ) {
        let exists = |name: &str| match changed.get(name) {
            Some((_, after)) => after.is_some(),
            None => self.snapshot.has(name),
        };
        let conflict = |name: &RefName| {
            let prefix = format!("{name}/");
            let below = changed.range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded));
            let mut below = below.take_while(|(below, _)| below.as_str().starts_with(&prefix));
            name.parents().any(exists)
                || below.any(|(_, (_, after))| after.is_some())
                || self.snapshot.names_below(&prefix).any(exists)
        };
        let conflicts: Vec<RefName> = changed
            .iter()
            .filter(|(name, (_, after))| after.is_some() && conflict(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in conflicts {
            changed.remove(&name);
            self.left_out.insert(name.path().into(), Refusal::InTheWay);
        }
    }
}

/// Reads files of references, those of a directory one after the other.
struct Reader<'a> {
    upper: &'a Upper,
    /// The directory of the last file.
    directory: Option<(PathBuf, Directory)>,
    /// The bytes that can still be read.
    left: u64,
}

impl Reader<'_> {
    fn value(&mut self, name: &RefName) -> Result<RefValue, Refusal> {
        let (parent, file) = name.as_str().rsplit_once('/').ok_or(Refusal::Name)?;
        let directory = match self.directory.take() {
            Some((path, directory)) if path.as_os_str() == parent => directory,
            _ => match self.upper.directory().below(parent) {
                Ok(Some(directory)) => directory,
                _ => return Err(Refusal::NotAFile),
            },
        };
        let content = directory.read(file, VALUE.min(self.left));
        self.directory = Some((parent.into(), directory));
        let content = content.map_err(|error| refusal(&error))?.ok_or(Refusal::NotAFile)?;
        self.left -= content.len() as u64;
        RefValue::parse(&content).map_err(|_| Refusal::Value)
    }
}

fn refusal(error: &ReadError) -> Refusal {
    match error {
        ReadError::TooLarge(_) => Refusal::TooLarge,
        ReadError::WrongKind | ReadError::Io(_) => Refusal::NotAFile,
    }
}

/// Locks are what git leaves when it is killed: they say nothing of a value.
fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}
