//! The repositories of submodules: `modules/NAME` in the git directory of the repository above.
//!
//! Each is a repository of its own, and comes back as one. Those that a command has made are made anew by the
//! host, and those that it has deleted stay.

mod find;
mod place;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::apply::NotWritten;
use super::read::Failure;
use super::{Note, Snapshot, Terms, area, new_repository, settings, try_import};
use crate::config::{New, Value};
use crate::directory::Directory;
use crate::upper::{Node, Upper};

pub(super) use find::{find, is_begun, is_repository};
pub(super) use place::{clean, leads_to, may_be_staged, relative};

/// The directory of submodules.
pub(super) const MODULES: &str = "modules";
/// How deep submodules lie in each other.
pub(super) const MAX_DEPTH: usize = 8;
/// How many submodules there are, in each other or not.
pub(super) const MAX_MODULES: usize = 512;
/// How many that were left out are named.
const MAX_NAMED: usize = 100;
/// No further submodule is begun after this time.
const MAX_TIME: Duration = Duration::from_secs(180);

/// How much more an import may read.
#[derive(Debug)]
pub(super) struct Budget {
    depth: usize,
    modules: usize,
    until: Instant,
    /// Whether the repository is being made: what it refers to has to be there.
    pub(super) is_new: bool,
    /// The values of `core.worktree` that the submodule gets, if these were decided.
    pub(super) work_tree: Option<Vec<Value>>,
}

impl Budget {
    pub(super) fn all() -> Self {
        let until = Instant::now() + MAX_TIME;
        Self { depth: MAX_DEPTH, modules: MAX_MODULES, until, is_new: false, work_tree: None }
    }

    /// Does something with a submodule. `None`: there were too many.
    fn one<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth == 0 || self.modules == 0 || Instant::now() > self.until {
            return None;
        }
        self.modules -= 1;
        self.depth -= 1;
        let is_new = std::mem::replace(&mut self.is_new, false);
        let read = read(self);
        self.is_new = is_new;
        self.depth += 1;
        Some(read)
    }
}

/// Which submodules are brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those of work trees that were there.
    Before,
    /// Those of linked work trees that the command has made, which were brought back before.
    OfNewTrees,
}

/// Brings back what a command has changed in submodules. A lock of one of them lets everything wait. `areas` are the work
/// trees that it has changed.
pub(super) fn import(
    git: &Directory,
    snapshot: &Snapshot,
    (upper, areas): (&Upper, &[area::After]),
    terms: &Terms<'_>,
    which: Which,
    budget: &mut Budget,
) -> Result<Vec<Note>, NotWritten> {
    let mut reader = Reader {
        git,
        snapshot,
        upper,
        areas,
        terms,
        which,
        notes: Vec::new(),
        left_out: Vec::new(),
    };
    if which == Which::OfNewTrees && areas.iter().all(|area| area.new.is_none()) {
        return Ok(Vec::new());
    }
    match upper.entry(MODULES).map_err(Failure::from)? {
        Node::File(_) | Node::Odd if which == Which::Before => {
            reader.left_out.push(MODULES.to_owned());
        }
        _ => {}
    }
    reader.made(budget)?;
    for (path, before) in &snapshot.modules {
        if which == Which::Before {
            reader.known(path, before.as_ref(), budget)?;
        }
    }
    let Reader { mut notes, mut left_out, .. } = reader;
    left_out.truncate(MAX_NAMED);
    if !left_out.is_empty() {
        notes.push(Note::LeftOut(left_out));
    }
    Ok(notes)
}

/// The work tree that a submodule gets instead of another one, or none.
struct Moved(Option<PathBuf>);

struct Reader<'r> {
    git: &'r Directory,
    snapshot: &'r Snapshot,
    upper: &'r Upper,
    areas: &'r [area::After],
    terms: &'r Terms<'r>,
    which: Which,
    notes: Vec<Note>,
    left_out: Vec<String>,
}

impl Reader<'_> {
    /// The top of the work tree that a submodule lies in.
    fn top(&self, path: &Path) -> Option<PathBuf> {
        let (prefix, _) = find::parts(path)?;
        if prefix.as_os_str().is_empty() {
            return self.terms.top.clone();
        }
        self.areas.iter().find(|area| area.prefix == prefix)?.top.clone()
    }

    /// Whether it belongs to those that are brought back.
    fn is_meant(&self, path: &Path) -> bool {
        let prefix = find::parts(path).map(|(prefix, _)| prefix);
        let is_new = |area: &area::After| area.new.is_some() && Some(&*area.prefix) == prefix;
        (self.which == Which::OfNewTrees) == self.areas.iter().any(is_new)
    }

    /// A submodule that there was when the fork began.
    fn known(
        &mut self,
        path: &Path,
        before: Option<&Snapshot>,
        budget: &mut Budget,
    ) -> Result<(), NotWritten> {
        match (self.upper.entry(path).unwrap_or(Node::Odd), before) {
            (Node::Absent, _) => {}
            // It is kept: its branches may exist nowhere else.
            (Node::Whiteout, _) => self.leave_out(path, " (its deletion)"),
            (Node::Directory { .. }, Some(before)) => {
                let host = self.git.below(path).map_err(Failure::from)?;
                let changes = self.upper.directory().below(path).map_err(Failure::from)?;
                match (host, changes) {
                    (Some(host), Some(changes)) => {
                        self.changed(path, &host, before, &changes, budget)?;
                    }
                    _ => self.leave_out(path, ""),
                }
            }
            (Node::Directory { .. } | Node::File(_) | Node::Odd, _) => self.leave_out(path, ""),
        }
        Ok(())
    }

    fn changed(
        &mut self,
        path: &Path,
        host: &Directory,
        before: &Snapshot,
        changes: &Directory,
        budget: &mut Budget,
    ) -> Result<(), NotWritten> {
        let config = settings::read(host).into_iter().next().unwrap_or_default();
        let moved = self.moved(path, before, changes);
        let top = match &moved {
            Some(Moved(tree)) => tree.clone(),
            None => place::named(self.terms, path, &config),
        };
        let terms = place::terms(self.terms, path, top);
        let way = |tree: PathBuf| Some(place::relative(&terms.git, &tree));
        let read = budget.one(|budget| {
            budget.work_tree = moved.map(|Moved(tree)| tree.map(way).into_iter().collect());
            try_import(host, before, changes, &terms, budget)
        });
        self.take(path, read)
    }

    /// The work tree that a command has given a submodule, or taken from it: git does so as it checks it out,
    /// and moves it. `None`: neither, or one that is not accepted.
    fn moved(&self, path: &Path, before: &Snapshot, changes: &Directory) -> Option<Moved> {
        let view = changes.read("config", settings::MAX_CONFIG).ok()??;
        let now = place::named(self.terms, path, &view);
        if now == place::named(self.terms, path, &before.configs[0]) {
            return None;
        }
        // One that is moved is there. Another name alone would take the submodule from where it is.
        let is_there = |tree: &PathBuf| Directory::open(tree).is_ok();
        let moved = place::accepted(self.terms, self.top(path).as_deref(), path, &view).ok()?;
        moved.as_ref().is_none_or(is_there).then_some(Moved(moved))
    }

    /// The submodules that a command has made.
    fn made(&mut self, budget: &mut Budget) -> Result<(), NotWritten> {
        let known = |path: &Path| self.snapshot.modules.contains_key(path);
        let is_module =
            |path: &Path, directory: &Directory| known(path) || is_begun(path, directory);
        let changes = self.upper.directory();
        let linked = area::Before::linked(changes);
        let found = linked.and_then(|linked| find(changes, &linked, MAX_MODULES * 2, is_module));
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.left_out.push(format!("{MODULES} ({error})"));
                return Ok(());
            }
        };
        if !found.is_whole {
            self.left_out.push(format!("{MODULES} (more than can be read)"));
        }
        let meant: Vec<_> =
            found.modules.iter().filter(|path| !known(path) && self.is_meant(path)).collect();
        for path in meant {
            let content = self.upper.directory().below(path).map_err(Failure::from)?;
            let Some(content) = content.filter(|_| place::is_plain(path)) else {
                self.leave_out(path, "");
                continue;
            };
            self.create(path, &content, budget)?;
        }
        Ok(())
    }

    fn create(
        &mut self,
        path: &Path,
        content: &Directory,
        budget: &mut Budget,
    ) -> Result<(), NotWritten> {
        let config = settings::read(content).into_iter().next().unwrap_or_default();
        let work_tree = match place::accepted(self.terms, self.top(path).as_deref(), path, &config)
        {
            Ok(work_tree) => work_tree,
            Err(reason) => {
                self.leave_out(path, &format!(" ({reason})"));
                return Ok(());
            }
        };
        let terms = place::terms(self.terms, path, work_tree.clone());
        if let Ok(Some(host)) = self.git.below(path)
            && is_repository(path, &host)
        {
            // An import that had to wait has made it, or another program has meanwhile.
            if !self.snapshot.has_all_modules {
                self.leave_out(path, "");
                return Ok(());
            }
            let before = Snapshot::of_nothing();
            return self.changed(path, &host, &before, content, budget);
        }
        let (tree, _) = find::parts(path).unwrap_or((Path::new("."), path));
        let tree = if tree.as_os_str().is_empty() { Path::new(".") } else { tree };
        let is_there = self.git.below(tree).map_err(Failure::from)?.is_some();
        let made = if is_there { make(self.git, path).map_err(Failure::from)? } else { None };
        let Some(host) = made else {
            self.leave_out(path, "");
            return Ok(());
        };
        let way = work_tree.map(|tree| place::relative(&self.terms.git.join(path), &tree));
        let new = New { is_bare: false, worktree: way.as_deref(), origin: None };
        let made = budget.one(|budget| new_repository::make(&host, content, &new, &terms, budget));
        let is_made = matches!(made, Some(Ok(Some(_))));
        let result = self.take(path, made.map(|made| made.map(Option::unwrap_or_default)));
        if !is_made {
            remove_empty(self.git, path);
        }
        result
    }

    fn take(
        &mut self,
        path: &Path,
        read: Option<Result<Vec<Note>, NotWritten>>,
    ) -> Result<(), NotWritten> {
        match read {
            None => self.leave_out(path, " (there are too many)"),
            Some(Ok(notes)) => self.notes.extend(notes.into_iter().map(|note| note.within(path))),
            Some(Err(NotWritten::Locked(lock))) => {
                return Err(NotWritten::Locked(path.join(lock)));
            }
            Some(Err(NotWritten::Failed(failure))) => {
                self.notes.push(Note::Failed(failure.to_string()).within(path));
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.left_out.push(format!("{}{why}", path.display()));
    }
}

/// Makes an empty directory, and those above it. `None`: something is in its place.
fn make(git: &Directory, path: &Path) -> Result<Option<Directory>, crate::directory::ReadError> {
    let mut so_far = PathBuf::new();
    for part in path {
        let above = if so_far.as_os_str().is_empty() { Path::new(".") } else { &so_far };
        let Some(above) = git.below(above)? else { return Ok(None) };
        if !so_far.as_os_str().is_empty() && is_repository(&so_far, &above) {
            return Ok(None);
        }
        match rustix::fs::mkdirat(&above, part, Mode::from(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        so_far.push(part);
    }
    match git.below(path) {
        Err(crate::directory::ReadError::WrongKind) => Ok(None),
        made => made,
    }
}

/// Removes directories that are empty, from a path upwards.
pub(super) fn remove_empty(git: &Directory, path: &Path) {
    for path in path.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if rustix::fs::unlinkat(git, path, rustix::fs::AtFlags::REMOVEDIR).is_err() {
            return;
        }
    }
}
