//! A repository as commands saw it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{Stat, fstat};

use super::area::Before;
use super::generation::Generation;
use super::modules::{self, MAX_DEPTH, MAX_MODULES};
use super::{indexes, linked, settings};
use crate::directory::{Directory, ReadError};
use crate::index::{Index, Limits};
use crate::refs::{self, RefMap, Unreadable};
use crate::state::Marks;
use crate::upper::Bounds;

/// How much of a person's references is read.
const REFERENCES: Bounds = Bounds { entries: 1_000_000, depth: 40, bytes: 256 << 20 };

/// Why a repository was not read as commands saw it.
#[derive(Debug, thiserror::Error)]
#[error("{what} cannot be read: {error}")]
pub struct NotTaken {
    /// What was to be read.
    pub what: &'static str,
    /// Why it was not.
    pub error: ReadError,
}

/// A repository as it was when a fork of it was made.
#[derive(Debug)]
pub struct Snapshot {
    generation: Generation,
    pub(super) refs: Result<RefMap, Unreadable>,
    /// The main work tree first.
    pub(super) areas: Vec<Before>,
    /// As in [`settings::FILES`].
    pub(super) configs: [Vec<u8>; 2],
    pub(super) marks: Marks,
    /// Its submodules, by their paths in the git directory. `None`: it could not be read.
    pub(super) modules: BTreeMap<PathBuf, Option<Snapshot>>,
    /// Whether these are all of its submodules.
    pub(super) has_all_modules: bool,
    /// The index of a fork that says the same as this one.
    same_index: Option<FileVersion>,
}

/// A file, and when it was changed.
pub(super) type FileVersion = (u64, i64, i64, u64);

impl Snapshot {
    /// Takes it. The fork has been made before.
    ///
    /// # Errors
    ///
    /// Nothing of the fork can come back: what is read of the repository is more than a bound, git reads it
    /// elsewhere, or the system refuses.
    pub fn take(git: &Directory) -> Result<Self, NotTaken> {
        // What it has of its own is not what git reads.
        if !matches!(git.entry("commondir"), Ok(None)) {
            return Err(NotTaken { what: "commondir", error: ReadError::WrongKind });
        }
        Self::take_within(git, MAX_DEPTH, &mut MAX_MODULES.clone())
    }

    fn take_within(git: &Directory, depth: usize, left: &mut usize) -> Result<Self, NotTaken> {
        let of = |what| move |error| NotTaken { what, error };
        let linked = Before::linked(git).map_err(of("worktrees"))?;
        let found = modules::find(git, &linked, *left, modules::is_repository);
        let found = found.map_err(of("modules"))?;
        let watched = linked.iter().flat_map(|prefix| linked::Before::watched(prefix));
        let more = found.directories.into_iter().chain([linked::ALL.into()]).chain(watched);
        let generation = Generation::now(git, more.collect());
        let refs = RefMap::read(git, REFERENCES).and_then(|map| refs::read_head(git).map(|_| map));
        let areas = Before::all(git, linked).map_err(of("the index or a linked work tree"))?;
        let marks = Marks::read(git).map_err(of("the state of an operation"))?;
        let configs = settings::read(git);
        *left -= found.modules.len();
        let mut modules = BTreeMap::new();
        for path in found.modules {
            let module = match git.below(&path) {
                Ok(Some(module)) if depth > 0 => Self::take_within(&module, depth - 1, left).ok(),
                _ => None,
            };
            modules.insert(path, module);
        }
        let has_all_modules = found.is_whole;
        Ok(Self {
            generation,
            refs,
            areas,
            configs,
            marks,
            modules,
            has_all_modules,
            same_index: None,
        })
    }

    /// The one of a directory that had nothing.
    pub(super) fn of_nothing() -> Self {
        Self {
            generation: Generation::none(),
            refs: Ok(RefMap::default()),
            areas: vec![Before::nothing()],
            configs: [Vec::new(), Vec::new()],
            marks: Marks::default(),
            modules: BTreeMap::new(),
            has_all_modules: true,
            same_index: None,
        }
    }

    /// Whether the repository is still as it was, and its submodules are.
    #[must_use]
    pub fn is_current(&self, git: &Directory) -> bool {
        let is_module_current = |(path, module): (&PathBuf, &Option<Self>)| match module {
            Some(module) => {
                git.below(path).is_ok_and(|now| now.is_some_and(|now| module.is_current(&now)))
            }
            None => true,
        };
        self.generation.is_current(git) && self.modules.iter().all(is_module_current)
    }

    /// The submodule whose git directory has this path.
    pub(super) fn module_mut(&mut self, path: &Path) -> Option<&mut Option<Self>> {
        self.modules.get_mut(path)
    }

    /// Whether the index of a fork says the same as that of the repository: git has looked at files again.
    pub(super) fn has_index_of(&mut self, changes: &Directory) -> bool {
        let Ok(Some((file, _))) = changes.file("index") else { return false };
        let Ok(now) = fstat(&file).map(|stat| version(&stat)) else { return false };
        if self.same_index == Some(now) {
            return true;
        }
        let says_same = self.says_same_index(changes).unwrap_or(false);
        if says_same {
            self.same_index = Some(now);
        }
        says_same
    }

    fn says_same_index(&self, changes: &Directory) -> Option<bool> {
        let before = self.areas.first()?.index(None).ok()?;
        let none = |_: &_| None;
        let before = match before {
            Some(bytes) => indexes::of_person(&bytes, &none, &none).ok()?,
            None => Index::default(),
        };
        let bytes = changes.read("index", Limits::PERSON.bytes as u64).ok()??;
        let now = indexes::of_command(&bytes, before.len(), &none, &none).ok()?;
        let value = |entry: crate::index::Entry<'_>| {
            (entry.mode(), entry.id(), entry.stage(), entry.skips_worktree())
        };
        Some(
            before.len() == now.len()
                && before
                    .entries()
                    .zip(now.entries())
                    .all(|(one, other)| one.path() == other.path() && value(one) == value(other)),
        )
    }
}

pub(super) fn version(stat: &Stat) -> FileVersion {
    (stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}
