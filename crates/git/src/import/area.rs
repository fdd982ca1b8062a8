//! What belongs to one work tree: its `HEAD`, its index and its log.
//!
//! The main work tree has these in the git directory itself, and a linked one below `worktrees/NAME`.

mod before;

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::read::Failure;
use super::{Terms, indexes, linked};
use crate::directory::Directory;
use crate::incoming::Incoming;
use crate::index::Index;
use crate::log::{self, Line};
use crate::name;
use crate::object::{Id, Kind};
use crate::refs::{self, Head, RefChange, RefMap, RefValue, Refusal};
use crate::upper::{Bounds, Node, Upper};

pub(super) use before::Before;

/// A command's linked work trees beyond these are not looked at.
const MAX_LINKED: usize = 4096;
/// No file that holds a path is longer.
const MAX_PATH: u64 = 8 << 10;
/// A longer log of a new work tree is not read.
const MAX_LOG: u64 = 16 << 20;

/// What a command has changed of a work tree.
#[derive(Debug)]
pub(super) struct After {
    pub(super) prefix: PathBuf,
    pub(super) head_before: Option<Head>,
    pub(super) head: Option<Head>,
    /// The index before, and as the command left it. `None`: it has not touched it.
    pub(super) indexes: Option<(Index, Index)>,
    /// For one that the command has made: the text that leads to its `.git` file, and its log.
    pub(super) new: Option<(Vec<u8>, Vec<Line>)>,
    pub(super) linked: linked::After,
    /// The top of the work tree.
    pub(super) top: Option<PathBuf>,
}

impl After {
    /// A linked one that the command has removed.
    fn removed(prefix: &Path) -> Self {
        let linked = linked::After { is_removed: true, ..linked::After::default() };
        let prefix = prefix.to_owned();
        Self { prefix, head_before: None, head: None, indexes: None, new: None, linked, top: None }
    }
}

/// What is needed while work trees are read.
pub(super) struct Reader<'r> {
    pub(super) git: &'r Directory,
    pub(super) upper: &'r Upper,
    pub(super) objects: &'r Incoming<'r>,
    pub(super) terms: &'r Terms<'r>,
    pub(super) left_out: Vec<String>,
}

impl Reader<'_> {
    /// What has become of the work trees that there were, and those that a command has made.
    pub(super) fn all(&mut self, before: &[Before]) -> Result<Vec<After>, Failure> {
        let mut all = Vec::new();
        for one in before {
            if linked::is_removed(self.upper, &one.prefix) {
                match linked::may_go(self.git, self.terms, one) {
                    Ok(true) => all.push(After::removed(&one.prefix)),
                    Ok(false) => {}
                    Err(reason) => {
                        let name = one.prefix.display();
                        self.left_out.push(format!("{name} (its removal: {reason})"));
                    }
                }
            } else if let Some(upper) = self.upper.below(&one.prefix)? {
                all.push(self.changed(one, &upper)?);
            }
        }
        let entries = match self.upper.entry(linked::ALL)? {
            Node::Absent | Node::Whiteout => Ok(None),
            _ => self.upper.directory().entries(linked::ALL, MAX_LINKED),
        };
        let entries = entries.unwrap_or_else(|error| {
            self.left_out.push(format!("{} ({error})", linked::ALL));
            None
        });
        for entry in entries.into_iter().flatten() {
            let prefix = Path::new(linked::ALL).join(&entry.name);
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
            linked: linked::After::default(),
            top: self.terms.top.clone(),
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
        match before.index(Some(self.git)) {
            Ok(index) => after.indexes = self.indexes(index, upper, &before.prefix)?,
            Err(error) if before.prefix.as_os_str().is_empty() => return Err(error.into()),
            Err(_) if matches!(upper.entry("index")?, Node::Absent) => {}
            Err(_) => self.left_out.push(before.prefix.join("index").display().to_string()),
        }
        if !before.prefix.as_os_str().is_empty() {
            let place = (self.terms, &*before.prefix);
            self.left_out.extend(linked::unknown(upper, &before.prefix));
            self.left_out.extend(before.linked.changed(upper, place, &mut after.linked));
            after.top = before.linked.top(self.terms, &before.prefix, &after.linked);
            after.linked.refs = self.refs(&before.linked.refs, upper, &before.prefix)?;
        }
        Ok(after)
    }

    /// The references that a linked work tree has for itself.
    fn refs(
        &mut self,
        before: &RefMap,
        upper: &Upper,
        prefix: &Path,
    ) -> Result<Vec<RefChange>, Failure> {
        let changes = refs::changes(before, upper, Bounds::default())?;
        let mut left_out: Vec<PathBuf> = changes.left_out.into_iter().map(|one| one.path).collect();
        let mut accepted = Vec::new();
        for change in changes.refs {
            let is_there = match &change.after {
                Some(RefValue::Id(id)) => self.objects.kind(id)?.is_some(),
                Some(RefValue::Symbolic(_)) => false,
                None => true,
            };
            if is_there && linked::is_own(&change.name) {
                accepted.push(change);
            } else {
                left_out.push(change.name.path().to_owned());
            }
        }
        let named = left_out.iter().map(|path| prefix.join(path).display().to_string());
        self.left_out.extend(named);
        Ok(accepted)
    }

    /// A work tree that a command has made. `None`: it is not what git makes, or lies where no command writes.
    fn made(&mut self, prefix: &Path) -> Result<Option<After>, Failure> {
        let named = prefix.file_name().unwrap_or_default().as_bytes();
        let is_plain = named.iter().all(u8::is_ascii_graphic) && !named.starts_with(b"-");
        if !is_plain || !name::is_allowed_tree_entry(named) || named.ends_with(b".lock") {
            return Ok(None);
        }
        let Some(upper) = self.upper.below(prefix)? else { return Ok(None) };
        let text = |name: &str, limit| upper.read(name, limit).ok().flatten();
        let Some(head) = text("HEAD", MAX_PATH).and_then(|text| Head::parse(&text).ok()) else {
            return Ok(None);
        };
        let Some(lead) = text("gitdir", MAX_PATH) else { return Ok(None) };
        let Some(place) = linked::place(self.terms, prefix, &lead) else { return Ok(None) };
        let is_place = |top: &Path| (self.terms.is_writable)(top) && Directory::open(top).is_ok();
        let top = place.parent().map(Path::to_owned);
        if !top.as_deref().is_some_and(is_place) || !self.is_there(&head)? {
            return Ok(None);
        }
        let lead = linked::text(self.terms, prefix, &place, &lead);
        let lines = text("logs/HEAD", MAX_LOG).unwrap_or_default();
        let mut lines = log::parse(&lines).unwrap_or_default();
        for id in lines.iter().flat_map(|line| [line.old, line.new]).collect::<BTreeSet<_>>() {
            // Git takes a log that names what is not there for a damaged one.
            if id != Id::NONE && self.objects.kind(&id)?.is_none() {
                lines.clear();
            }
        }
        let indexes = self.indexes(None, &upper, prefix)?;
        let mut linked = linked::After::default();
        self.left_out.extend(linked::unknown(&upper, prefix));
        // Where it lies was judged already.
        let left_out = linked::Before::default().changed(&upper, (self.terms, prefix), &mut linked);
        let is_lock = |name: &String| name.ends_with(linked::LOCK);
        self.left_out.extend(left_out.into_iter().filter(is_lock));
        linked.lead = None;
        linked.refs = self.refs(&RefMap::default(), &upper, prefix)?;
        let (prefix, head, new) = (prefix.to_owned(), Some(head), Some((lead, lines)));
        Ok(Some(After { prefix, head_before: None, head, indexes, new, linked, top }))
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
        prefix: &Path,
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
        let own = |id: &Id| indexes::shared(self.git, prefix, id);
        let shared =
            |id: &Id| indexes::shared(upper.directory(), Path::new(""), id).or_else(|| own(id));
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
