//! What the host allows commands, as a plan for the sandbox.

use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_exec::{CancelSource, HostQuestions};
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::plan::{Files, Limits, Names, Network, Plan};
use toolwright_sandbox::policy::{
    self, Grants, ReadScope, RequestedPath, RequestedPaths, Resolved, stores,
};
use toolwright_sandbox::report::Report;

use super::credentials::{self, Approvals, CredentialSession};
use super::environment::variable;
use crate::access::protected_list;
use crate::failure::Unfinished;
use crate::voice::notices;

/// What commands may do. The default is the narrowest, but for the limits.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the host")]
pub struct SandboxOptions {
    /// Reach every host.
    pub network: bool,
    /// The loopback interface without `network`.
    pub loopback: Loopback,
    /// Reach these hosts by name, and no others. Comes before the others.
    pub names: Option<HostOptions>,
    /// Write wherever the user may.
    pub full_files: bool,
    /// Read only the system, toolchains and the root.
    pub system_only: bool,
    /// Directories to write to besides the root.
    pub writable_roots: Vec<PathBuf>,
    /// What may be read in spite of what closes it.
    pub readable: Vec<PathBuf>,
    /// What may not be written below the root; the usual paths without a list.
    pub deny_write: Option<Vec<PathBuf>>,
    /// What becomes of git directories that commands make.
    pub git: GitMode,
    /// Share nothing with other calls.
    pub isolated: bool,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: bool,
    /// Bounds of what a command uses.
    pub limits: LimitOptions,
}

/// The hosts that commands reach by name.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Patterns of hosts, with a port or without.
    pub allow: Vec<String>,
    /// Patterns of hosts that are reached if `questions` agrees.
    pub ask: Vec<String>,
    /// Patterns of hosts that are not reached in spite of that.
    pub deny: Vec<String>,
    /// Where the host leads names itself: an address, with a port or without.
    pub addresses: HashMap<String, String>,
    /// Whether the TLS server name must equal the name that the command connects to.
    pub tls_names: bool,
    /// The credentials of commands.
    pub credentials: Option<Arc<CredentialSession>>,
    /// Who decides about each use of a credential besides its rules.
    pub approvals: Option<Arc<dyn Approvals>>,
    /// Who is asked. `None`: nobody, which refuses them.
    pub questions: Option<Arc<dyn HostQuestions>>,
}

impl HostOptions {
    pub(super) fn names(&self) -> Arc<Names> {
        let mut addresses: Vec<_> = self.addresses.clone().into_iter().collect();
        addresses.sort_unstable();
        let (allow, ask, deny) = (self.allow.clone(), self.ask.clone(), self.deny.clone());
        let tls_names = self.tls_names;
        Arc::new(Names { allow, ask, deny, addresses, within: Vec::new(), tls_names })
    }
}

/// What commands reach of the loopback interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loopback {
    /// Each other.
    #[default]
    Private,
    /// Nothing: they have no internet sockets.
    Nothing,
    /// The services of the host's machine.
    Host,
}

impl Loopback {
    /// By its name in the options; `private` without one.
    #[must_use]
    pub fn named(name: Option<&str>) -> Self {
        match name {
            Some("none") => Self::Nothing,
            Some("host") => Self::Host,
            _ => Self::Private,
        }
    }
}

/// What becomes of git directories that commands make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GitMode {
    /// Directories are private to commands at once. What git takes for one of plain files is judged when the command
    /// has ended.
    #[default]
    Forked,
    /// Nothing that git would obey comes to lie on the host while a command runs either, and existing addresses stay
    /// what they are.
    Strict,
}

impl GitMode {
    /// By its name in the options; `forked` without one.
    #[must_use]
    pub fn named(name: Option<&str>) -> Self {
        if name == Some("strict") { Self::Strict } else { Self::Forked }
    }
}

/// Bounds as the host writes them: zero lifts one.
#[derive(Debug, Clone, Copy, Default)]
pub struct LimitOptions {
    /// How many processes there may be at once.
    pub processes: Option<u64>,
    /// How much memory.
    pub memory_bytes: Option<u64>,
    /// How much processor time each process may use.
    pub cpu_seconds: Option<u64>,
    /// How long a file may become.
    pub file_size_bytes: Option<u64>,
}

impl SandboxOptions {
    /// The plan for commands below `root`. `environment` is the host's.
    #[must_use]
    pub fn plan(
        &self,
        root: &Path,
        resolved: &Resolved,
        environment: &[(OsString, OsString)],
    ) -> Plan {
        let plan = policy::plan(&policy::Options {
            root,
            resolved,
            network: self.reach(),
            names: self.names.as_ref().map(HostOptions::names),
            files: if self.full_files { Files::Full } else { Files::Confined },
            read_scope: if self.system_only { ReadScope::System } else { ReadScope::All },
            writable_roots: &self.writable_roots,
            readable: &self.readable,
            deny_write: &protected_list(self.deny_write.as_deref()),
            is_git_strict: self.git == GitMode::Strict,
            limits: self.limits.resolve(),
            home: home_of(environment).as_deref(),
            other_home: stores::home_of_user(),
            variables: environment,
            sessions: Some(&policy::sessions_directory()),
            state: policy::state_directory().as_deref(),
            path: variable(environment, "PATH"),
        });
        Plan { trust: credentials::trust(self.credentials(), environment), ..plan }
    }

    /// Finds out by trying what holds around commands. With `inherits`, they see every variable.
    pub fn report(
        &self,
        root: &DirectoryGrant,
        grants: &Grants,
        environment: &[(OsString, OsString)],
        inherits: bool,
        cancel: &dyn CancelSource,
    ) -> Result<Report, Unfinished> {
        root.check()?;
        let resolved = grants.resolve()?;
        let plan = self.plan(&resolved.root, &resolved, environment);
        Ok(toolwright_exec::report(&plan, inherits, cancel))
    }

    /// The credentials of commands.
    pub(super) fn credentials(&self) -> Option<&Arc<CredentialSession>> {
        self.names.as_ref().and_then(|names| names.credentials.as_ref())
    }

    fn reach(&self) -> Network {
        if self.names.is_some() {
            return Network::Names;
        }
        match (self.network, self.loopback) {
            (true, _) => Network::Open,
            (false, Loopback::Private) => Network::PrivateLoopback,
            (false, Loopback::Nothing) => Network::Nothing,
            (false, Loopback::Host) => Network::HostLoopback,
        }
    }
}

impl LimitOptions {
    fn resolve(self) -> Limits {
        let bound = |option: Option<u64>| option.filter(|limit| *limit > 0);
        Limits {
            processes: self.processes.map_or(Limits::DEFAULT.processes, |limit| bound(Some(limit))),
            memory_bytes: bound(self.memory_bytes),
            cpu_seconds: bound(self.cpu_seconds),
            file_size_bytes: bound(self.file_size_bytes),
        }
    }
}

/// The root directory that a host grants. `identity` is its device and inode, as `DEVICE:INODE`, if the host has
/// noted them.
#[must_use]
pub fn granted_root(path: impl Into<PathBuf>, identity: Option<&str>) -> DirectoryGrant {
    DirectoryGrant::new("rootDir", path).seen(identity.and_then(DirectoryGrant::noted))
}

/// What the options of a tool set grant to its commands, besides `root`. A `home` that is not absolute is none.
#[must_use]
pub fn grants(
    root: Arc<DirectoryGrant>,
    writable: Vec<RequestedPath>,
    readable: Vec<RequestedPath>,
    deny_read: Vec<PathBuf>,
    home: Option<PathBuf>,
) -> Grants {
    let writable = RequestedPaths { option: "sandbox.writableRoots", paths: writable };
    let readable = RequestedPaths { option: "sandbox.readable", paths: readable };
    Grants::new(root, writable, readable, deny_read, home.filter(|home| home.is_absolute()))
}

/// The home directory by the host's environment, or else the user's.
pub(crate) fn home_of(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let home = variable(environment, "HOME").map(PathBuf::from);
    home.or_else(env::home_dir).filter(|home| home.is_absolute())
}

/// Warns once when commands may write a whole home directory.
pub(super) fn warn_of_writable_home(plan: &Plan) {
    let homes = env::home_dir().into_iter();
    let mut homes = homes.chain(stores::home_of_user().map(Path::to_owned));
    if let Some(home) = homes.find(|home| writes_around(plan, home)) {
        notices::writes_home(&home);
    }
}

fn writes_around(plan: &Plan, home: &Path) -> bool {
    plan.writable.iter().any(|root| home.starts_with(root))
}

#[cfg(test)]
pub(super) mod tests;
