//! Where git would discover a repository below a directory.
//!
//! Git takes a directory for a repository if there is a `.git` in it, or if it looks like a git directory itself: a
//! `HEAD`, with `objects` and `refs` or with a `commondir`, whatever kinds of files these are. The first look
//! reads all directories. Later ones read those that have changed: the kernel reports names that are made, and
//! where it does not, the times at which directories changed tell. Both are exact once a command has ended.

mod closed;
mod events;
mod signs;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Stat, statat};

use crate::directory::{Directory, Entry, ReadError, read_followed};
use events::Events;
pub use signs::{Sign, signs_of};

/// How many directories are looked at. Where there are more, those near the root count.
const MAX_DIRECTORIES: usize = 1_000_000;
/// How many directories in one directory are read. A million files in it do not hide what git looks for.
const MAX_ENTRIES: usize = 2_000_000;
/// How many directories the kernel reports on. Each costs it about a kilobyte, and of what a user may have of
/// them, other programs get most.
const MAX_WATCHED: usize = 65_536;
const SHARE: usize = 8;
/// What a user may have where the kernel does not tell.
const USUAL: usize = 65_536;
/// A directory that has changed within this time before it was read may change again without another time.
const GRANULARITY_NS: i128 = 20_000_000;

/// What is known about a tree.
#[derive(Debug)]
pub struct Discovery {
    top: Directory,
    events: Option<Events>,
    directories: BTreeMap<PathBuf, ScannedDirectory>,
    found: BTreeMap<PathBuf, Vec<Sign>>,
    /// Whether some directories were not looked at.
    is_partial: bool,
}

/// A directory as it was when it was read.
#[derive(Debug)]
struct ScannedDirectory {
    version: Version,
    is_watched: bool,
    /// The directories in it.
    below: BTreeSet<OsString>,
}

/// Which directory it is, and when it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: i128,
    is_settled: bool,
}

impl Discovery {
    /// Reads all directories below `top`.
    pub fn begin(top: &Path) -> Result<Self, ReadError> {
        let top = Directory::open(top)?;
        let mut discovery = Self {
            top,
            events: Events::new(),
            directories: BTreeMap::new(),
            found: BTreeMap::new(),
            is_partial: false,
        };
        discovery.read(vec![PathBuf::from(".")]);
        Ok(discovery)
    }

    /// The places below the top at which git would discover a repository, and by what.
    #[must_use]
    pub fn found(&self) -> &BTreeMap<PathBuf, Vec<Sign>> {
        &self.found
    }

    /// Whether git would discover a repository at a place by this.
    #[must_use]
    pub fn has(&self, place: &Path, sign: Sign) -> bool {
        self.found.get(place).is_some_and(|signs| signs.contains(&sign))
    }

    /// Whether there are more directories than are looked at.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Looks again at what has changed, and returns the directories in which names were made or removed.
    pub fn look(&mut self) -> BTreeSet<PathBuf> {
        let mut changed: Vec<PathBuf> = Vec::new();
        match self.events.as_mut().map(Events::take) {
            Some(Some(reported)) => changed.extend(reported),
            // Some were lost, or nothing is reported.
            Some(None) => {
                self.events = None;
                self.directories.values_mut().for_each(|known| known.is_watched = false);
            }
            None => {}
        }
        for (path, known) in &self.directories {
            if !known.is_watched {
                let now = Version::of(&self.top, path);
                if now.is_none_or(|now| now != known.version || !known.version.is_settled) {
                    changed.push(path.clone());
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        self.read(changed)
    }

    /// Whether there is a directory at a path, as far as that was looked at.
    #[must_use]
    pub fn has_directory(&self, path: &Path) -> bool {
        self.directories.contains_key(path)
    }

    /// Reads directories, and those below them that were not known. Returns what was read.
    fn read(&mut self, first: Vec<PathBuf>) -> BTreeSet<PathBuf> {
        let mut left = VecDeque::from(first);
        let mut read = BTreeSet::new();
        while let Some(path) = left.pop_front() {
            if self.directories.len() >= MAX_DIRECTORIES && !self.directories.contains_key(&path) {
                self.is_partial = true;
                return read;
            }
            read.insert(path.clone());
            // What is made before it is read is read, and what is made later is reported.
            let watched = self.directories.len() < *max_watched();
            let is_watched = match self.events.as_mut().filter(|_| watched) {
                Some(events) => events.add(&self.top, &path),
                None => false,
            };
            let version = Version::of(&self.top, &path);
            let entries = self.top.entries_where(&path, MAX_ENTRIES, |name, kind| {
                kind == FileType::Directory || signs::is_one(name)
            });
            let entries = entries.ok().flatten();
            let (Some(version), Some(entries)) = (version, entries) else {
                self.forget(&path);
                if version.is_some() && closed::open_to_owner(&self.top, &path) {
                    left.push_front(path);
                } else if let Some(version) = version {
                    // It cannot be read now. Whoever changes that changes no name.
                    let version = Version { is_settled: false, ..version };
                    let now =
                        ScannedDirectory { version, is_watched: false, below: BTreeSet::new() };
                    self.directories.insert(path, now);
                }
                continue;
            };
            let signs = signs::in_entries(&self.top, &path, &entries);
            let is_entered = |entry: &Entry| {
                entry.kind == FileType::Directory && !is_repository_itself(&entry.name)
            };
            let inside: BTreeSet<OsString> =
                entries.into_iter().filter(is_entered).map(|entry| entry.name).collect();
            let now = ScannedDirectory { version, is_watched, below: inside.clone() };
            if let Some(was) = self.directories.insert(path.clone(), now) {
                for gone in was.below.difference(&inside) {
                    self.forget(&below(&path, gone));
                }
            }
            if signs.is_empty() {
                self.found.remove(&path);
            } else {
                self.found.insert(path.clone(), signs);
            }
            for name in inside {
                let below = below(&path, &name);
                let is_known = self.directories.get(&below).is_some_and(|known| {
                    let now = Version::of(&self.top, &below);
                    now.is_some_and(|now| now.is_same_directory(&known.version))
                });
                if !is_known {
                    left.push_back(below);
                }
            }
        }
        read
    }

    fn forget(&mut self, path: &Path) {
        self.directories.remove(path);
        self.found.remove(path);
        self.forget_below(path);
    }

    fn forget_below(&mut self, path: &Path) {
        let from = (Bound::Excluded(path), Bound::Unbounded);
        let is_below = |one: &&PathBuf| path == Path::new(".") || one.starts_with(path);
        let gone = self.directories.range::<Path, _>(from).map(|(one, _)| one).take_while(is_below);
        for one in gone.cloned().collect::<Vec<_>>() {
            self.directories.remove(&one);
            self.found.remove(&one);
        }
    }
}

fn max_watched() -> &'static usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    MAX.get_or_init(|| {
        let limit = read_followed(Path::new("/proc/sys/fs/inotify/max_user_watches"), 64);
        let limit = limit.ok().flatten().and_then(|text| String::from_utf8(text).ok());
        let limit = limit.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(USUAL);
        (limit / SHARE).min(MAX_WATCHED)
    })
}

/// Nothing below a git directory is a place where git looks for another.
fn is_repository_itself(name: &OsStr) -> bool {
    name == ".git"
}

fn below(directory: &Path, name: &OsStr) -> PathBuf {
    if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) }
}

impl Version {
    fn of(top: &Directory, path: &Path) -> Option<Self> {
        let stat = statat(top, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_dir().then(|| Self::new(&stat))
    }

    fn is_same_directory(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn new(stat: &Stat) -> Self {
        let changed = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed,
            is_settled: now - changed > GRANULARITY_NS,
        }
    }
}
