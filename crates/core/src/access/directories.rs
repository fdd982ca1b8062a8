//! The directories that a host grants to a session by name.
//!
//! Each is identified when the session begins. One that is another directory by now is refused.

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
}

impl Directories {
    /// Finds the directories of `variables`, and the session's `own` with their names. A child shares what
    /// its parent was granted.
    pub(super) fn find(
        variables: &Variables,
        names: &[GrantedName],
        own: [(&str, &[PathBuf]); 2],
        parent: Option<&Self>,
    ) -> Result<Self, GrantError> {
        let known: Vec<&Arc<DirectoryGrant>> =
            parent.iter().flat_map(|parent| parent.all()).collect();
        let find = |option: &str, paths: &[PathBuf]| -> Result<Vec<Arc<DirectoryGrant>>, FsError> {
            let paths = paths.iter().enumerate();
            paths
                .map(|(index, path)| identified(&format!("{option}[{index}]"), path, names, &known))
                .collect()
        };
        let workspace = find("workspace", &variables.workspace)?;
        let mut others = find("adHoc", &variables.ad_hoc)?;
        for path in &variables.user_data {
            others.push(identified("userData", path, names, &known)?);
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
        Ok(Self { workspace, others })
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
            others.push(match known().find(|one| lies_at(one, path)) {
                Some(known) => Arc::clone(known),
                None => identified(&format!("adHoc[{index}]"), path, &[], &[])?,
            });
        }
        Ok(Self { workspace: self.workspace.clone(), others })
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
            for directory in &self.others {
                match directory.open() {
                    Ok(root) => around.push(root),
                    Err(error) if directory.holds(path) => return Err(error),
                    Err(_) => {}
                }
            }
            let ungranted = more.iter().filter(|path| !self.all().any(|one| lies_at(one, path)));
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
    known: &[&Arc<DirectoryGrant>],
) -> Result<Arc<DirectoryGrant>, FsError> {
    if let Some(known) = known.iter().find(|one| lies_at(one, path)) {
        known.check()?;
        return Ok(Arc::clone(known));
    }
    let written = names.iter().find(|name| name.path == path).map(|name| &*name.written);
    let directory = DirectoryGrant::new(name, written.unwrap_or(path));
    directory.identify()?;
    Ok(Arc::new(directory))
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
