//! The locations of credentials.
//!
//! Every command asks for them, and the table is long. So the result is kept with the directories
//! that it depends on. As long as none of them gains or loses an entry, there is no other store.
//! That takes a look at about five directories instead of one at each location.

mod table;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::stamp::Watched;
pub use table::{HELD_WHEN_ABSENT, Moves, SERVICE_STORES, STORES, SYSTEM_STORES, VARIABLES};

#[derive(Debug)]
pub(super) struct Located {
    pub(super) there: Vec<Store>,
    /// Places where a command could put a file that a program obeys later, and where none is yet.
    pub(super) absent: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    /// Variables by their place in the table, with their values, in the order of the environment.
    moved: Vec<(usize, OsString)>,
    /// The directories that the result depends on.
    watched: Watched,
    /// Whether every timestamp was old enough to cache the result.
    is_settled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Store {
    pub(super) named: PathBuf,
    /// With links followed: it is what they lead to that is to be closed.
    pub(super) real: PathBuf,
    /// Why it is closed.
    pub(super) rule: Rule,
}

/// Why a store is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// One of [`STORES`], in a home directory.
    #[default]
    Known,
    /// One of [`SYSTEM_STORES`].
    System,
    /// One of [`SERVICE_STORES`].
    Service,
    /// This variable names it, or the directory that it lies in.
    Moved(&'static str),
}

/// The stores that are there, as they are named, each with its rule. `home` is that of the host's variables.
#[must_use]
pub fn listed(home: Option<&Path>, variables: &[(OsString, OsString)]) -> Vec<(PathBuf, Rule)> {
    let mut homes: Vec<&Path> = home.into_iter().chain(home_of_user()).collect();
    homes.dedup();
    let located = find(&homes, variables);
    located.there.iter().map(|store| (store.named.clone(), store.rule)).collect()
}

/// The stores in these home directories, and where the variables put them.
pub(super) fn find(homes: &[&Path], variables: &[(OsString, OsString)]) -> Arc<Located> {
    static LAST: Mutex<Option<Arc<Located>>> = Mutex::new(None);
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(last) = last
        && last.is_of(homes, variables)
        && last.is_current()
    {
        return last;
    }
    let located = Arc::new(Located::look(homes, variables));
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&located));
    located
}

/// The stores of the user who runs this process, with links followed, except those that `is_named`
/// opens. For file tools, which follow the same rules as commands.
pub fn of_process(is_named: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let home = env::home_dir();
    let mut homes: Vec<&Path> = home.as_deref().into_iter().chain(home_of_user()).collect();
    homes.retain(|home| home.is_absolute());
    homes.dedup();
    let variables: Vec<_> = env::vars_os().collect();
    let located = find(&homes, &variables);
    let closed = located.there.iter().filter(|store| !is_named(&store.real));
    closed.map(|store| store.real.clone()).collect()
}

/// The system's home directory of this user, whatever `HOME` says. It is read once, because it may
/// be on another machine.
#[must_use]
pub fn home_of_user() -> Option<&'static Path> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    HOME.get_or_init(look_up_home).as_deref()
}

fn look_up_home() -> Option<PathBuf> {
    let mut buffer = vec![0; 16 << 10];
    // SAFETY: all zeroes is a value of it, and it is filled before it is read.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut filled = std::ptr::null_mut();
    // SAFETY: the length is that of the buffer, and every argument outlives the call.
    let failed = unsafe {
        libc::getpwuid_r(
            libc::geteuid(),
            &raw mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut filled,
        )
    };
    if failed != 0 || filled.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the call has put a NUL-terminated string into the buffer, which is still alive.
    let home = unsafe { std::ffi::CStr::from_ptr(entry.pw_dir) };
    let home = Path::new(OsStr::from_bytes(home.to_bytes()));
    home.is_absolute().then(|| home.to_owned())
}

impl Located {
    fn is_of(&self, homes: &[&Path], variables: &[(OsString, OsString)]) -> bool {
        let mut known = self.moved.iter();
        self.homes.iter().map(PathBuf::as_path).eq(homes.iter().copied())
            && variables.iter().filter_map(moving).all(|(index, value)| {
                known.next().is_some_and(|known| known.0 == index && known.1 == value)
            })
            && known.next().is_none()
    }

    fn is_current(&self) -> bool {
        let leads_there = |store: &Store| {
            store.named == store.real
                || fs::canonicalize(&store.named).is_ok_and(|real| real == store.real)
        };
        self.is_settled && self.watched.are_same() && self.there.iter().all(leads_there)
    }

    fn look(homes: &[&Path], variables: &[(OsString, OsString)]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let moved: Vec<(usize, OsString)> = variables
            .iter()
            .filter_map(moving)
            .map(|(index, value)| (index, value.to_owned()))
            .collect();
        let mut search = Search::default();
        if rustix::process::geteuid().is_root() {
            search.rule = Rule::System;
            for store in SYSTEM_STORES {
                search.look(Path::new("/"), &store[1..], false);
            }
        }
        search.rule = Rule::Service;
        for store in SERVICE_STORES {
            search.look(Path::new("/"), &store[1..], false);
        }
        search.rule = Rule::Known;
        for home in homes {
            for store in STORES {
                search.look(home, store, HELD_WHEN_ABSENT.contains(&store));
            }
        }
        for (index, value) in &moved {
            let (name, what) = VARIABLES[*index];
            search.rule = Rule::Moved(name);
            match what {
                Moves::Directory(directory) => {
                    let Some(base) = absolute(value) else { continue };
                    for store in STORES {
                        match store.strip_prefix(directory) {
                            Some("") => search.look_at(&base),
                            Some(below) if below.starts_with('/') => {
                                search.look(&base, &below[1..], false);
                            }
                            _ => {}
                        }
                    }
                }
                Moves::Store => absolute(value).iter().for_each(|path| search.look_at(path)),
                Moves::Stores => env::split_paths(value)
                    .filter_map(|path| absolute(path.as_os_str()))
                    .for_each(|path| search.look_at(&path)),
            }
        }
        let homes: Vec<PathBuf> = homes.iter().map(|home| (*home).to_owned()).collect();
        let real_homes: Vec<PathBuf> = homes.iter().flat_map(fs::canonicalize).collect();
        // A variable that names a whole home directory, or the system, moves no store there.
        search.there.retain(|store| !real_homes.iter().any(|home| home.starts_with(&store.real)));
        let Search { there, absent, watched, .. } = search;
        let is_settled = watched.is_old(now);
        Self { there, absent, homes, moved, watched, is_settled }
    }
}

#[derive(Default)]
struct Search {
    /// Why what is looked for now is closed.
    rule: Rule,
    watched: Watched,
    there: Vec<Store>,
    absent: Vec<PathBuf>,
}

impl Search {
    /// A store at a place below a directory.
    fn look(&mut self, base: &Path, below: &str, is_held_when_absent: bool) {
        if let Some(path) = self.watched.reach(base, below) {
            self.add(path, is_held_when_absent);
        }
    }

    fn look_at(&mut self, path: &Path) {
        if let Some(parent) = path.parent()
            && self.watched.watch(parent)
        {
            self.add(path.to_owned(), false);
        }
    }

    fn add(&mut self, named: PathBuf, is_held_when_absent: bool) {
        let is_missing = fs::symlink_metadata(&named).is_err();
        if is_missing {
            if is_held_when_absent
                && let (Some(parent), Some(name)) = (named.parent(), named.file_name())
                && let Ok(parent) = fs::canonicalize(parent)
            {
                self.absent.push(parent.join(name));
            }
            return;
        }
        let Ok(real) = fs::canonicalize(&named) else { return };
        // Some lead to /dev/null, which is to stay open.
        let holds_something =
            fs::metadata(&real).is_ok_and(|metadata| metadata.is_file() || metadata.is_dir());
        if holds_something && !self.there.iter().any(|other| other.named == named) {
            self.there.push(Store { named, real, rule: self.rule });
        }
    }
}

/// For a variable that moves a store: its place in the table.
fn moving((name, value): &(OsString, OsString)) -> Option<(usize, &OsStr)> {
    let compared = |(known, _): &(&str, Moves)| known.as_bytes().cmp(name.as_bytes());
    let index = VARIABLES.binary_search_by(compared).ok()?;
    (!value.is_empty()).then_some((index, value.as_os_str()))
}

/// Programs take a relative one from where they run, most often where the host does.
fn absolute(value: &OsStr) -> Option<PathBuf> {
    std::path::absolute(value).ok()
}
