//! The directories that a host grants to a session by name.
//!
//! Each is identified when the session begins. One that is another directory by now is refused. In a session that works in
//! a fork, each directory below the one that was forked is that of the fork, and what was forked is never opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_fs::{DirectoryGrant, FsError, Root, Roots};
use toolwright_policy::Variables;
use toolwright_sandbox::plan;
use toolwright_sandbox::policy::{GrantError, NamedGrant, refuse_led_out};

/// The name that the host has for a directory.
#[derive(Debug, Clone)]
pub struct GrantedName {
    /// The path without links.
    pub path: PathBuf,
    /// The path as the host wrote it, absolute.
    pub written: PathBuf,
}

/// The granted directories of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Directories {
    /// The roots of the workspace, in their order: where relative paths begin.
    workspace: Vec<Arc<DirectoryGrant>>,
    /// The others, for absolute paths alone.
    others: Vec<Arc<DirectoryGrant>>,
    /// The fork that stands in the place of a directory.
    fork: Option<Arc<DirectoryGrant>>,
}

/// What a session gets of the one above it, and of its host.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given<'a> {
    /// The directories of its parent. A child shares what its parent was granted.
    pub(super) parent: Option<&'a Directories>,
    /// The fork that it works in; without one, that of its parent.
    pub(super) fork: Option<&'a Arc<DirectoryGrant>>,
}

impl Directories {
    /// Finds the directories of `variables`, and the session's `own` with their names.
    pub(super) fn find(
        variables: &Variables,
        names: &[GrantedName],
        own: [(&str, &[PathBuf]); 2],
        Given { parent, fork }: Given<'_>,
    ) -> Result<Self, GrantError> {
        let fork = fork.or_else(|| parent.and_then(|parent| parent.fork.as_ref()));
        let known: Vec<&Arc<DirectoryGrant>> =
            parent.iter().flat_map(|parent| parent.all()).collect();
        let identified = |name: &str, path: &Path| identified(name, path, names, (&known, fork));
        let find = |option: &str, paths: &[PathBuf]| -> Result<Vec<Arc<DirectoryGrant>>, FsError> {
            let paths = paths.iter().enumerate();
            paths.map(|(index, path)| identified(&format!("{option}[{index}]"), path)).collect()
        };
        let workspace = find("workspace", &variables.workspace)?;
        let mut others = find("adHoc", &variables.ad_hoc)?;
        for path in &variables.user_data {
            others.push(identified("userData", path)?);
        }
        refuse_links_out(workspace.iter().chain(&others))?;
        for (name, paths) in own {
            for path in paths {
                // There are as many of these as sessions: none is kept open.
                let directory = DirectoryGrant::new(name, path).closed_between_uses();
                directory.identify()?;
                others.push(Arc::new(directory));
            }
        }
        Ok(Self { workspace, others, fork: fork.cloned() })
    }

    /// The fork that stands in the place of a directory.
    pub(super) fn fork(&self) -> Option<&Arc<DirectoryGrant>> {
        self.fork.as_ref()
    }

    /// Whether a real path is that of a directory, in the fork where it lies there.
    pub(super) fn is_directory(&self, path: &Path) -> bool {
        match self.fork.as_ref().and_then(|fork| fork.in_fork("", path)) {
            Some(in_fork) => in_fork.identify().is_ok(),
            None => path.is_dir() && path.canonicalize().is_ok_and(|real| real == path),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<DirectoryGrant>> {
        self.workspace.iter().chain(&self.others)
    }

    /// The same with other directories of `{ad-hoc}`. Those that the session or its parent had before
    /// stay what they were; one that was replaced is refused when it is used.
    pub(super) fn with_ad_hoc(
        &self,
        ad_hoc: &[PathBuf],
        parent: Option<&Self>,
    ) -> Result<Self, FsError> {
        let known = || self.all().chain(parent.iter().flat_map(|parent| parent.all()));
        let is_ad_hoc = |one: &&Arc<DirectoryGrant>| one.name().starts_with("adHoc");
        let mut others: Vec<Arc<DirectoryGrant>> =
            self.others.iter().filter(|one| !is_ad_hoc(one)).cloned().collect();
        for (index, path) in ad_hoc.iter().enumerate() {
            let is_same = is_same(self.fork.as_ref(), path);
            let same = known().find(|one| lies_at(one, path) && is_same(one));
            others.push(if let Some(known) = same {
                Arc::clone(known)
            } else {
                identified(&format!("adHoc[{index}]"), path, &[], (&[], self.fork.as_ref()))?
            });
        }
        Ok(Self { workspace: self.workspace.clone(), others, fork: self.fork.clone() })
    }

    /// The directory in which relative paths begin.
    pub(super) fn workspace_root(&self) -> Option<&DirectoryGrant> {
        self.workspace.first().map(|root| &**root)
    }

    /// The directories that are open to file tools for `path`, and those of `more` that are not granted
    /// by name. One that has been replaced is refused where the path is meant to lie in it.
    pub(super) fn open_for(&self, path: &Path, more: &[PathBuf]) -> Result<Roots, FsError> {
        let workspace = self.workspace.iter().map(|root| root.open()).collect::<Result<_, _>>()?;
        let mut around = Vec::new();
        if path.is_absolute() {
            // All of the fork, of which the workspace may be a part.
            if let Some(fork) = self.fork.as_ref().filter(|fork| fork.holds(path)) {
                around.push(fork.open()?);
            }
            for directory in &self.others {
                match directory.open() {
                    Ok(root) => around.push(root),
                    Err(error) if directory.holds(path) => return Err(error),
                    Err(_) => {}
                }
            }
            let is_in_fork = |path: &Path| self.fork.as_ref().is_some_and(|fork| fork.holds(path));
            let ungranted = more
                .iter()
                .filter(|path| !is_in_fork(path) && !self.all().any(|one| lies_at(one, path)));
            around.extend(ungranted.filter_map(|path| Root::open(path).ok()));
        }
        Ok(Roots::of(workspace, around))
    }

    /// Refuses directories that were replaced, and says which the others are.
    pub(super) fn check(&self) -> Result<Vec<plan::Granted>, FsError> {
        let identities = self.all().map(|directory| {
            directory.check()?;
            let (path, identity) = directory.real_path()?;
            Ok(plan::Granted { path: path.to_owned(), identity })
        });
        identities.collect()
    }
}

fn identified(
    name: &str,
    path: &Path,
    names: &[GrantedName],
    (known, fork): (&[&Arc<DirectoryGrant>], Option<&Arc<DirectoryGrant>>),
) -> Result<Arc<DirectoryGrant>, FsError> {
    let is_same = is_same(fork, path);
    if let Some(known) = known.iter().find(|one| lies_at(one, path) && is_same(one)) {
        known.check()?;
        return Ok(Arc::clone(known));
    }
    if let Some(in_fork) = fork.and_then(|fork| fork.in_fork(name, path)) {
        in_fork.identify()?;
        return Ok(Arc::new(in_fork));
    }
    let written = names.iter().find(|name| name.path == path).map(|name| &*name.written);
    let directory = DirectoryGrant::new(name, written.unwrap_or(path));
    directory.identify()?;
    Ok(Arc::new(directory))
}

/// Whether a grant at a path is what a session in `fork` gets there: a parent may have been granted the directory itself.
fn is_same(fork: Option<&Arc<DirectoryGrant>>, path: &Path) -> impl Fn(&DirectoryGrant) -> bool {
    let number = fork.filter(|fork| fork.holds(path)).map(|fork| fork.fork());
    move |one| number.is_none_or(|number| one.fork() == number)
}

fn lies_at(directory: &DirectoryGrant, path: &Path) -> bool {
    directory.real_path().is_ok_and(|(real_path, _)| real_path == path)
}

/// No grant is followed out of another one by a link: a command may have made the link.
fn refuse_links_out<'a>(
    directories: impl Iterator<Item = &'a Arc<DirectoryGrant>>,
) -> Result<(), GrantError> {
    let mut grants = Vec::new();
    for directory in directories {
        let options = ["workspace", "adHoc", "userData"];
        let option = options.into_iter().find(|option| directory.name().starts_with(option));
        if let Some(option) = option {
            let (real_path, _) = directory.real_path()?;
            grants.push(NamedGrant { option, path: directory.path(), real_path });
        }
    }
    refuse_led_out(&grants, &[])
}
