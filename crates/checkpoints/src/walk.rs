//! One walk of the tree, by several threads, through the descriptors of its directories.
//!
//! No link is followed: each directory is opened by its name in its parent. What the file system says of
//! an entry is compared with what it said at the last walk, and only what differs is read.

#![expect(
    clippy::disallowed_methods,
    reason = "the walk opens each name in the directory before it, with O_NOFOLLOW and O_NONBLOCK"
)]

mod entries;
mod names;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use toolwright_search::{ActiveIgnores, Ignores};

use crate::content;
use crate::head::{Head, Row};
use crate::look::Look;
use crate::options::{Progress, decision};
use crate::state::{SkipReason, What};
use entries::Reserved;
pub(crate) use names::Names;

/// Directories are opened with these flags.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Files that are read. A pipe that has come in place of a file must not be waited for.
pub(crate) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// More threads do not make a walk faster: they wait for each other's directories.
const MAX_THREADS: usize = 8;

/// What a walk needs to know.
pub(crate) struct Walk<'a> {
    pub(crate) root: &'a OwnedFd,
    pub(crate) root_path: &'a Path,
    pub(crate) head: &'a Head,
    pub(crate) own: &'a Gitignore,
    /// `None` to keep what the ignore files leave out.
    pub(crate) ignores: Option<&'a Ignores<'a>>,
    pub(crate) max_file_bytes: u64,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) progress: &'a Progress,
    /// Of this process; 0 may give files any owner.
    pub(crate) user: u32,
}

/// Something that is not as it was.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: Vec<u8>,
    pub(crate) look: Option<Look>,
    /// The time of change to remember.
    pub(crate) ctime: i64,
    pub(crate) what: FoundWhat,
}

#[derive(Debug)]
pub(crate) enum FoundWhat {
    /// A file, with what was read of it.
    File(content::Reading),
    /// Anything else.
    Other(What),
}

/// Marks the entries of the last state that a walk has seen again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenAgain(u64);

impl SeenAgain {
    /// For a new walk.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn mark(self, row: &Row) {
        row.seen.store(self.0, Ordering::Relaxed);
    }

    pub(crate) fn has(self, row: &Row) -> bool {
        row.seen.load(Ordering::Relaxed) == self.0
    }
}

/// A directory to be walked.
struct Task {
    parent: Arc<OwnedFd>,
    path: Vec<u8>,
    /// Where its name begins in the path.
    name: usize,
    rules: Option<ActiveIgnores>,
}

struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    tasks: Vec<Task>,
    working: usize,
    failed: Option<io::Error>,
}

impl Walk<'_> {
    /// Walks the tree, and sends what differs from the last walk.
    pub(crate) fn run(&self, seen: SeenAgain, found: &SyncSender<Found>) -> io::Result<()> {
        let root = Arc::new(rustix::fs::openat(self.root, ".", DIRECTORY, Mode::empty())?);
        let start = Task { parent: root, path: Vec::new(), name: 0, rules: None };
        let state = QueueState { tasks: vec![start], working: 0, failed: None };
        let queue = Queue { state: Mutex::new(state), changed: Condvar::new() };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        thread::scope(|scope| {
            for _ in 1..threads {
                let (queue, found) = (&queue, found.clone());
                // With fewer threads it takes longer.
                let _ = thread::Builder::new()
                    .name("toolwright-walk".to_owned())
                    .spawn_scoped(scope, move || self.work(queue, seen, &found));
            }
            self.work(&queue, seen, found);
        });
        let state = queue.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(()), Err)
    }

    fn work(&self, queue: &Queue, seen: SeenAgain, found: &SyncSender<Found>) {
        /// Lets the others end when this thread panics.
        struct Leave<'a>(&'a Queue, bool);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
                if self.1 {
                    state.working -= 1;
                }
                if thread::panicking() {
                    state.tasks.clear();
                    state.failed.get_or_insert_with(|| io::Error::other("a thread panicked"));
                }
                self.0.changed.notify_all();
            }
        }
        let mut leave = Leave(queue, false);
        let mut children = Vec::new();
        loop {
            let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
            if leave.1 {
                state.working -= 1;
                leave.1 = false;
            }
            state.tasks.append(&mut children);
            if state.tasks.len() > 1 || state.tasks.is_empty() {
                queue.changed.notify_all();
            }
            let task = loop {
                if self.cancel.load(Ordering::Relaxed) {
                    state.tasks.clear();
                }
                if let Some(task) = state.tasks.pop() {
                    break task;
                }
                if state.working == 0 {
                    return;
                }
                state = queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            state.working += 1;
            leave.1 = true;
            drop(state);
            if let Err(error) = self.directory(&task, seen, found, &mut children) {
                children.clear();
                let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.tasks.clear();
                state.failed.get_or_insert(error);
            }
        }
    }

    /// Walks one directory. Fails only if nobody takes what is found, or at the root.
    fn directory(
        &self,
        task: &Task,
        seen: SeenAgain,
        found: &SyncSender<Found>,
        children: &mut Vec<Task>,
    ) -> io::Result<()> {
        let is_root = task.path.is_empty();
        let here = if is_root {
            Arc::clone(&task.parent)
        } else {
            let name = OsStr::from_bytes(&task.path[task.name..]);
            match rustix::fs::openat(&task.parent, name, DIRECTORY, Mode::empty()) {
                Ok(here) => Arc::new(here),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => return Ok(()),
                Err(Errno::MFILE | Errno::NFILE) => return Err(Errno::MFILE.into()),
                Err(_) => return self.skip(&task.path, SkipReason::Unreadable, seen, found),
            }
        };
        let mut names = Names::default();
        let listed = names.read(&here);
        if is_root {
            listed?;
        } else if listed.is_err() {
            return self.skip(&task.path, SkipReason::Unreadable, seen, found);
        }
        let directory = Path::new(OsStr::from_bytes(&task.path));
        let rules = self.ignores.map(|ignores| match &task.rules {
            Some(above) => ignores.enter(above, directory, names.markers),
            None => ignores.begin(names.markers),
        });
        if !is_root {
            let look = Look::of(&rustix::fs::fstat(&here)?);
            self.note(&task.path, &look, look.ctime, What::Directory, seen, found)?;
        }
        let mut path = task.path.clone();
        if !is_root {
            path.push(b'/');
        }
        let start = path.len();
        let mut files = 0;
        for (name, kind) in names.iter() {
            path.truncate(start);
            path.extend_from_slice(name);
            let name = OsStr::from_bytes(name);
            let as_path = Path::new(OsStr::from_bytes(&path));
            let describe = || {
                rustix::fs::statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map(|stat| (Look::of(&stat), stat))
            };
            let (kind, known) = match kind {
                FileType::Unknown => match describe() {
                    Ok(looked) => (looked.0.kind, Some(looked)),
                    Err(_) => continue,
                },
                kind => (kind, None),
            };
            let is_directory = kind == FileType::Directory;
            if self.is_ignored(rules.as_ref(), as_path, is_directory) {
                // What is in an ignored directory is unknown; a file is known again by its inode and time.
                let look = known.or_else(|| (!is_directory).then(|| describe().ok()).flatten());
                let look = look.filter(|_| !is_directory).map(|(look, _)| look);
                self.untracked(&path, What::Ignored, look, seen, found)?;
                continue;
            }
            if is_directory {
                let (parent, path) = (Arc::clone(&here), path.clone());
                children.push(Task { parent, path, name: start, rules: rules.clone() });
                continue;
            }
            files += 1;
            let Some((look, raw)) = known.or_else(|| describe().ok()) else { continue };
            match self.reserved(&raw, as_path) {
                Reserved::No => {}
                Reserved::Ours => continue,
                Reserved::Perhaps => {
                    self.skip(&path, SkipReason::Unreadable, seen, found)?;
                    continue;
                }
            }
            match look.kind {
                FileType::RegularFile => self.file(&here, name, &path, look, seen, found)?,
                FileType::Symlink => self.link(&here, name, &path, look, seen, found)?,
                // It has become one since it was listed; the next walk sees what is in it.
                FileType::Directory => {}
                _ => self.skip(&path, SkipReason::Special, seen, found)?,
            }
        }
        self.progress.add(files, 0);
        Ok(())
    }

    fn is_ignored(&self, rules: Option<&ActiveIgnores>, path: &Path, is_directory: bool) -> bool {
        decision(self.own, path, is_directory).unwrap_or_else(|| match (self.ignores, rules) {
            (Some(ignores), Some(rules)) => ignores.ignores(rules, path, is_directory),
            _ => false,
        })
    }
}
