//! What the capabilities of a session allow commands, as a plan for the sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_policy::Grants;
use toolwright_sandbox::plan::{Forked, Granted, Names, Origin, Plan};
use toolwright_sandbox::policy::Resolved;

use super::credentials::CredentialSession;
use super::plan::{GitMode, HostOptions, Loopback, SandboxOptions, home_of};
use crate::access::policy::Policy;
use crate::failure::Unfinished;
use crate::voice;

/// What commands of a session may do.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Which files and hosts the capabilities open.
    pub grants: Grants,
    /// Paths that are closed all the same.
    pub deny_read: Vec<PathBuf>,
    /// Paths that are not written all the same; the usual ones without a list.
    pub deny_write: Option<Vec<PathBuf>>,
    /// What becomes of git directories that commands make.
    pub git: GitMode,
    /// Reach these hosts by name, as far as the capabilities open them.
    pub names: Option<HostOptions>,
    /// The loopback interface without the network.
    pub loopback: Loopback,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: bool,
    /// Whether the session has `process_start`, which keeps a program running.
    pub starts_processes: bool,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The directory.
    pub(super) cwd: PathBuf,
    /// The root of the plan around it.
    pub(super) root: PathBuf,
    /// The path from the root to the directory.
    pub(super) below: PathBuf,
}

/// The directories of the capabilities as they are now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenDirectories {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    absent: Vec<PathBuf>,
}

impl OpenDirectories {
    /// A pattern names a real path: a link that now stands at the path is not granted.
    pub(super) fn find(grants: &Grants, policy: &Policy) -> Self {
        let is_there = |path: &&PathBuf| policy.is_directory(path);
        let (readable, mut absent): (Vec<&PathBuf>, Vec<&PathBuf>) =
            grants.readable.iter().partition(is_there);
        let (writable, more): (Vec<&PathBuf>, Vec<&PathBuf>) =
            grants.writable.iter().partition(is_there);
        absent.extend(more);
        absent.sort_unstable();
        absent.dedup();
        let [readable, writable, absent] =
            [readable, writable, absent].map(|paths| paths.into_iter().cloned().collect());
        Self { readable, writable, absent }
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.readable.iter().chain(&self.writable)
    }

    /// Whether a path lies in an open directory.
    fn hold(&self, path: &Path) -> bool {
        self.all().any(|open| path.starts_with(open))
    }

    /// Whether something at a directory, below it or around it is open.
    fn are_near(&self, directory: &Path) -> bool {
        self.hold(directory) || self.all().any(|open| open.starts_with(directory))
    }

    fn resolve(&self, root: &Path, closed: Vec<PathBuf>, linked_names: &[PathBuf]) -> Resolved {
        Resolved {
            root: root.to_owned(),
            named_root: root.to_owned(),
            // What is protected by name is so in each of them.
            writable: self.writable.clone(),
            readable: self.readable.clone(),
            closed,
            linked_names: linked_names.to_owned(),
            ..Resolved::default()
        }
    }

    /// Whether a path lies in an open directory that is not there.
    pub(super) fn has_absent(&self, path: &Path) -> bool {
        self.absent.iter().any(|absent| path.starts_with(absent))
    }

    /// Says which directories a command may have looked for in vain.
    pub(super) fn missing(&self) -> Option<String> {
        let (first, more) = self.absent.split_first()?;
        Some(voice::commands::absent_directories(first, more.len()))
    }
}

impl SessionOptions {
    /// A command does not run in a directory that is closed to it.
    pub(super) fn place(&self, cwd: &Path, workspace: &[PathBuf], open: &OpenDirectories) -> Place {
        if !(self.grants.reads_all || open.are_near(cwd)) {
            return Place { cwd: "/".into(), root: "/".into(), below: PathBuf::new() };
        }
        let around = workspace
            .iter()
            .find_map(|root| cwd.strip_prefix(root).ok().map(|below| (root.clone(), below.into())));
        let (root, below) = around.unwrap_or_else(|| (cwd.to_owned(), PathBuf::new()));
        Place { cwd: cwd.to_owned(), root, below }
    }

    /// The plan for a command below `root`. `environment` is the host's.
    pub(super) fn plan(
        &self,
        open: &OpenDirectories,
        policy: &Policy,
        root: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Plan, Unfinished> {
        let granted = policy.check_directories().map_err(|error| {
            // A session has words of its own for what became of a directory.
            Unfinished::from(error).for_session()
        })?;
        let home = home_of(environment);
        let closed = policy.closed_names().resolve(&self.deny_read, root, home.as_deref());
        let directories = policy.workspace().iter().chain(policy.other_directories());
        let root_fork = policy.fork().and_then(|fork| Forked::of(fork));
        let resolved =
            Resolved { root_fork, ..open.resolve(root, closed, &self.grants.linked_names) };
        let plan = self.sandbox().plan(root, &resolved, environment);
        let names = self.names.as_ref().map(|names| {
            Arc::new(Names { within: policy.hosts(), ..Names::clone(&names.names()) })
        });
        let origin = Origin {
            names: names.clone(),
            ..self.origin(plan.origin.as_deref(), policy.other_directories())
        };
        let plan = self.narrow(plan, open, directories, granted);
        Ok(Plan { origin: Some(Arc::new(origin)), names, ..plan })
    }

    /// What the session asks for, wherever its command runs and whichever directories were opened to it
    /// since it began. It has directories of its own among its grants, so no two sessions ask for the same.
    fn origin(&self, of_plan: Option<&Origin>, later: &[PathBuf]) -> Origin {
        let is_fixed = |path: &&PathBuf| !later.iter().any(|later| path.starts_with(later));
        let fixed = |paths: &[PathBuf]| paths.iter().filter(is_fixed).cloned().collect();
        Origin {
            root: None,
            writable: fixed(&self.grants.writable),
            readable: fixed(&self.grants.readable),
            closed: self.deny_read.clone(),
            granted: Vec::new(),
            ..of_plan.cloned().unwrap_or_default()
        }
    }

    /// The credentials of commands.
    pub(super) fn credentials(&self) -> Option<&Arc<CredentialSession>> {
        self.names.as_ref().and_then(|names| names.credentials.as_ref())
    }

    fn sandbox(&self) -> SandboxOptions {
        SandboxOptions {
            network: self.grants.network,
            names: self.names.clone(),
            loopback: self.loopback,
            system_only: !self.grants.reads_all,
            readable: self.grants.readable.clone(),
            deny_write: self.deny_write.clone(),
            git: self.git,
            required: self.required,
            ..SandboxOptions::default()
        }
    }

    /// Narrows a plan for a whole root to what is open of it.
    fn narrow<'d>(
        &self,
        mut plan: Plan,
        open: &OpenDirectories,
        directories: impl Iterator<Item = &'d PathBuf>,
        granted: Vec<Granted>,
    ) -> Plan {
        plan.narrow(open.writable.clone());
        if !self.grants.reads_all {
            plan.closed
                .extend(directories.filter(|path| !open.hold(path) && path.is_dir()).cloned());
        }
        // The sandbox holds no directory for a command that does not reach it.
        plan.granted = granted;
        plan.granted.retain(|granted| open.hold(&granted.path));
        for paths in [&mut plan.writable, &mut plan.closed] {
            paths.sort_unstable();
            paths.dedup();
        }
        plan
    }
}

#[cfg(test)]
mod tests;
