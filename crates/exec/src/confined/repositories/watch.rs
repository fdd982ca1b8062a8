//! Where repositories come into being.
//!
//! The kernel reports names that are made in a directory. So only the first command in a root reads its
//! directories, and later ones ask whether there is news. Where the kernel cannot report, the directories
//! are read each time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use toolwright_git::directory::{Directory, Entry};

/// How deep below the root a directory may lie that holds a repository.
const MAX_DEPTH: usize = 3;
/// How many directories are watched, those near the root first.
const MAX_DIRECTORIES: usize = 4096;
/// How many are read once there are more, and where none is watched.
const MAX_READ: usize = 1024;
/// How many entries are read at once, of all directories.
const MAX_ENTRIES: usize = 1 << 17;
/// How many names made in the root are remembered.
const MAX_NAMES: usize = 4096;
/// Directories of which nobody would make one, with very many in them.
const NOT_IN: [&str; 2] = [".git", "node_modules"];

#[derive(Debug)]
pub(super) struct Watch {
    root: PathBuf,
    /// Which directory the root was. Its path may get another one, of which the kernel reports nothing.
    identity: Option<(u64, u64)>,
    events: Option<Events>,
}

#[derive(Debug)]
struct Events {
    queue: OwnedFd,
    directories: HashMap<i32, (PathBuf, usize)>,
}

impl Watch {
    /// Begins, with the directories that hold a repository now.
    pub(super) fn begin(root: &Path) -> (Self, News) {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let events = queue.ok().map(|queue| Events { queue, directories: HashMap::new() });
        let identity = identity_of(root);
        let mut watch = Self { root: root.to_owned(), identity, events };
        let places = watch.read(root.to_owned(), 0);
        (watch, News { places, names: Names::Unknown })
    }

    /// What was made since the last time.
    pub(super) fn news(&mut self) -> News {
        let root = self.root.clone();
        let is_same = identity_of(&root) == self.identity;
        let Some(events) = &mut self.events else {
            return News { places: self.read(root, 0), names: Names::Unknown };
        };
        let made = if is_same { events.take(&root) } else { None };
        let Some(Made { places, directories, names }) = made else {
            // Some were lost.
            let (watch, news) = Self::begin(&root);
            *self = watch;
            return news;
        };
        let mut places: Vec<PathBuf> = places.into_iter().collect();
        for (directory, depth) in directories {
            places.extend(self.read(directory, depth));
        }
        News { places, names: Names::Of(root, names) }
    }

    /// Reads a directory and those in it, and has the kernel report what is made there from now on.
    fn read(&mut self, first: PathBuf, depth: usize) -> Vec<PathBuf> {
        let mut places = Vec::new();
        let mut queue = VecDeque::from([(first, depth)]);
        let (mut left, mut entries_left) = (MAX_READ, MAX_ENTRIES);
        while let Some((directory, depth)) = queue.pop_front() {
            match &mut self.events {
                // What is made before it is read is read, and what is made later is reported.
                Some(events) => match events.add(&directory, depth) {
                    Ok(true) => {}
                    // It is read once, as it came.
                    Ok(false) if left > 0 => left -= 1,
                    Ok(false) => break,
                    Err(Errno::NOSPC | Errno::NOMEM) => self.events = None,
                    Err(_) => continue,
                },
                None if left == 0 => break,
                None => left -= 1,
            }
            let entries =
                Directory::open(&directory).and_then(|one| one.entries(".", entries_left));
            let Ok(Some(entries)) = entries else { continue };
            entries_left = entries_left.saturating_sub(entries.len());
            let mut holds_one = false;
            for Entry { name, kind } in entries {
                holds_one |= is_sign(&name, depth);
                if kind.is_dir() && depth < MAX_DEPTH && !is_passed_over(&name) {
                    queue.push_back((directory.join(name), depth + 1));
                }
            }
            if holds_one {
                places.push(directory);
            }
        }
        places
    }
}

/// What was made since the last time.
#[derive(Debug)]
pub(super) struct News {
    /// Directories in which there may be a repository.
    pub(super) places: Vec<PathBuf>,
    pub(super) names: Names,
}

/// The names that were made in the root.
#[derive(Debug, Default)]
pub(super) enum Names {
    #[default]
    Unknown,
    Of(PathBuf, HashSet<OsString>),
}

impl Names {
    pub(super) fn none(root: &Path) -> Self {
        Self::Of(root.to_owned(), HashSet::new())
    }

    pub(super) fn add(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Of(_, names), Self::Of(_, more)) if names.len() + more.len() <= MAX_NAMES => {
                names.extend(more);
            }
            _ => *self = Self::Unknown,
        }
    }

    /// Whether a path may have come into being.
    pub(super) fn may_hold(&self, path: &Path) -> bool {
        match self {
            Self::Unknown => true,
            // Only directly in the root is it known.
            Self::Of(root, names) => {
                path.parent() != Some(root)
                    || path.file_name().is_some_and(|name| names.contains(name))
            }
        }
    }
}

/// Names that were made.
#[derive(Debug, Default)]
struct Made {
    places: HashSet<PathBuf>,
    directories: Vec<(PathBuf, usize)>,
    names: HashSet<OsString>,
}

impl Events {
    /// `false`: there are too many.
    fn add(&mut self, directory: &Path, depth: usize) -> Result<bool, Errno> {
        if self.directories.len() >= MAX_DIRECTORIES {
            return Ok(false);
        }
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let number = inotify::add_watch(&self.queue, directory, flags)?;
        self.directories.insert(number, (directory.to_owned(), depth));
        Ok(true)
    }

    /// What was reported; `None` if some of it was lost.
    fn take(&mut self, root: &Path) -> Option<Made> {
        let mut news = Made::default();
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => return Some(news),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            if event.events().contains(ReadFlags::IGNORED) {
                // A new root may have got the number of the one that was removed.
                match self.directories.remove(&event.wd()) {
                    Some((_, 0)) => return None,
                    _ => continue,
                }
            }
            let Some((directory, depth)) = self.directories.get(&event.wd()) else { continue };
            let Some(name) = event.file_name() else { continue };
            let name = OsStr::from_bytes(name.to_bytes());
            if directory == root {
                news.names.insert(name.to_owned());
            }
            if is_sign(name, *depth) {
                news.places.insert(directory.clone());
            }
            let is_directory = event.events().contains(ReadFlags::ISDIR);
            if is_directory && *depth < MAX_DEPTH && !is_passed_over(name) {
                news.directories.push((directory.join(name), depth + 1));
            }
        }
    }
}

fn identity_of(directory: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(directory).ok()?;
    Some((found.dev(), found.ino()))
}

/// Whether a directory with this name in it may be a repository, or hold one. `.git` of the root itself is
/// protected, or taken over.
fn is_sign(name: &OsStr, depth: usize) -> bool {
    name == ".git" && depth > 0 || name == "HEAD"
}

fn is_passed_over(name: &OsStr) -> bool {
    NOT_IN.iter().any(|one| name == *one)
}
