//! The references of a repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

use super::name::RefName;
use super::packed::{self, Packed};
use super::value::{BadValue, Head, RefValue};
use crate::directory::{Directory, ReadError};
use crate::object::Id;
use crate::upper::Bounds;

/// The largest `packed-refs`.
const PACKED: u64 = 256 << 20;
/// The most bytes of the file of a reference.
pub(super) const VALUE: u64 = 4096;

/// A way of storing references, or a hash, that this crate does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// References are in tables.
    #[error("its references are stored as a reftable")]
    Reftable,
    /// Objects are named by SHA-256.
    #[error("its objects are named by SHA-256")]
    Sha256,
}

/// Why the references of a repository were not read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It has another format.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A directory or `packed-refs` could not be read: a link, or more than the bound.
    #[error("{0}: {1}")]
    Read(String, ReadError),
    /// `packed-refs` or `HEAD` does not parse.
    #[error("{0} does not parse")]
    Malformed(&'static str),
}

/// The references of a repository by name.
///
/// Names that no command may give are not in it, except as entries of `packed-refs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefMap {
    pub(super) loose: BTreeMap<RefName, RefValue>,
    pub(super) packed: Packed,
    /// Files in the place of references that are no values.
    pub(super) broken: BTreeSet<RefName>,
}

impl RefMap {
    /// Reads the references of a git directory that the person owns.
    pub fn read(git: &Directory, bounds: Bounds) -> Result<Self, Unreadable> {
        let mut map = Self::default();
        // Loose first: git packs a reference before it removes the file.
        map.read_loose(git, bounds)?;
        map.packed = read_packed_within(git, bounds.bytes)?;
        Ok(map)
    }

    /// Reads one reference, and of `packed` what has no file.
    pub fn read_one(
        git: &Directory,
        name: &RefName,
        packed: &Packed,
    ) -> Result<Option<RefValue>, Unreadable> {
        let failed = |error| Unreadable::Read(name.to_string(), error);
        match git.read(name.path(), VALUE) {
            Ok(Some(content)) => match parse_value(&content) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(Unreadable::Malformed("a reference")),
            },
            Ok(None) => Ok(packed.get(name.as_str().as_bytes()).map(RefValue::Id)),
            // An empty directory, or a file in the place of a directory.
            Err(ReadError::WrongKind) if is_not_loose(git, name) => {
                Ok(packed.get(name.as_str().as_bytes()).map(RefValue::Id))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// A map of these values.
    #[must_use]
    pub fn new(loose: BTreeMap<RefName, RefValue>, packed: Packed) -> Self {
        Self { loose, packed, broken: BTreeSet::new() }
    }

    /// The value of a reference.
    #[must_use]
    pub fn get(&self, name: &RefName) -> Option<RefValue> {
        let packed = || self.packed.get(name.as_str().as_bytes()).map(RefValue::Id);
        self.loose.get(name).cloned().or_else(packed)
    }

    /// Whether a reference of this name is there, whatever it says.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.loose.contains_key(name)
            || self.broken.contains(name)
            || self.packed.get(name.as_bytes()).is_some()
    }

    /// The names that begin with `prefix`. A name can come twice.
    pub fn names_below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let loose = self.loose.range::<str, _>(from).map(|(name, _)| name.as_str());
        let broken = self.broken.range::<str, _>(from).map(RefName::as_str);
        let packed = self.packed.below(prefix.as_bytes());
        let packed = packed.filter_map(|entry| std::str::from_utf8(&entry.name).ok());
        let is_below = move |name: &&str| name.starts_with(prefix);
        loose.take_while(is_below).chain(broken.take_while(is_below)).chain(packed)
    }

    /// The object that a reference leads to.
    #[must_use]
    pub fn id(&self, name: &RefName) -> Option<Id> {
        let mut value = self.get(name)?;
        // Git follows at most five symbolic references.
        for _ in 0..5 {
            match value {
                RefValue::Id(id) => return Some(id),
                RefValue::Symbolic(target) => value = self.get(&target)?,
            }
        }
        None
    }

    /// The entries of `packed-refs`.
    #[must_use]
    pub fn packed(&self) -> &Packed {
        &self.packed
    }

    /// Every name with its value.
    pub fn iter(&self) -> impl Iterator<Item = (RefName, RefValue)> {
        let packed = self.packed.entries().iter().filter_map(|entry| {
            let name = RefName::parse(&entry.name).ok()?;
            (!self.loose.contains_key(&name)).then_some((name, RefValue::Id(entry.id)))
        });
        self.loose.iter().map(|(name, value)| (name.clone(), value.clone())).chain(packed)
    }

    fn read_loose(&mut self, git: &Directory, bounds: Bounds) -> Result<(), Unreadable> {
        let mut directories = vec!["refs".to_owned()];
        let mut entries = 0;
        while let Some(path) = directories.pop() {
            let failed = |error| Unreadable::Read(path.clone(), error);
            let Some(directory) = git.below(&path).map_err(failed)? else { continue };
            let left = bounds.entries.saturating_sub(entries);
            for entry in directory.entries(".", left).map_err(failed)?.unwrap_or_default() {
                entries += 1;
                let Some(part) = entry.name.to_str() else { continue };
                let below = format!("{path}/{part}");
                if entry.kind == FileType::Directory {
                    if below.split('/').count() > bounds.depth {
                        return Err(failed(ReadError::TooLarge(bounds.depth as u64)));
                    }
                    directories.push(below);
                } else if let Ok(name) = RefName::parse(below.as_bytes()) {
                    self.read_file(&directory, &entry.name, name)?;
                } else if below == "refs/heads" {
                    // A file in this place says: the references are in tables.
                    return Err(Unsupported::Reftable.into());
                }
            }
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        directory: &Directory,
        part: &OsStr,
        name: RefName,
    ) -> Result<(), Unreadable> {
        match directory.read(part, VALUE) {
            Ok(Some(content)) => match parse_value(&content) {
                Ok(value) => _ = self.loose.insert(name, value),
                Err(Some(unsupported)) => return Err(unsupported.into()),
                Err(None) => _ = self.broken.insert(name),
            },
            Ok(None) => {}
            Err(_) => _ = self.broken.insert(name),
        }
        Ok(())
    }
}

/// Reads `HEAD` of a git directory that the person owns.
pub fn read_head(git: &Directory) -> Result<Head, Unreadable> {
    let failed = |error| Unreadable::Read("HEAD".to_owned(), error);
    let content = git.read("HEAD", VALUE).map_err(failed)?.ok_or(Unreadable::Malformed("HEAD"))?;
    if content.starts_with(b"ref: refs/heads/.invalid") {
        return Err(Unsupported::Reftable.into());
    }
    match parse_value(&content) {
        Ok(RefValue::Id(id)) => Ok(Head::Detached(id)),
        Ok(RefValue::Symbolic(name)) if name.is_branch() => Ok(Head::Branch(name)),
        Err(Some(unsupported)) => Err(unsupported.into()),
        _ => Err(Unreadable::Malformed("HEAD")),
    }
}

/// Reads `packed-refs` of a git directory that the person owns.
pub(crate) fn read_packed(git: &Directory) -> Result<Packed, Unreadable> {
    read_packed_within(git, PACKED)
}

fn read_packed_within(git: &Directory, limit: u64) -> Result<Packed, Unreadable> {
    let failed = |error| Unreadable::Read("packed-refs".to_owned(), error);
    let content = git.read("packed-refs", limit).map_err(failed)?.unwrap_or_default();
    packed::parse(&content).map_err(|_| {
        let mut lines = content.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#"));
        match lines.next() {
            Some(line) if is_sha256(line) => Unsupported::Sha256.into(),
            _ => Unreadable::Malformed("packed-refs"),
        }
    })
}

/// Git itself takes white space at the end of a value that a person or a tool wrote.
fn parse_value(content: &[u8]) -> Result<RefValue, Option<Unsupported>> {
    let value = content.trim_ascii_end();
    let value = match value.strip_prefix(b"ref:") {
        Some(target) => [b"ref: ", target.trim_ascii_start()].concat(),
        None => value.to_vec(),
    };
    RefValue::parse(&value).map_err(|BadValue| is_sha256(&value).then_some(Unsupported::Sha256))
}

fn is_sha256(line: &[u8]) -> bool {
    line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() == 64
}

/// Whether no file can be at the path of a name: a directory is there, or a parent is a file.
fn is_not_loose(git: &Directory, name: &RefName) -> bool {
    let is_directory = matches!(git.below(name.path()), Ok(Some(_)));
    let mut parents = name.parents();
    is_directory
        || parents
            .any(|parent| matches!(git.file(OsStr::from_bytes(parent.as_bytes())), Ok(Some(_))))
}
