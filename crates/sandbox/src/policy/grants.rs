//! Paths that a caller grants by name: resolved once, and compared before each command.
//!
//! The names may lie in directories that commands write. So a name is followed when it is granted,
//! and never again. Later it must still be the same directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fs, io};

use toolwright_fs::{DirectoryGrant as Directory, FsError, FsErrorKind, RootChange, led_out_of};

use super::absolute;
use crate::plan::{Forked, Granted};

/// A path that the caller grants.
#[derive(Debug, Clone)]
pub struct RequestedPath {
    /// As the caller wrote it: relative paths start at the root, `~/` is the home directory.
    pub path: PathBuf,
    /// The numbers of device and inode that it had then, if they are known.
    pub seen: Option<(u64, u64)>,
}

/// The paths that one option of the caller grants.
#[derive(Debug, Clone, Default)]
pub struct RequestedPaths {
    /// The option as the caller knows it, for errors.
    pub option: &'static str,
    /// Its paths.
    pub paths: Vec<RequestedPath>,
}

/// The caller's grants.
#[derive(Debug)]
pub struct Grants {
    root: Arc<Directory>,
    writable: RequestedPaths,
    readable: RequestedPaths,
    deny_read: Vec<PathBuf>,
    closed: ClosedNames,
    home: Option<PathBuf>,
    /// The fork that commands see in the place of a directory.
    fork: Option<Arc<Directory>>,
    directories: OnceLock<Directories>,
}

/// Paths that are closed by name. The first target of a name stays closed, whatever the name leads
/// to later, because a command can replace a link.
#[derive(Debug, Default)]
pub struct ClosedNames(Mutex<BTreeMap<PathBuf, PathBuf>>);

impl ClosedNames {
    /// The existing paths where the names lead and have led.
    pub fn resolve(&self, names: &[PathBuf], root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut first_targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut closed = Vec::with_capacity(names.len());
        for name in names.iter().map(|name| absolute(name, root, home)) {
            let target = fs::canonicalize(&name).ok();
            let first = first_targets.get(&name).filter(|first| Some(*first) != target.as_ref());
            closed.extend(first.filter(|first| first.symlink_metadata().is_ok()).cloned());
            if let Some(target) = target {
                first_targets.entry(name).or_insert_with(|| target.clone());
                closed.push(target);
            }
        }
        closed.sort_unstable();
        closed.dedup();
        closed
    }
}

/// A directory that is granted by name.
#[derive(Debug, Clone, Copy)]
pub struct NamedGrant<'a> {
    /// The option that grants it.
    pub option: &'a str,
    /// As the caller wrote it.
    pub path: &'a Path,
    /// Without links.
    pub real_path: &'a Path,
}

/// Refuses a grant that a link leads out of a writable directory. A command may have made the link,
/// and would choose what is granted.
pub fn refuse_led_out(
    writable: &[NamedGrant<'_>],
    others: &[NamedGrant<'_>],
) -> Result<(), GrantError> {
    for (index, grant) in writable.iter().chain(others).enumerate() {
        let around = writable.iter().enumerate().filter(|(other, _)| *other != index);
        let around = around.map(|(_, other)| (other.path, other.real_path));
        if let Some(directory) = led_out_of(grant.path, grant.real_path, around) {
            let directory = directory.to_owned();
            return Err(GrantError::Refused {
                option: grant.option.to_owned(),
                path: grant.path.to_owned(),
                problem: GrantProblem::LedOut { directory, real_path: grant.real_path.to_owned() },
            });
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Directories {
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
    pub named_root: PathBuf,
    /// The fork that is granted in the place of a directory.
    pub root_fork: Option<Forked>,
    /// Directories that may be written besides the root.
    pub writable: Vec<PathBuf>,
    /// Readable paths below closed ones.
    pub readable: Vec<PathBuf>,
    /// Of these, the names that are links or lead through some, and where.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The same names, and those of writable directories and of the root.
    pub linked_names: Vec<PathBuf>,
    /// What may not be read.
    pub closed: Vec<PathBuf>,
    /// The names that close it, whether something is there or not.
    pub closed_names: Vec<PathBuf>,
    /// Which files these are.
    pub granted: Vec<Granted>,
}

/// A grant that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The path cannot be granted.
    #[error("{option}: `{}`: {problem:?}", path.display())]
    Refused {
        /// The option that names it.
        option: String,
        /// As the caller wrote it.
        path: PathBuf,
        /// The problem.
        problem: GrantProblem,
    },
    /// The directory is another one now, or cannot be looked at.
    #[error(transparent)]
    Directory(#[from] FsError),
}

/// Why a path cannot be granted.
#[derive(Debug)]
pub enum GrantProblem {
    /// Nothing is there.
    Missing,
    /// It is something else than a directory.
    NotADirectory,
    /// The system refuses to look at it.
    Unreadable(io::Error),
    /// A link in a directory that commands can write leads out of it.
    LedOut {
        /// That directory.
        directory: PathBuf,
        /// Where the link leads.
        real_path: PathBuf,
    },
}

impl Resolved {
    /// Whether a path that was followed has left a directory that commands can write, by a link in it
    /// that a command may have made.
    pub(super) fn leads_out(&self, path: &Path, real_path: &Path) -> bool {
        let others = self.writable.iter().map(|path| (path, path));
        [(&self.named_root, &self.root)].into_iter().chain(others).any(|(name, real_name)| {
            (path.starts_with(name) || path.starts_with(real_name))
                && !real_path.starts_with(real_name)
        })
    }
}

impl Grants {
    /// Grants that are found when they are first resolved. `home` is the user's home directory, and
    /// the name of `root` is the option that grants it.
    #[must_use]
    pub fn new(
        root: Arc<Directory>,
        writable: RequestedPaths,
        readable: RequestedPaths,
        deny_read: Vec<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let (closed, directories) = (ClosedNames::default(), OnceLock::new());
        let fork = root.fork().is_some().then(|| Arc::clone(&root));
        Self { root, writable, readable, deny_read, closed, home, fork, directories }
    }

    /// The same for commands that see a fork in the place of a directory, wherever their root is.
    #[must_use]
    pub fn seeing(self, fork: Arc<Directory>) -> Self {
        Self { fork: Some(fork), ..self }
    }

    /// Resolves the grants, and refuses those that have changed.
    pub fn resolve(&self) -> Result<Resolved, GrantError> {
        if let Some(fork) = &self.fork {
            fork.check()?;
        }
        let (root, identity) = self.root.real_path()?;
        let directories = self.directories.get_or_init(|| self.find(root));
        let mut resolved = Resolved {
            root: root.to_owned(),
            named_root: self.root.path().to_owned(),
            root_fork: self.fork.as_ref().and_then(|fork| Forked::of(fork)),
            granted: vec![Granted { path: root.to_owned(), identity }],
            closed: self.closed.resolve(&self.deny_read, root, self.home.as_deref()),
            closed_names: self.deny_read.clone(),
            ..Resolved::default()
        };
        for (directory, requested) in directories.writable.iter().zip(&self.writable.paths) {
            let granted = granted(directory).map_err(|error| match error {
                FsError { kind: FsErrorKind::Root { source }, .. } => {
                    let problem = match source.kind() {
                        io::ErrorKind::NotFound => GrantProblem::Missing,
                        io::ErrorKind::NotADirectory => GrantProblem::NotADirectory,
                        _ => GrantProblem::Unreadable(source),
                    };
                    let option = self.writable.option.to_owned();
                    GrantError::Refused { option, path: requested.path.clone(), problem }
                }
                other => GrantError::Directory(other),
            })?;
            resolved.writable.push(granted.path.clone());
            resolved.granted.push(granted);
        }
        for readable in &directories.readable {
            let path = match readable.resolve()? {
                None => continue,
                Some(Target::File(path)) => path,
                Some(Target::Directory(granted)) => {
                    resolved.granted.push(granted.clone());
                    granted.path
                }
            };
            resolved.links.push((readable.directory.path().to_owned(), path.clone()));
            resolved.readable.push(path);
        }
        let others = directories.writable.iter().zip(&resolved.writable);
        let others = others.map(|(directory, real_path)| NamedGrant {
            option: self.writable.option,
            path: directory.path(),
            real_path,
        });
        let root = NamedGrant { option: self.root.name(), path: self.root.path(), real_path: root };
        let writable: Vec<_> = [root].into_iter().chain(others).collect();
        let readable = resolved.links.iter();
        let readable: Vec<_> = readable
            .map(|(path, real_path)| NamedGrant { option: self.readable.option, path, real_path })
            .collect();
        refuse_led_out(&writable, &readable)?;
        resolved.links.retain(|(path, real_path)| path != real_path);
        let linked = writable.iter().filter(|grant| grant.path != grant.real_path);
        let linked = linked.map(|grant| grant.path.to_owned());
        resolved.linked_names =
            linked.chain(resolved.links.iter().map(|(path, _)| path.clone())).collect();
        Ok(resolved)
    }

    fn find(&self, root: &Path) -> Directories {
        let directories = |RequestedPaths { option, paths }: &RequestedPaths| -> Vec<Directory> {
            let requested = paths.iter().enumerate();
            requested
                .map(|(index, RequestedPath { path, seen })| {
                    let path = absolute(path, root, self.home.as_deref());
                    let name = format!("{option}[{index}]");
                    let in_fork = self.fork.as_ref().and_then(|fork| fork.in_fork(&*name, &path));
                    in_fork.unwrap_or_else(|| Directory::new(name, path).seen(*seen))
                })
                .collect()
        };
        let readable = directories(&self.readable).into_iter().zip(&self.readable.paths);
        let readable = readable.map(|(directory, requested)| Readable {
            directory,
            seen: requested.seen.is_some(),
            file: OnceLock::new(),
        });
        let readable = readable.collect();
        Directories { writable: directories(&self.writable), readable }
    }
}

fn granted(directory: &Directory) -> Result<Granted, FsError> {
    directory.check()?;
    directory.real_path().map(|(path, identity)| Granted { path: path.to_owned(), identity })
}

/// Where a readable path leads.
enum Target {
    File(PathBuf),
    Directory(Granted),
}

impl Readable {
    /// `None` as long as nothing is there.
    fn resolve(&self) -> Result<Option<Target>, FsError> {
        let path = self.directory.path();
        if let Some(file) = self.file.get() {
            return match fs::canonicalize(path) {
                Ok(target) if target == *file => Ok(Some(Target::File(target))),
                Ok(_) => Err(FsErrorKind::RootChanged {
                    grant: self.directory.name().to_owned(),
                    now: RootChange::Link,
                }
                .at(path.to_string_lossy())),
                Err(_) => Ok(None),
            };
        }
        if !self.seen && !self.directory.is_identified() {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => {
                    let Ok(target) = fs::canonicalize(path) else { return Ok(None) };
                    return Ok(Some(Target::File(self.file.get_or_init(|| target).clone())));
                }
                Err(_) => return Ok(None),
            }
        }
        granted(&self.directory).map(|granted| Some(Target::Directory(granted)))
    }
}
