//! The tree below a directory, taken apart into tasks in path order. Doing one may bring forth
//! more, which then stand in its place.
//!
//! A search of one thread keeps them on a stack, one of several on a [`Board`](crate::board); both
//! are lazy, and a search that is full after the first file has listed one directory.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::desk::Desk;
use crate::grep::OpenFile;
use crate::ignores::{Ignores, Scope};
use crate::listing::{ListError, Listing, has_moved};
use crate::watch::{Stopped, Watch};

/// What is done with a file that the walk does not pass over.
pub(crate) trait Visit {
    /// False: no other file is wanted.
    fn file(&mut self, path: &Path) -> Result<bool, Stopped>;
}

/// Entries of one directory: a directory, or files that follow each other.
pub(crate) struct Task {
    listing: Arc<Listing>,
    entries: Range<usize>,
    scope: Arc<Scope>,
}

impl Task {
    /// The path of the first entry, relative to the root.
    pub(crate) fn path(&self) -> PathBuf {
        self.listing.path(self.entries.start)
    }
}

/// What all threads of a search have in common.
pub(crate) struct Tree<'a> {
    pub(crate) root: &'a Path,
    pub(crate) open: &'a OpenFile<'a>,
    pub(crate) watch: Watch<'a>,
    pub(crate) ignores: Ignores<'a>,
    /// So many files, if they follow each other in one directory, make a task.
    pub(crate) files_per_task: usize,
}

impl Tree<'_> {
    /// The tasks that `start` comes down to.
    pub(crate) fn begin(&self, start: &Path) -> Result<Vec<Task>, ListError> {
        let listing = Listing::read(self.root, start.to_owned(), self.open, self.watch)?;
        let scope = self.ignores.begin(start, listing.present);
        let mut tasks = Vec::new();
        self.divide(listing, &scope, &mut tasks);
        Ok(tasks)
    }

    /// Does `task`; the tasks in its place are appended to `children`. Stops early when the desk
    /// takes no more.
    pub(crate) fn run(
        &self,
        task: &Task,
        desk: &Desk<'_>,
        visit: &mut dyn Visit,
        children: &mut Vec<Task>,
    ) -> Result<(), Stopped> {
        let Task { listing, entries, scope } = task;
        let mut path = Vec::with_capacity(256);
        for index in entries.clone() {
            let is_dir = listing.is_dir(index);
            listing.path_into(index, &mut path);
            let path = Path::new(OsStr::from_bytes(&path));
            if self.ignores.skips(scope, path, listing.name(index), is_dir) {
                continue;
            }
            desk.enter(path);
            if is_dir {
                self.enter(path, scope, desk, children)?;
            } else if !visit.file(path)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        dir: &Path,
        scope: &Arc<Scope>,
        desk: &Desk<'_>,
        children: &mut Vec<Task>,
    ) -> Result<(), Stopped> {
        self.watch.check()?;
        desk.count();
        match Listing::read(self.root, dir.to_owned(), self.open, self.watch) {
            Ok(listing) => {
                let scope = self.ignores.enter(scope, dir, listing.present);
                self.divide(listing, &scope, children);
            }
            Err(ListError::Stopped(stopped)) => return Err(stopped),
            Err(ListError::Failed(error)) if has_moved(&error) => {}
            Err(ListError::Failed(error)) => desk.skip(dir, error.to_string()),
        }
        Ok(())
    }

    fn divide(&self, listing: Listing, scope: &Arc<Scope>, tasks: &mut Vec<Task>) {
        let listing = Arc::new(listing);
        let mut start = 0;
        while start < listing.len() {
            let files = (start..listing.len())
                .take(self.files_per_task)
                .take_while(|&index| !listing.is_dir(index))
                .count();
            let entries = start..start + files.max(1);
            start = entries.end;
            tasks.push(Task { listing: Arc::clone(&listing), entries, scope: Arc::clone(scope) });
        }
    }
}
