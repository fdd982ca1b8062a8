//! Objects of a person, and objects that a command planted.

use std::fs;
use std::path::Path;

use toolwright_git::database::Database;
use toolwright_git::directory::Directory;
use toolwright_git::incoming::{Borders, Bounds, Incoming, Problem, Reason};
use toolwright_git::object::Id;

/// Directories of objects of a person and of a command.
pub(crate) struct Pair {
    pub(crate) directory: tempfile::TempDir,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let pair = Self { directory: tempfile::tempdir().unwrap() };
        for name in ["person/pack", "person/info", "command/pack", "command/info"] {
            fs::create_dir_all(pair.directory.path().join(name)).unwrap();
        }
        pair
    }

    pub(crate) fn person(&self) -> std::path::PathBuf {
        self.directory.path().join("person")
    }

    pub(crate) fn command(&self) -> std::path::PathBuf {
        self.directory.path().join("command")
    }

    pub(crate) fn base(&self) -> Database {
        Database::open(open(&self.person())).unwrap()
    }

    /// Reads with a base, and tells what was accepted and why something was not.
    pub(crate) fn read(&self, bounds: &Bounds) -> Result<(Vec<Id>, Vec<Reason>), Problem> {
        let base = self.base();
        let incoming = Incoming::read(&open(&self.command()), &base, &Borders::default(), bounds)?;
        let before = listed(&self.person());
        incoming.store(&open(&self.person())).unwrap();
        let after = listed(&self.person());
        let added = after.into_iter().filter(|id| !before.contains(id)).collect();
        Ok((added, reasons(&incoming)))
    }

    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let (added, reasons) = self.read(&Bounds::default()).unwrap();
        assert!(added.is_empty(), "{added:?}");
        reasons
    }

    pub(crate) fn refused(&self) -> Reason {
        let mut reasons = self.reasons();
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        reasons.remove(0)
    }
}

pub(crate) fn open(path: &Path) -> Directory {
    Directory::open(&path.canonicalize().unwrap()).unwrap()
}

pub(crate) fn reasons(incoming: &Incoming<'_>) -> Vec<Reason> {
    let count = incoming.left_out().len();
    let mut reasons: Vec<Reason> = Vec::new();
    for left in incoming.left_out() {
        reasons.push(match &left.reason {
            Reason::Unknown => Reason::Unknown,
            Reason::WrongKind => Reason::WrongKind,
            Reason::Unreadable(error) => Reason::Unreadable(error.kind().into()),
            Reason::Damaged(what) => Reason::Damaged(what),
            Reason::Forged => Reason::Forged,
            Reason::Malformed(malformed) => Reason::Malformed(*malformed),
            Reason::TooLarge(limit) => Reason::TooLarge(*limit),
            Reason::Missing => Reason::Missing,
        });
    }
    assert_eq!(count, reasons.len());
    reasons
}

/// The names of the loose objects of a directory.
pub(crate) fn listed(objects: &Path) -> Vec<Id> {
    let mut ids = Vec::new();
    for first in fs::read_dir(objects).unwrap().map(|entry| entry.unwrap()) {
        let name = first.file_name().into_string().unwrap();
        if name.len() != 2 {
            assert!(!name.starts_with("tmp_"), "{name} is left behind");
            continue;
        }
        for entry in fs::read_dir(first.path()).unwrap() {
            let rest = entry.unwrap().file_name().into_string().unwrap();
            ids.push(format!("{name}{rest}").parse().unwrap());
        }
    }
    ids
}

/// An entry of a tree.
pub(crate) fn entry(mode: &str, name: &[u8], id: Id) -> Vec<u8> {
    [mode.as_bytes(), b" ", name, b"\0", id.as_bytes()].concat()
}

/// The path of a loose object.
pub(crate) fn hex_path(id: &Id) -> String {
    let hex = id.to_string();
    format!("{}/{}", &hex[..2], &hex[2..])
}
