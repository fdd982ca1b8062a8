//! Paths that a caller grants by name: resolved once, and compared before each command.
//!
//! The names may lie in directories that commands write. So a name is followed when it is granted,
//! and never again. Later it must still be the same directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fs, io};

use toolwright_fs::{FileIdentity, FsError, Granted as Directory, Replaced, led_out_of};

use super::{PolicyError, absolute};
use crate::plan::Granted;

/// A path as the caller wrote it, and the numbers of device and inode that it had then, if they are
/// known.
#[derive(Debug, Clone)]
pub struct Given {
    /// Relative paths are meant from the root, `~/` is the home directory.
    pub path: PathBuf,
    /// The numbers.
    pub seen: Option<(u64, u64)>,
}

/// The caller's grants.
#[derive(Debug)]
pub struct Grants {
    root: Arc<Directory>,
    writable: Vec<Given>,
    readable: Vec<Given>,
    deny_read: Vec<PathBuf>,
    closed: Closed,
    home: Option<PathBuf>,
    found: OnceLock<Found>,
}

/// Paths that are closed by name. The first target of a name stays closed, whatever the name leads
/// to later, because a command can replace a link.
#[derive(Debug, Default)]
pub struct Closed(Mutex<BTreeMap<PathBuf, PathBuf>>);

impl Closed {
    /// Where the names lead and have led. Only what exists.
    pub fn now(&self, names: &[PathBuf], root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut closed = Vec::with_capacity(names.len());
        for name in names.iter().map(|name| absolute(name, root, home)) {
            let now = fs::canonicalize(&name).ok();
            let known = first.get(&name).filter(|known| Some(*known) != now.as_ref());
            closed.extend(known.filter(|known| known.symlink_metadata().is_ok()).cloned());
            if let Some(now) = now {
                first.entry(name).or_insert_with(|| now.clone());
                closed.push(now);
            }
        }
        closed.sort_unstable();
        closed.dedup();
        closed
    }
}

/// An option, its path as written, and its real path.
pub type Way<'a> = (&'static str, &'a Path, &'a Path);

/// Refuses a grant that a link leads out of a writable directory. A command may have made the link,
/// and would choose what is granted.
pub fn refuse_led_out(writable: &[Way<'_>], others: &[Way<'_>]) -> Result<(), PolicyError> {
    for (place, (option, given, real)) in writable.iter().chain(others).enumerate() {
        let around = writable.iter().enumerate().filter(|(other, _)| *other != place);
        let around = around.map(|(_, (_, given, real))| (*given, *real));
        if let Some(directory) = led_out_of(given, real, around) {
            let problem = format!(
                "leads through a link in `{}`, which commands can write, to `{}`; name that directory itself",
                directory.display(),
                real.display(),
            );
            return Err(PolicyError { option, path: (*given).to_owned(), problem });
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Found {
    writable: Vec<Directory>,
    readable: Vec<Readable>,
}

#[derive(Debug)]
struct Readable {
    directory: Directory,
    seen: bool,
    /// The real path, for a file. Programs save a file by putting another in its place, so the path
    /// identifies it, and must lead there without a link.
    file: OnceLock<PathBuf>,
}

/// The grants as they are now.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    /// The root.
    pub root: PathBuf,
    /// The root as the caller calls it.
    pub given_root: PathBuf,
    /// Directories that may be written besides the root.
    pub writable: Vec<PathBuf>,
    /// Readable paths below closed ones.
    pub readable: Vec<PathBuf>,
    /// Of these, the names that are links or lead through some, and where.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// What may not be read.
    pub closed: Vec<PathBuf>,
    /// Which files these are.
    pub granted: Vec<Granted>,
}

/// A grant that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The option makes no sense.
    #[error(transparent)]
    Option(#[from] PolicyError),
    /// The directory is another one now, or cannot be looked at.
    #[error(transparent)]
    Directory(#[from] FsError),
}

impl Resolved {
    /// Whether a path that was followed has left a directory that commands can write, by a link in it
    /// that a command may have made.
    pub(super) fn leads_out(&self, given: &Path, real: &Path) -> bool {
        let more = self.writable.iter().map(|path| (path, path));
        [(&self.given_root, &self.root)].into_iter().chain(more).any(|(name, place)| {
            (given.starts_with(name) || given.starts_with(place)) && !real.starts_with(place)
        })
    }
}

impl Grants {
    /// Grants that are found when they are first resolved. `home` is the user's home directory.
    #[must_use]
    pub fn new(
        root: Arc<Directory>,
        writable: Vec<Given>,
        readable: Vec<Given>,
        deny_read: Vec<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let (closed, found) = (Closed::default(), OnceLock::new());
        Self { root, writable, readable, deny_read, closed, home, found }
    }

    /// Resolves the grants, and refuses those that have changed.
    pub fn resolve(&self) -> Result<Resolved, GrantError> {
        let (root, identity) = self.root.real_path()?;
        let found = self.found.get_or_init(|| self.find(root));
        let granted = vec![Granted { path: root.to_owned(), identity }];
        let given_root = self.root.given().to_owned();
        let mut resolved =
            Resolved { root: root.to_owned(), given_root, granted, ..Resolved::default() };
        for (directory, given) in found.writable.iter().zip(&self.writable) {
            let (path, identity) = is_there(directory).map_err(|error| match error {
                FsError::Root { source, .. } => {
                    let problem = match source.kind() {
                        io::ErrorKind::NotFound => "does not exist".to_owned(),
                        io::ErrorKind::NotADirectory => "is no directory".to_owned(),
                        _ => source.to_string(),
                    };
                    let path = given.path.clone();
                    PolicyError { option: "sandbox.writableRoots", path, problem }.into()
                }
                other => GrantError::Directory(other),
            })?;
            resolved.granted.push(Granted { path: path.clone(), identity });
            resolved.writable.push(path);
        }
        let mut led: Vec<(&Path, PathBuf)> = Vec::new();
        for readable in &found.readable {
            let Some((path, identity)) = readable.now()? else { continue };
            led.push((readable.directory.given(), path.clone()));
            resolved
                .granted
                .extend(identity.map(|identity| Granted { path: path.clone(), identity }));
            resolved.readable.push(path);
        }
        let more = found.writable.iter().zip(&resolved.writable);
        let more = more.map(|(one, real)| ("sandbox.writableRoots", one.given(), real.as_path()));
        let writable: Vec<Way<'_>> =
            [("rootDir", self.root.given(), root)].into_iter().chain(more).collect();
        let readable: Vec<Way<'_>> =
            led.iter().map(|(given, real)| ("sandbox.readable", *given, real.as_path())).collect();
        refuse_led_out(&writable, &readable)?;
        resolved.links =
            led.iter().map(|(given, real)| ((*given).to_owned(), real.clone())).collect();
        resolved.links.retain(|(given, real)| given != real);
        resolved.closed = self.closed.now(&self.deny_read, root, self.home.as_deref());
        Ok(resolved)
    }

    fn find(&self, root: &Path) -> Found {
        let at = |path: &Path| absolute(path, root, self.home.as_deref());
        let directory = |option: &str, number: usize, given: &Given| {
            Directory::new(format!("{option}[{number}]"), at(&given.path)).seen(given.seen)
        };
        let writable = self.writable.iter().enumerate();
        let readable = self.readable.iter().enumerate();
        Found {
            writable: writable
                .map(|(number, given)| directory("sandbox.writableRoots", number, given))
                .collect(),
            readable: readable
                .map(|(number, given)| Readable {
                    directory: directory("sandbox.readable", number, given),
                    seen: given.seen.is_some(),
                    file: OnceLock::new(),
                })
                .collect(),
        }
    }
}

type Place = (PathBuf, FileIdentity);

fn is_there(directory: &Directory) -> Result<Place, FsError> {
    directory.check()?;
    directory.real_path().map(|(path, identity)| (path.to_owned(), identity))
}

impl Readable {
    /// Its real path, and which directory it is. `None` as long as nothing is there.
    fn now(&self) -> Result<Option<(PathBuf, Option<FileIdentity>)>, FsError> {
        let given = self.directory.given();
        if let Some(file) = self.file.get() {
            return match fs::canonicalize(given) {
                Ok(now) if now == *file => Ok(Some((now, None))),
                Ok(_) => Err(FsError::RootChanged {
                    grant: self.directory.name().to_owned(),
                    path: given.to_string_lossy().into_owned(),
                    now: Replaced::Link,
                }),
                Err(_) => Ok(None),
            };
        }
        if !self.seen && !self.directory.is_identified() {
            match fs::metadata(given) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    let Ok(real) = fs::canonicalize(given) else { return Ok(None) };
                    return Ok(Some((self.file.get_or_init(|| real).clone(), None)));
                }
                Err(_) => return Ok(None),
            }
        }
        is_there(&self.directory).map(|(path, identity)| Some((path, Some(identity))))
    }
}
