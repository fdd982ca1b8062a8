//! What git notes of an operation that has stopped: a merge with conflicts, a rebase, a bisection.
//!
//! A state is many files that belong together. It comes back whole or not at all: one file that does not parse,
//! or that is not known, keeps it out.

mod bisect;
mod grammar;
mod options;
mod text;
mod todo;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat, statat};

use crate::directory::{Directory, ReadError};
use crate::refs::{LeftOut, Refusal};
use crate::transaction::{Transaction, TransactionError};
use crate::upper::{self, Bounds, Node, Upper};
use grammar::{DIRECTORIES, FILES, Grammar};

/// The most files of a directory of a state.
const ENTRIES: usize = 100_000;

/// Files that come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A merge, a rebase, a cherry-pick, a revert, or `git am`.
    Operation,
    /// A bisection.
    Bisection,
    /// `COMMIT_EDITMSG`.
    CommitMessage,
    /// `ORIG_HEAD`.
    OriginalHead,
    /// `FETCH_HEAD`.
    FetchHead,
    /// `shallow`. Which commits it may name is not decided here.
    Shallow,
    /// `info/exclude`, which hides files.
    Exclude,
    /// `info/sparse-checkout`.
    SparseCheckout,
}

/// A state that a command has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Which one.
    pub kind: Kind,
    /// The new content of its files, by their paths in the git directory. `None`: the file is removed.
    pub files: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

/// What a command has changed of the states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The states that it changed.
    pub states: Vec<State>,
    /// The files because of which a state stays out.
    pub left_out: Vec<LeftOut>,
}

/// The files of the states of a repository at a time, to be compared with those at another time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<Kind, BTreeMap<PathBuf, (u64, i128, i128)>>);

impl Marks {
    /// Reads them.
    pub fn read(git: &Directory) -> Result<Self, ReadError> {
        let mut marks = Self::default();
        let mut add = |kind, path: PathBuf, stat: &Stat| {
            let changed = (i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec));
            marks.0.entry(kind).or_default().insert(path, (stat.st_ino, changed.0, changed.1));
        };
        for (name, kind, _) in FILES {
            if let Ok(stat) = statat(git, name, AtFlags::SYMLINK_NOFOLLOW) {
                add(kind, name.into(), &stat);
            }
        }
        for (name, _) in DIRECTORIES {
            let directory = match git.below(name) {
                Ok(Some(directory)) => directory,
                Ok(None) | Err(ReadError::WrongKind) => continue,
                Err(error) => return Err(error),
            };
            for entry in directory.entries(".", ENTRIES)?.unwrap_or_default() {
                if let Ok(stat) = statat(&directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
                    add(Kind::Operation, Path::new(name).join(&entry.name), &stat);
                }
            }
        }
        Ok(marks)
    }

    /// Whether a state is the same at both times.
    #[must_use]
    pub fn is_same(&self, other: &Self, kind: Kind) -> bool {
        self.0.get(&kind) == other.0.get(&kind)
    }
}

impl State {
    /// Stages the files in a transaction.
    pub fn write(&self, transaction: &mut Transaction<'_>) -> Result<(), TransactionError> {
        self.write_below(Path::new(""), transaction)
    }

    /// The same for a linked work tree, whose files are below `worktrees/NAME`.
    pub fn write_below(
        &self,
        prefix: &Path,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), TransactionError> {
        for (path, content) in &self.files {
            let path = &prefix.join(path);
            match (self.kind, content) {
                (Kind::Shallow, Some(content)) => {
                    transaction.lock(path, 0o666)?;
                    transaction.write(path, content)?;
                }
                (Kind::Shallow, None) => {
                    transaction.lock(path, 0o666)?;
                    transaction.remove(path)?;
                }
                (_, Some(content)) => transaction.put(path, content, 0o666)?,
                (_, None) => transaction.discard(path)?,
            }
        }
        Ok(())
    }
}

/// The state that a path of a git directory belongs to.
#[must_use]
pub fn kind(path: &Path) -> Option<Kind> {
    grammar::kind(path)
}

/// Compares the command's states with those of a repository as they are now. `Err`: there are more files than
/// the bound.
pub fn changes(git: &Directory, upper: &Upper, bounds: Bounds) -> Result<Changes, ReadError> {
    let mut reader = Reader {
        git,
        upper,
        left: bounds.bytes,
        states: BTreeMap::new(),
        refused: BTreeMap::new(),
    };
    for (name, kind, grammar) in FILES {
        reader.read_file(kind, Path::new(name), grammar)?;
    }
    for (name, required) in DIRECTORIES {
        reader.read_directory(name, required)?;
    }
    let refused: BTreeSet<Kind> = reader.refused.values().map(|(kind, _)| *kind).collect();
    let is_whole = |(kind, files): (Kind, BTreeMap<PathBuf, Option<Vec<u8>>>)| {
        (!refused.contains(&kind) && !files.is_empty()).then_some(State { kind, files })
    };
    let left_out = reader
        .refused
        .iter()
        .map(|(path, (_, reason))| LeftOut { path: path.clone(), reason: *reason });
    Ok(Changes {
        left_out: left_out.collect(),
        states: reader.states.into_iter().filter_map(is_whole).collect(),
    })
}

struct Reader<'a> {
    git: &'a Directory,
    upper: &'a Upper,
    /// The bytes that can still be read.
    left: u64,
    states: BTreeMap<Kind, BTreeMap<PathBuf, Option<Vec<u8>>>>,
    refused: BTreeMap<PathBuf, (Kind, Refusal)>,
}

impl Reader<'_> {
    fn read_file(&mut self, kind: Kind, path: &Path, grammar: Grammar) -> Result<(), ReadError> {
        let node = self.upper.entry(path)?;
        let rule = match (grammar, node) {
            (Grammar::Transient, _) | (_, Node::Absent) => return Ok(()),
            (Grammar::Rule(rule), Node::File(_)) => rule,
            (_, Node::Whiteout) => {
                if !matches!(self.git.file(path), Ok(None)) {
                    self.states.entry(kind).or_default().insert(path.to_owned(), None);
                }
                return Ok(());
            }
            (_, Node::Directory { .. } | Node::Odd) => {
                self.refused.insert(path.to_owned(), (kind, Refusal::NotAFile));
                return Ok(());
            }
        };
        let refusal = match self.upper.read(path, self.left) {
            Ok(Some(content)) if rule(&content) => {
                self.left -= content.len() as u64;
                // What is there already is no change.
                let limit = content.len() as u64;
                if !matches!(self.git.read(path, limit), Ok(Some(now)) if now == content) {
                    self.states.entry(kind).or_default().insert(path.to_owned(), Some(content));
                }
                return Ok(());
            }
            Ok(Some(_)) => Refusal::Value,
            Err(ReadError::TooLarge(_)) => Refusal::TooLarge,
            Ok(None) | Err(_) => Refusal::NotAFile,
        };
        self.refused.insert(path.to_owned(), (kind, refusal));
        Ok(())
    }

    fn read_directory(&mut self, name: &str, required: &[&str]) -> Result<(), ReadError> {
        let (is_gone, is_opaque) = match self.upper.entry(name)? {
            Node::Absent => return Ok(()),
            Node::Whiteout => (true, true),
            Node::Directory { is_opaque } => (false, is_opaque),
            Node::File(_) | Node::Odd => {
                self.refused.insert(name.into(), (Kind::Operation, Refusal::NotAFile));
                return Ok(());
            }
        };
        let bounds = Bounds { entries: ENTRIES, depth: 1, bytes: 0 };
        let found = if is_gone { Vec::new() } else { self.upper.walk(name, bounds)? };
        let mut files = self.own_files(name)?;
        for touched in found.into_iter().filter(|touched| touched.path != Path::new(name)) {
            let file = touched.path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            match (grammar::in_directory(name, file), touched.kind) {
                (_, upper::Kind::Whiteout) => {
                    if files.remove(touched.path.file_name().unwrap_or_default()) {
                        self.states.entry(Kind::Operation).or_default().insert(touched.path, None);
                    }
                }
                (Some(grammar), _) => {
                    self.read_file(Kind::Operation, &touched.path, grammar)?;
                    files.insert(file.into());
                }
                (None, _) => {
                    self.refused.insert(touched.path, (Kind::Operation, Refusal::Name));
                }
            }
        }
        if is_opaque {
            let mut kept = BTreeSet::new();
            for file in files {
                let path = Path::new(name).join(&file);
                if matches!(self.upper.entry(&path)?, Node::File(_)) {
                    kept.insert(file);
                } else {
                    self.states.entry(Kind::Operation).or_default().insert(path, None);
                }
            }
            files = kept;
        }
        // A command that ended the operation leaves no file. A part of a state is none.
        let is_whole = required.iter().all(|file| files.contains(Path::new(file).as_os_str()));
        if !files.is_empty() && !is_whole {
            self.refused.insert(name.into(), (Kind::Operation, Refusal::Value));
        }
        Ok(())
    }

    /// The files that a directory has in the repository.
    fn own_files(&self, name: &str) -> Result<BTreeSet<OsString>, ReadError> {
        let entries = match self.git.entries(name, ENTRIES) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(ReadError::WrongKind) => Vec::new(),
            Err(error) => return Err(error),
        };
        let files = entries.into_iter().filter(|entry| entry.kind == FileType::RegularFile);
        Ok(files.map(|entry| entry.name).collect())
    }
}
