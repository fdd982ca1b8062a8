//! What belongs to one work tree: its `HEAD`, its index and its log.
//!
//! The main work tree has these in the git directory itself, and a linked one below `worktrees/NAME`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::indexes;
use super::read::Failure;
use crate::directory::{Directory, ReadError};
use crate::incoming::Incoming;
use crate::index::{Index, Limits};
use crate::log::{self, Line};
use crate::name;
use crate::object::{Id, Kind};
use crate::refs::{self, Head, Refusal};
use crate::upper::{Node, Upper};

/// The directory of linked work trees.
const LINKED: &str = "worktrees";
/// How many linked work trees are looked at.
const MAX_LINKED: usize = 256;
/// No file that holds a path is longer.
const MAX_PATH: u64 = 8 << 10;
/// A longer log of a new work tree is not read.
const MAX_LOG: u64 = 16 << 20;

/// A work tree as commands saw it.
#[derive(Debug)]
pub(super) struct Before {
    /// Where its files are in the git directory. Empty for the main one.
    pub(super) prefix: PathBuf,
    pub(super) head: Option<Head>,
    /// Git replaces its index, so an open one stays as it was.
    pub(super) index: Option<File>,
}

/// What a command has changed of a work tree.
#[derive(Debug)]
pub(super) struct After {
    pub(super) prefix: PathBuf,
    pub(super) head_before: Option<Head>,
    pub(super) head: Option<Head>,
    /// The index before, and as the command left it. `None`: it has not touched it.
    pub(super) indexes: Option<(Index, Index)>,
    /// For one that the command has made: where its `.git` file lies, and its log.
    pub(super) new: Option<(PathBuf, Vec<Line>)>,
}

impl Before {
    /// The work trees of a repository.
    pub(super) fn all(git: &Directory) -> Result<Vec<Self>, ReadError> {
        let linked = match git.entries(LINKED, MAX_LINKED) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(ReadError::WrongKind) => Vec::new(),
            Err(error) => return Err(error),
        };
        let linked = linked.into_iter().filter(|entry| entry.kind == FileType::Directory);
        let linked = linked.map(|entry| Path::new(LINKED).join(entry.name));
        std::iter::once(PathBuf::new()).chain(linked).map(|prefix| Self::one(git, prefix)).collect()
    }

    /// The main work tree of a directory that had nothing.
    pub(super) fn nothing() -> Self {
        Self { prefix: PathBuf::new(), head: None, index: None }
    }

    fn one(git: &Directory, prefix: PathBuf) -> Result<Self, ReadError> {
        let directory = git.below(place(&prefix))?;
        let head = directory.as_ref().and_then(|directory| refs::read_head(directory).ok());
        let index = match &directory {
            Some(directory) => directory.file("index")?.map(|(file, _)| file),
            None => None,
        };
        Ok(Self { prefix, head, index })
    }

    /// The index. `None`: there was none.
    pub(super) fn index(&self) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(mut file) = self.index.as_ref() else { return Ok(None) };
        file.seek(SeekFrom::Start(0))?;
        let mut content = Vec::new();
        file.take(Limits::PERSON.bytes as u64).read_to_end(&mut content)?;
        Ok(Some(content))
    }
}

/// What is needed while work trees are read.
pub(super) struct Reader<'r> {
    pub(super) git: &'r Directory,
    pub(super) upper: &'r Upper,
    pub(super) objects: &'r Incoming<'r>,
    pub(super) is_writable: &'r dyn Fn(&Path) -> bool,
    pub(super) left_out: Vec<String>,
}

impl Reader<'_> {
    /// What has become of the work trees that there were, and those that a command has made.
    pub(super) fn all(&mut self, before: &[Before]) -> Result<Vec<After>, Failure> {
        let mut all = Vec::new();
        for one in before {
            if let Some(directory) = self.upper.directory().below(place(&one.prefix))? {
                all.push(self.changed(one, &Upper::from(directory))?);
            }
        }
        let entries = match self.upper.directory().entries(LINKED, MAX_LINKED) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        for entry in entries {
            let prefix = Path::new(LINKED).join(&entry.name);
            let is_known = before.iter().any(|one| one.prefix == prefix);
            if is_known || entry.kind != FileType::Directory {
                continue;
            }
            match self.made(&prefix)? {
                Some(made) => all.push(made),
                None => self.left_out.push(prefix.to_string_lossy().into_owned()),
            }
        }
        Ok(all)
    }

    fn changed(&mut self, before: &Before, upper: &Upper) -> Result<After, Failure> {
        let mut after = After {
            prefix: before.prefix.clone(),
            head_before: before.head.clone(),
            head: None,
            indexes: None,
            new: None,
        };
        if let Some(head_before) = &before.head {
            let name = || before.prefix.join("HEAD").to_string_lossy().into_owned();
            match refs::head_change(head_before, upper) {
                Ok(Some(head)) if !self.is_there(&head)? => self.left_out.push(name()),
                Ok(head) => after.head = head,
                Err(Refusal::Deleted) => {}
                Err(_) => self.left_out.push(name()),
            }
        }
        after.indexes = self.indexes(before.index()?, upper)?;
        Ok(after)
    }

    /// A work tree that a command has made. `None`: it is not what git makes, or lies where no command writes.
    fn made(&self, prefix: &Path) -> Result<Option<After>, Failure> {
        let named = prefix.file_name().unwrap_or_default().as_bytes();
        let is_plain = named.iter().all(u8::is_ascii_graphic) && !named.starts_with(b"-");
        if !is_plain || !name::is_allowed_tree_entry(named) || named.ends_with(b".lock") {
            return Ok(None);
        }
        let Some(directory) = self.upper.directory().below(prefix)? else { return Ok(None) };
        let upper = Upper::from(directory);
        let text = |name: &str, limit| upper.read(name, limit).ok().flatten();
        let Some(head) = text("HEAD", MAX_PATH).and_then(|text| Head::parse(&text).ok()) else {
            return Ok(None);
        };
        let Some(lead) = text("gitdir", MAX_PATH) else { return Ok(None) };
        let lead = PathBuf::from(OsStr::from_bytes(lead.trim_ascii_end()));
        let is_place = lead.is_absolute()
            && lead.file_name() == Some(OsStr::new(".git"))
            && !lead.as_os_str().as_bytes().iter().any(u8::is_ascii_control)
            && lead
                .parent()
                .is_some_and(|top| (self.is_writable)(top) && Directory::open(top).is_ok());
        if !is_place || !self.is_there(&head)? {
            return Ok(None);
        }
        let lines = text("logs/HEAD", MAX_LOG).unwrap_or_default();
        let lines = log::parse(&lines).unwrap_or_default();
        let indexes = self.indexes(None, &upper)?;
        let (prefix, head) = (prefix.to_owned(), Some(head));
        Ok(Some(After { prefix, head_before: None, head, indexes, new: Some((lead, lines)) }))
    }

    /// Whether what is checked out is a commit that is there.
    fn is_there(&self, head: &Head) -> Result<bool, Failure> {
        let Head::Detached(id) = head else { return Ok(true) };
        Ok(self.objects.kind(id)? == Some(Kind::Commit))
    }

    fn indexes(
        &self,
        before: Option<Vec<u8>>,
        upper: &Upper,
    ) -> Result<Option<(Index, Index)>, Failure> {
        // Trees are read to expand a sparse index. No larger one is.
        const MAX_TREE: u64 = 16 << 20;
        if !matches!(upper.entry("index")?, Node::File(_)) {
            return Ok(None);
        }
        let Some(view) = indexes::read(upper.directory())? else { return Ok(None) };
        let tree = |id: &Id| match self.objects.object(id, MAX_TREE) {
            Ok(Some((Kind::Tree, content))) => Some(content),
            _ => None,
        };
        let own = |id: &Id| indexes::shared(self.git, id);
        let shared = |id: &Id| indexes::shared(upper.directory(), id).or_else(|| own(id));
        let length = before.as_ref().map_or(0, Vec::len);
        let before = match before {
            Some(bytes) => indexes::of_person(&bytes, &own, &tree)?,
            None => Index::default(),
        };
        let view = indexes::of_command(&view, length, &shared, &tree)?;
        Ok(Some((before, view)))
    }
}

/// A prefix as the path of a directory.
pub(super) fn place(prefix: &Path) -> &Path {
    if prefix.as_os_str().is_empty() { Path::new(".") } else { prefix }
}
