//! Directories that the host of a session has granted by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi_derive::napi;
use toolwright_fs::{FsError, Granted, Keeping, Root, Roots};
use toolwright_sandbox::plan;
use toolwright_sandbox::policy::{GrantError, Way, refuse_led_out};

use super::policy::{ContractPolicyRequest, Policy};

/// How a host calls a directory.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGranted {
    /// Without links.
    pub path: String,
    /// As the host wrote it, absolute.
    pub given: String,
}

/// Finds the granted directories, the roots of the workspace first. Those that `parent` was granted are
/// the same for a child.
pub(super) fn find(
    request: &ContractPolicyRequest,
    parent: Option<&Policy>,
) -> Result<Vec<Arc<Granted>>, GrantError> {
    let Some(names) = &request.granted else { return Ok(Vec::new()) };
    let known = parent.map_or(&[][..], |parent| &parent.granted);
    let variables = &request.variables;
    let mut found = Vec::new();
    for (option, paths) in [("workspace", &variables.workspace), ("adHoc", &variables.ad_hoc)] {
        for (number, path) in paths.iter().enumerate() {
            found.push(one(&format!("{option}[{number}]"), path, names, known)?);
        }
    }
    if let Some(path) = &variables.user_data {
        found.push(one("userData", path, names, known)?);
    }
    let own = [("sessionDirectory", &request.implicit_read), ("scratch", &request.implicit_write)];
    for (name, paths) in own {
        for path in paths.iter().flatten() {
            // There are as many of these as sessions.
            let directory = Granted::new(name, path).keeping(Keeping::Closed);
            directory.identify()?;
            found.push(Arc::new(directory));
        }
    }
    let way = |one: &Arc<Granted>| -> Option<(&'static str, PathBuf, PathBuf)> {
        let names = ["workspace", "adHoc", "userData"];
        let option = names.into_iter().find(|name| one.name().starts_with(name))?;
        Some((option, one.given().to_owned(), one.real_path().ok()?.0.to_owned()))
    };
    let ways: Vec<_> = found.iter().filter_map(way).collect();
    let ways: Vec<Way<'_>> =
        ways.iter().map(|(option, given, real)| (*option, &**given, &**real)).collect();
    refuse_led_out(&ways, &[])?;
    Ok(found)
}

fn one(
    name: &str,
    path: &str,
    names: &[ContractGranted],
    known: &[Arc<Granted>],
) -> Result<Arc<Granted>, FsError> {
    let is_it =
        |one: &&Arc<Granted>| one.real_path().is_ok_and(|(place, _)| place == Path::new(path));
    if let Some(known) = known.iter().find(is_it) {
        known.check()?;
        return Ok(Arc::clone(known));
    }
    let called = names.iter().find(|called| called.path == path);
    let directory = Granted::new(name, called.map_or(path, |called| called.given.as_str()));
    directory.identify()?;
    Ok(Arc::new(directory))
}

impl Policy {
    /// The same with other directories of `{ad-hoc}`: those that it had, or that its parent has, are what
    /// they were.
    pub(super) fn granted_with(
        &self,
        ad_hoc: &[String],
        parent: Option<&Self>,
    ) -> Result<Vec<Arc<Granted>>, FsError> {
        let is_ad_hoc = |one: &Arc<Granted>| one.name().starts_with("adHoc");
        let mut known = self.granted.clone();
        known.extend(parent.iter().flat_map(|parent| &parent.granted).cloned());
        let (workspace, others) =
            self.granted.split_at(self.workspace.len().min(self.granted.len()));
        let mut granted = workspace.to_vec();
        granted.extend(others.iter().filter(|one| !is_ad_hoc(one)).cloned());
        for (number, path) in ad_hoc.iter().enumerate() {
            // One that was replaced is refused when it is used.
            let is_it = |one: &&Arc<Granted>| {
                one.real_path().is_ok_and(|(place, _)| place == Path::new(path))
            };
            granted.push(match known.iter().find(is_it) {
                Some(known) => Arc::clone(known),
                None => one(&format!("adHoc[{number}]"), path, &[], &[])?,
            });
        }
        Ok(granted)
    }

    /// The directory in which relative paths begin.
    pub(super) fn workspace_root(&self) -> Option<&Granted> {
        self.granted.first().filter(|_| !self.workspace.is_empty()).map(|root| &**root)
    }

    /// The directories that are open to file tools for this path. One that has been replaced is refused
    /// where the path is meant to lie in it.
    pub(super) fn open_roots(&self, path: &Path) -> Result<Roots, FsError> {
        let (workspace, others) =
            self.granted.split_at(self.workspace.len().min(self.granted.len()));
        let workspace = workspace.iter().map(|root| root.open()).collect::<Result<_, _>>()?;
        let mut around = Vec::new();
        if path.is_absolute() {
            for directory in others {
                match directory.open() {
                    Ok(root) => around.push(root),
                    Err(error) if directory.holds(path) => return Err(error),
                    Err(_) => {}
                }
            }
            let is_granted = |path: &Path| {
                self.granted.iter().any(|one| one.real_path().is_ok_and(|(place, _)| place == path))
            };
            let more = self.roots.iter().filter(|path| !is_granted(path));
            around.extend(more.filter_map(|path| Root::open(path).ok()));
        }
        Ok(Roots::of(workspace, around))
    }

    /// Refuses granted directories that were replaced, and says which the others are.
    pub(super) fn identify(&self) -> Result<Vec<plan::Granted>, FsError> {
        let told = self.granted.iter().map(|directory| {
            directory.check()?;
            let (path, identity) = directory.real_path()?;
            Ok(plan::Granted { path: path.to_owned(), identity })
        });
        told.collect()
    }
}
