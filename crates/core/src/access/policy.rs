//! What a session may do: compiled once, asked for every call.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolwright_fs::{DirectoryGrant, FsError, GitBorder, Roots};
use toolwright_policy::shell::{self, Dialect};
use toolwright_policy::{
    Access, CompileError, Declared, Effective, Host, RequirementSet, Union, Variables,
};
use toolwright_sandbox::plan;
use toolwright_sandbox::policy::{ClosedNames, stores};

use super::directories::{Directories, Given, GrantedName};
use super::{git_border, led_to, protected_paths};
use crate::failure::{Failure, Unfinished, access};

/// A set of requirements as it was written, and where it stands.
#[derive(Debug, Clone)]
pub struct Requirements {
    /// For messages: `manifest.requires`, `tool read`, `ceiling`.
    pub source: String,
    /// `{ fs?, net?, shell?, capabilities? }`
    pub set: Value,
}

/// What a session is to be allowed.
#[derive(Debug, Clone, Default)]
pub struct PolicyRequest {
    /// What the variables of patterns stand for: absolute directories.
    pub variables: Variables,
    /// The host's names for directories of the variables, where they differ. Without a list no
    /// directory is opened, and none has to exist.
    pub names: Option<Vec<GrantedName>>,
    /// All of these have to allow what is done; each is the union of its members. Without any,
    /// nothing is allowed.
    pub conjunction: Vec<Vec<Requirements>>,
    /// Paths below a workspace root that are not written; the usual ones without a list.
    pub deny_write: Option<Vec<PathBuf>>,
    /// The session's own directories: what lies in them may be read without a rule.
    pub implicit_read: Vec<PathBuf>,
    /// The same for reading and writing.
    pub implicit_write: Vec<PathBuf>,
    /// Directories of which nothing is open but the session's own in them.
    pub closed: Vec<PathBuf>,
}

/// What a session may do. It does not change; [`Policy::with_ad_hoc`] makes another one.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The session's own part of what is effective.
    own: Vec<OwnSet>,
    effective: Effective,
    directories: Directories,
    /// The roots of the workspace, with links followed.
    workspace: Vec<PathBuf>,
    user_data: Vec<PathBuf>,
    /// Directories of the other variables, as far as commands have to be kept out of them.
    other_directories: Vec<PathBuf>,
    /// Where absolute paths may lie besides.
    roots: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    implicit_read: Vec<PathBuf>,
    implicit_write: Vec<PathBuf>,
    /// There are more than a hundred, and each call asks.
    closed: HashSet<PathBuf>,
    /// What was closed by name to commands.
    closed_names: Arc<ClosedNames>,
}

/// One of the session's own sets that all have to allow.
#[derive(Debug, Clone)]
struct OwnSet {
    members: Vec<Declared>,
    /// All of it but what depends on `{ad-hoc}`.
    fixed: Union,
}

impl OwnSet {
    fn compile(members: &[Requirements], variables: &Variables) -> Result<Self, CompileError> {
        let declared = members.iter().map(|Requirements { source, set }| {
            let set = RequirementSet::parse(source, set)?;
            Ok(Declared { origin: source.clone(), set })
        });
        let members = declared.collect::<Result<Vec<_>, CompileError>>()?;
        let without = Variables { ad_hoc: Vec::new(), ..variables.clone() };
        Ok(Self { fixed: Union::compile(&members, &without)?, members })
    }

    fn with(&self, ad_hoc: &[PathBuf]) -> Result<Union, CompileError> {
        Ok(self.fixed.or(&Union::ad_hoc(&self.members, ad_hoc)?))
    }
}

/// What is allowed by every set: those of the parent as they are, then the session's own.
fn effective(
    parent: Option<&Policy>,
    own: &[OwnSet],
    ad_hoc: &[PathBuf],
) -> Result<Effective, CompileError> {
    let above = parent.map_or(&[][..], |parent| parent.effective.sets());
    let own = own.iter().map(|set| set.with(ad_hoc));
    let sets = above.iter().cloned().map(Ok).chain(own);
    sets.collect::<Result<_, _>>().map(Effective::new)
}

impl Policy {
    /// Compiles what a session may do. A child of a session may do no more than its parent.
    pub fn compile(request: &PolicyRequest, parent: Option<&Self>) -> Result<Self, Unfinished> {
        Self::compile_in(request, parent, None)
    }

    /// The same for a session that works in a fork. Without one, a child works in that of its parent.
    pub fn compile_in(
        request: &PolicyRequest,
        parent: Option<&Self>,
        fork: Option<&Arc<DirectoryGrant>>,
    ) -> Result<Self, Unfinished> {
        let directories = match &request.names {
            None => Directories::default(),
            Some(names) => {
                let own = [
                    ("sessionDirectory", &*request.implicit_read),
                    ("scratch", &*request.implicit_write),
                ];
                let parent = parent.map(|parent| &parent.directories);
                Directories::find(&request.variables, names, own, Given { parent, fork })?
            }
        };
        Self::compile_with(directories, request, parent)
            .map_err(|error| access::manifest_invalid(&error).into())
    }

    fn compile_with(
        directories: Directories,
        request: &PolicyRequest,
        parent: Option<&Self>,
    ) -> Result<Self, CompileError> {
        let variables = request.variables.resolved();
        let own = request.conjunction.iter().map(|members| OwnSet::compile(members, &variables));
        let own: Vec<OwnSet> = own.collect::<Result<_, _>>()?;
        let effective = effective(parent, &own, &variables.ad_hoc)?;
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
            paths.iter().map(real).collect()
        };
        let mut closed = real(&request.closed);
        // A pattern opens a store by naming it or what lies in it, not by what lies around it.
        let roots = effective.roots();
        closed.extend(stores::of_process(|store| roots.iter().any(|root| root.starts_with(store))));
        let policy = Self {
            own,
            effective: Effective::default(),
            directories,
            workspace: variables.workspace,
            user_data: variables.user_data,
            other_directories: Vec::new(),
            roots: Vec::new(),
            deny_write: protected_paths(request.deny_write.as_deref()),
            implicit_read: real(&request.implicit_read),
            implicit_write: real(&request.implicit_write),
            closed: closed.into_iter().collect(),
            closed_names: Arc::default(),
        };
        Ok(policy.with_effective(effective, &variables.ad_hoc))
    }

    /// The same for other directories of `{ad-hoc}` (absolute, without links), and for what its parent
    /// may do by now. Nothing else is looked up again: what it led to when the session began still
    /// holds.
    pub fn with_ad_hoc(
        &self,
        ad_hoc: &[PathBuf],
        parent: Option<&Self>,
    ) -> Result<Self, Unfinished> {
        let above = parent.map(|parent| &parent.directories);
        let directories = self.directories.with_ad_hoc(ad_hoc, above)?;
        let effective = effective(parent, &self.own, ad_hoc)
            .map_err(|error| access::manifest_invalid(&error))?;
        Ok(Self { directories, ..self.clone() }.with_effective(effective, ad_hoc))
    }

    fn with_effective(mut self, effective: Effective, ad_hoc: &[PathBuf]) -> Self {
        self.roots = effective.roots();
        self.roots.extend(self.implicit_read.iter().chain(&self.implicit_write).cloned());
        self.other_directories = ad_hoc.iter().chain(&self.user_data).cloned().collect();
        self.effective = effective;
        self
    }

    /// What is allowed, as sets of patterns.
    #[must_use]
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The roots of the workspace, with links followed.
    #[must_use]
    pub fn workspace(&self) -> &[PathBuf] {
        &self.workspace
    }

    /// Directories of the other variables, as far as commands have to be kept out of them.
    #[must_use]
    pub fn other_directories(&self) -> &[PathBuf] {
        &self.other_directories
    }

    /// What was closed by name to commands.
    #[must_use]
    pub fn closed_names(&self) -> &ClosedNames {
        &self.closed_names
    }

    /// Refuses granted directories that were replaced, and says which the others are.
    pub fn check_directories(&self) -> Result<Vec<plan::Granted>, FsError> {
        self.directories.check()
    }

    /// The fork that stands in the place of a directory.
    pub(crate) fn fork(&self) -> Option<&Arc<DirectoryGrant>> {
        self.directories.fork()
    }

    /// Whether a real path is that of a directory, in the fork where it lies there.
    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        self.directories.is_directory(path)
    }

    /// Whether a directory has the one in it that was forked: below it, a search would meet what was forked and not the
    /// fork.
    pub(crate) fn is_around_fork(&self, directory: &Path) -> bool {
        let base = self.fork().and_then(|fork| fork.forked());
        base.is_some_and(|base| base != directory && base.starts_with(directory))
    }

    /// The directory in which relative paths begin.
    pub(super) fn workspace_root(&self) -> Option<&DirectoryGrant> {
        self.directories.workspace_root()
    }

    /// The directories that are open to file tools for `path`.
    pub(crate) fn open_roots(&self, path: &Path) -> Result<Roots, FsError> {
        self.directories.open_for(path, &self.roots)
    }

    /// Paths below every granted directory that are not written, and what git is led to there now.
    pub(crate) fn deny_write(&self) -> Vec<PathBuf> {
        let directories =
            self.workspace.iter().chain(&self.other_directories).chain(&self.implicit_write);
        // Git on the host obeys nothing of a fork.
        let is_in_fork = |path: &Path| self.fork().is_some_and(|fork| fork.holds(path));
        let directories = directories.filter(|path| !is_in_fork(path));
        let led_to = directories.flat_map(|root| led_to(&self.deny_write, root));
        self.deny_write.iter().cloned().chain(led_to).collect()
    }

    /// Whether file tools leave git's own directories alone.
    pub(crate) fn git(&self) -> GitBorder {
        git_border(&self.deny_write)
    }

    /// Whether a real path lies in one of the session's own directories and needs no rule.
    #[must_use]
    pub fn is_implicit(&self, access: Access, real_path: &Path) -> bool {
        let is_below = |roots: &[PathBuf]| roots.iter().any(|root| real_path.starts_with(root));
        is_below(&self.implicit_write) || access == Access::Read && is_below(&self.implicit_read)
    }

    /// Whether a real path may be read or written.
    #[must_use]
    pub fn allows(&self, access: Access, real_path: &Path) -> bool {
        self.is_implicit(access, real_path)
            || !self.is_closed(real_path) && self.effective.allows_path(access, real_path)
    }

    /// Whether something in a directory may be read, so that looking there is of use.
    #[must_use]
    pub fn allows_below(&self, directory: &Path) -> bool {
        !self.is_closed(directory) && self.effective.allows_below(Access::Read, directory)
    }

    fn is_closed(&self, real_path: &Path) -> bool {
        real_path.ancestors().any(|around| self.closed.contains(around))
    }

    /// A real path in output: a path that the tools take.
    #[must_use]
    pub fn display_path(&self, real_path: &Path) -> PathBuf {
        match self.workspace.first().and_then(|root| real_path.strip_prefix(root).ok()) {
            Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
            Some(below) => below.to_owned(),
            None => real_path.to_owned(),
        }
    }

    /// The patterns of hosts of every set that has to allow one.
    #[must_use]
    pub fn hosts(&self) -> Vec<Vec<String>> {
        let hosts = |set: &Union| set.expanded().net.and_then(|net| net.hosts).unwrap_or_default();
        let sets: Vec<_> = self.effective.sets().iter().map(hosts).collect();
        // Without any set, nothing is allowed.
        if sets.is_empty() { vec![Vec::new()] } else { sets }
    }

    /// Refuses a host that may not be reached.
    pub fn check_host(&self, name: &str, port: Option<u16>) -> Result<(), Failure> {
        let host = Host::parse(name).map(|host| host.with_port(port));
        if host.as_ref().is_some_and(|host| self.effective.allows_host(host)) {
            return Ok(());
        }
        Err(access::host_denied(name, host.is_some_and(|host| host.is_private())))
    }

    /// Refuses a named capability that may not be used.
    pub fn check_capability(&self, name: &str) -> Result<(), Failure> {
        if self.effective.allows_capability(name) {
            return Ok(());
        }
        Err(access::capability_denied(name))
    }

    /// Refuses a command line in which some command may not be run. Without a dialect the shell that
    /// reads it is unknown.
    pub fn check_command(&self, line: &str, dialect: Option<Dialect>) -> Result<(), Failure> {
        let line = shell::parse_once(line, dialect);
        let refused = line.commands.iter().find(|command| !self.effective.allows_command(command));
        let is_blank = line.commands.is_empty();
        match refused {
            None if !is_blank || self.effective.allows_some_command() => Ok(()),
            refused => Err(access::command_denied(refused)),
        }
    }
}
