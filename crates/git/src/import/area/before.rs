//! Work trees as commands saw them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};

use super::place;
use crate::directory::{Directory, ReadError};
use crate::import::linked;
use crate::import::snapshot::{FileVersion, version};
use crate::index::Limits;
use crate::refs::{self, Head};

/// How many linked work trees are looked at.
const MAX_LINKED: usize = 4096;
/// The indexes of so many linked work trees are held open.
const MAX_OPEN: usize = 64;

/// A work tree as commands saw it.
#[derive(Debug)]
pub(in crate::import) struct Before {
    /// Where its files are in the git directory. Empty for the main one.
    pub(in crate::import) prefix: PathBuf,
    pub(in crate::import) head: Option<Head>,
    index: Index,
    /// Of a linked one.
    pub(in crate::import) linked: linked::Before,
}

/// An index as it was.
#[derive(Debug)]
enum Index {
    None,
    /// Git replaces its index, so an open one stays as it was.
    Open(File),
    /// Where there are many. It is read as long as nobody has replaced it.
    Version(FileVersion),
    /// A link or a directory is in its place.
    Unreadable,
}

impl Before {
    /// The prefixes of the linked work trees of a repository.
    pub(in crate::import) fn linked(git: &Directory) -> Result<Vec<PathBuf>, ReadError> {
        let entries = match git.entries(linked::ALL, MAX_LINKED) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(ReadError::WrongKind) => Vec::new(),
            Err(error) => return Err(error),
        };
        let linked = entries.into_iter().filter(|entry| entry.kind == FileType::Directory);
        Ok(linked.map(|entry| Path::new(linked::ALL).join(entry.name)).collect())
    }

    /// The work trees of a repository.
    pub(in crate::import) fn all(
        git: &Directory,
        linked: Vec<PathBuf>,
    ) -> Result<Vec<Self>, ReadError> {
        let mut all = vec![Self::one(git, PathBuf::new(), true)?];
        for prefix in linked {
            let one = Self::one(git, prefix, all.len() <= MAX_OPEN)?;
            // An empty directory is left where git was killed.
            if one.head.is_some() || one.linked.has_lead() {
                all.push(one);
            }
        }
        Ok(all)
    }

    /// The main work tree of a directory that had nothing.
    pub(in crate::import) fn nothing() -> Self {
        let linked = linked::Before::default();
        Self { prefix: PathBuf::new(), head: None, index: Index::None, linked }
    }

    fn one(git: &Directory, prefix: PathBuf, is_open: bool) -> Result<Self, ReadError> {
        let directory = match git.below(place(&prefix)) {
            Ok(Some(directory)) => directory,
            // It has gone meanwhile.
            Ok(None) | Err(ReadError::WrongKind) => return Ok(Self { prefix, ..Self::nothing() }),
            Err(error) => return Err(error),
        };
        let head = refs::read_head(&directory).ok();
        let index = match directory.file("index") {
            Ok(None) => Index::None,
            Ok(Some((file, _))) if is_open => Index::Open(file),
            Ok(Some((_, stat))) => Index::Version(version(&stat)),
            Err(ReadError::WrongKind) => Index::Unreadable,
            Err(error) => return Err(error),
        };
        let linked = if prefix.as_os_str().is_empty() {
            linked::Before::default()
        } else {
            linked::Before::read(&directory)?
        };
        Ok(Self { prefix, head, index, linked })
    }

    /// The index. `None`: there was none. That of the main work tree needs no repository.
    ///
    /// # Errors
    ///
    /// It cannot be read any more, and nothing can be compared with it.
    pub(in crate::import) fn index(
        &self,
        git: Option<&Directory>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let reopened;
        let mut file = match &self.index {
            Index::None => return Ok(None),
            Index::Open(file) => file,
            Index::Version(then) => {
                let git = git.ok_or(ReadError::WrongKind)?;
                let found = git.file(self.prefix.join("index"))?;
                reopened = found.ok_or(ReadError::WrongKind)?.0;
                if version(&fstat(&reopened)?) != *then {
                    return Err(ReadError::WrongKind);
                }
                &reopened
            }
            Index::Unreadable => return Err(ReadError::WrongKind),
        };
        file.seek(SeekFrom::Start(0))?;
        let mut content = Vec::new();
        file.take(Limits::PERSON.bytes as u64).read_to_end(&mut content)?;
        Ok(Some(content))
    }
}
