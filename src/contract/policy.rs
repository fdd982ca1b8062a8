//! Capabilities: compiled once for a session, asked for every call.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use serde_json::Value;
use toolwright_fs::Granted;
use toolwright_policy::{
    Access, CompileError, Declared, Effective, Host, RequirementSet, Variables, shell,
};
use toolwright_sandbox::policy::{Closed, GrantError, stores};

use super::granted;
use super::granted::ContractGranted;
use super::own_set::{OwnSet, effective};
use super::rules::dialect;
use crate::error::NativeError;
use crate::options;

/// What the variables of patterns stand for: absolute directories. An empty list is a variable that
/// is defined and empty, with which no pattern comes to anything.
#[napi(object)]
#[derive(Debug)]
pub struct ContractVariables {
    /// `{workspace}`: the root, and those that the manifest adds.
    pub workspace: Vec<String>,
    /// `{ad-hoc}`: directories of files that are open without a workspace.
    pub ad_hoc: Vec<String>,
    /// `{user-data}`: the host's directory for this user.
    pub user_data: Option<String>,
}

impl ContractVariables {
    /// With links followed: patterns are compared with real paths.
    pub(super) fn resolved(&self) -> Variables {
        Variables {
            workspace: self.workspace.iter().map(PathBuf::from).collect(),
            ad_hoc: self.ad_hoc.iter().map(PathBuf::from).collect(),
            user_data: self.user_data.iter().map(PathBuf::from).collect(),
        }
        .resolved()
    }
}

/// A set of requirements as it was written, and where it stands.
#[napi(object)]
#[derive(Debug)]
pub struct ContractRequires {
    /// For messages: `manifest.requires`, `tool read`, `ceiling`.
    pub source: String,
    /// `{ fs?, net?, shell?, capabilities? }`
    #[napi(ts_type = "unknown")]
    pub requires: Value,
}

/// What a session may do.
#[napi(object)]
#[derive(Debug)]
pub struct ContractPolicyRequest {
    /// What the variables stand for.
    pub variables: ContractVariables,
    /// How the host calls directories of the variables, where it calls them otherwise. Without a list
    /// nothing is opened, and the directories need not be there.
    pub granted: Option<Vec<ContractGranted>>,
    /// All of these have to allow what is done, and in each of them any member may. Without any,
    /// nothing is allowed.
    pub conjunction: Vec<Vec<ContractRequires>>,
    /// Paths below a workspace root that are not written, if not the usual ones.
    pub deny_write: Option<Vec<String>>,
    /// The session's own directories: what lies there may be read without a rule.
    pub implicit_read: Option<Vec<String>>,
    /// The same for reading and writing.
    pub implicit_write: Option<Vec<String>>,
    /// Directories of which nothing is open but the session's own in them.
    pub closed: Option<Vec<String>>,
}

/// A policy, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct ContractPolicyOutcome {
    /// What was compiled.
    pub policy: Option<ContractPolicy>,
    /// What is wrong with the request: `details` has its place.
    pub error: Option<NativeError>,
}

/// What a session may do, compiled. It does not change; `withAdHoc` gives another one.
#[napi]
#[derive(Debug, Clone)]
pub struct ContractPolicy(pub(super) Arc<Policy>);

#[derive(Debug, Clone)]
pub(super) struct Policy {
    /// The session's own part of what is effective.
    own: Vec<OwnSet>,
    user_data: Vec<PathBuf>,
    pub(super) effective: Effective,
    /// What the host has granted by name: the roots of the workspace first, in their order.
    pub(super) granted: Vec<Arc<Granted>>,
    /// With links followed.
    pub(super) workspace: Vec<PathBuf>,
    /// Directories of the other variables, as far as commands have to be kept out of them.
    pub(super) others: Vec<PathBuf>,
    /// Where absolute paths may lie besides.
    pub(super) roots: Vec<PathBuf>,
    pub(super) deny_write: Vec<PathBuf>,
    implicit_read: Vec<PathBuf>,
    implicit_write: Vec<PathBuf>,
    /// There are more than a hundred, and each call asks.
    closed: HashSet<PathBuf>,
    /// What was closed by name to commands.
    pub(super) denied: Arc<Closed>,
}

impl Policy {
    fn compile(
        request: &ContractPolicyRequest,
        granted: Vec<Arc<Granted>>,
        parent: Option<&Self>,
    ) -> Result<Self, CompileError> {
        let variables = request.variables.resolved();
        let sets = request.conjunction.iter().map(|members| {
            let members = members
                .iter()
                .map(|ContractRequires { source, requires }| {
                    let set = RequirementSet::parse(source, requires)?;
                    Ok(Declared { origin: source.clone(), set })
                })
                .collect::<Result<Vec<_>, CompileError>>()?;
            OwnSet::compile(members, &variables)
        });
        let own: Vec<OwnSet> = sets.collect::<Result<_, _>>()?;
        let effective = effective(parent, &own, &variables.ad_hoc)?;
        let real = |paths: &Option<Vec<String>>| -> Vec<PathBuf> {
            let paths = paths.iter().flatten().map(PathBuf::from);
            paths.map(|path| std::fs::canonicalize(&path).unwrap_or(path)).collect()
        };
        let mut closed = real(&request.closed);
        // A pattern opens a store by naming it, or what lies in it, and not by what lies around it.
        let roots = effective.roots();
        closed.extend(stores::of_process(|store| roots.iter().any(|root| root.starts_with(store))));
        let fixed = Self {
            own,
            granted,
            user_data: variables.user_data,
            effective: Effective::default(),
            workspace: variables.workspace,
            others: Vec::new(),
            roots: Vec::new(),
            deny_write: options::protected_paths(request.deny_write.as_deref()),
            implicit_read: real(&request.implicit_read),
            implicit_write: real(&request.implicit_write),
            closed: closed.into_iter().collect(),
            denied: Arc::default(),
        };
        Ok(fixed.with_effective(effective, &variables.ad_hoc))
    }

    /// The same for other directories of `{ad-hoc}`, and for what its parent may do by now. Nothing
    /// else is looked up again: what it led to when the session began still holds.
    fn with_ad_hoc(
        &self,
        granted: Vec<Arc<Granted>>,
        ad_hoc: &[PathBuf],
        parent: Option<&Self>,
    ) -> Result<Self, CompileError> {
        let effective = effective(parent, &self.own, ad_hoc)?;
        let same = Self { granted, ..self.clone() };
        Ok(same.with_effective(effective, ad_hoc))
    }

    fn with_effective(mut self, effective: Effective, ad_hoc: &[PathBuf]) -> Self {
        self.roots = effective.roots();
        self.roots.extend(self.implicit_read.iter().chain(&self.implicit_write).cloned());
        self.others = ad_hoc.iter().chain(&self.user_data).cloned().collect();
        self.effective = effective;
        self
    }

    /// Whether a place is one that needs no rule.
    pub(super) fn is_implicit(&self, access: Access, place: &Path) -> bool {
        let below = |roots: &[PathBuf]| roots.iter().any(|root| place.starts_with(root));
        below(&self.implicit_write) || access == Access::Read && below(&self.implicit_read)
    }

    pub(super) fn allows(&self, access: Access, place: &Path) -> bool {
        self.is_implicit(access, place)
            || !self.is_closed(place) && self.effective.allows_path(access, place)
    }

    /// Whether something in a directory may be read: whether it is worth to look there.
    pub(super) fn allows_below(&self, directory: &Path) -> bool {
        !self.is_closed(directory) && self.effective.allows_below(Access::Read, directory)
    }

    fn is_closed(&self, place: &Path) -> bool {
        place.ancestors().any(|around| self.closed.contains(around))
    }

    /// How a place is called in output: as a path that the tools take.
    pub(super) fn display(&self, place: &Path) -> PathBuf {
        match self.workspace.first().and_then(|root| place.strip_prefix(root).ok()) {
            Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
            Some(below) => below.to_owned(),
            None => place.to_owned(),
        }
    }
}

/// Compiles what a session may do; a child of a session does no more than its parent may.
#[napi(catch_unwind)]
#[must_use]
pub fn compile_policy(
    request: ContractPolicyRequest,
    parent: Option<ClassInstance<'_, ContractPolicy>>,
) -> ContractPolicyOutcome {
    let parent = parent.as_ref().map(|parent| &*parent.0);
    match granted::find(&request, parent) {
        Ok(granted) => told(Policy::compile(&request, granted, parent)),
        Err(error) => refused(&error),
    }
}

/// A granted directory cannot be used.
fn refused(error: &GrantError) -> ContractPolicyOutcome {
    let error = crate::grants::refused(error);
    ContractPolicyOutcome { error, ..ContractPolicyOutcome::default() }
}

fn told(compiled: Result<Policy, CompileError>) -> ContractPolicyOutcome {
    match compiled {
        Ok(policy) => ContractPolicyOutcome {
            policy: Some(ContractPolicy(Arc::new(policy))),
            ..ContractPolicyOutcome::default()
        },
        Err(error) => {
            let hint = "Correct the manifest or the tool's requirements; nothing was started.";
            let native = compile_failed("CONTRACT_MANIFEST_INVALID", &error, hint);
            ContractPolicyOutcome { error: Some(native), ..ContractPolicyOutcome::default() }
        }
    }
}

pub(super) fn compile_failed(code: &str, error: &CompileError, hint: &str) -> NativeError {
    let summary = format!("{} cannot be used", error.origin);
    let mut native = NativeError::new(code, summary, &error.to_string(), hint)
        .with("source", error.origin.as_str())
        .with("place", error.place.as_str())
        .with("problem", error.problem.as_str());
    if let Some(variable) = &error.variable {
        native = native.with("variable", variable.as_str());
    }
    native
}

/// Refused by capability: nothing was done.
pub(super) fn denied(capability: &str, what: &str, hint: &str) -> NativeError {
    let summary = "Not among this agent's capabilities".to_owned();
    let place = format!("{summary}: {capability} {what}");
    NativeError::new("CAPABILITY_DENIED", summary, &place, hint).with("capability", capability)
}

/// What a process may do.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGrants {
    /// Directories that it may read.
    pub readable: Vec<String>,
    /// Directories that it may write, and read.
    pub writable: Vec<String>,
    /// It may read everything.
    pub reads_all: bool,
    /// It may reach every host.
    pub network: bool,
    /// What was too narrow to be granted to a process, as capability and pattern.
    pub not_granted: Option<Vec<String>>,
}

#[napi]
impl ContractPolicy {
    /// The same while these are the directories of `{ad-hoc}`: absolute, without links. A child's is
    /// given what its parent may do by now.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn with_ad_hoc(
        &self,
        ad_hoc: Vec<String>,
        parent: Option<ClassInstance<'_, ContractPolicy>>,
    ) -> ContractPolicyOutcome {
        let parent = parent.as_ref().map(|parent| &*parent.0);
        let granted = match self.0.granted_with(&ad_hoc, parent) {
            Ok(granted) => granted,
            Err(error) => return refused(&error.into()),
        };
        let ad_hoc: Vec<PathBuf> = ad_hoc.into_iter().map(PathBuf::from).collect();
        told(self.0.with_ad_hoc(granted, &ad_hoc, parent))
    }

    /// The sets with their variables and braces written out, in the shape of the request.
    #[napi(catch_unwind, ts_return_type = "unknown")]
    #[must_use]
    pub fn expanded(&self) -> Value {
        let sets = self.0.effective.sets().iter();
        sets.map(|set| serde_json::to_value(set.expanded()).unwrap_or_default()).collect()
    }

    /// Why a host may not be reached; nothing when it may.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn check_host(&self, host: String, port: Option<u16>) -> Option<NativeError> {
        let found = Host::parse(&host).map(|host| host.with_port(port));
        if found.as_ref().is_some_and(|host| self.0.effective.allows_host(host)) {
            return None;
        }
        let hint = if found.is_some_and(|host| host.is_private()) {
            "Addresses of this machine and of private networks have to be granted by name."
        } else {
            "Use another host, or go on without it; the host program grants net.hosts."
        };
        Some(denied("net.fetch", &format!("`{host}`"), hint).with("host", host))
    }

    /// Why a named capability may not be used; nothing when it may.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn check_capability(&self, name: String) -> Option<NativeError> {
        let hint = "Go on without it; the host program grants capabilities.";
        (!self.0.effective.allows_capability(&name)).then(|| denied(&name, "", hint))
    }

    /// Why a command line may not be run, by bash or by a shell that is not known; nothing when all of
    /// its commands may.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn check_command(
        &self,
        line: String,
        #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
    ) -> Option<NativeError> {
        let parsed = shell::parse_once(&line, dialect(shell.as_deref()));
        let effective = &self.0.effective;
        let refused = parsed.commands.iter().find(|command| !effective.allows_command(command));
        if parsed.commands.is_empty() && effective.allows_some_command() {
            return None; // blank, or a comment
        }
        if refused.is_none() && !parsed.commands.is_empty() {
            return None;
        }
        let hint = match refused {
            Some(command) if command.argv.is_none() || !command.is_exact => {
                "Write the command without variables, substitutions and patterns, and not as an argument of another one; what it does has to be known before it runs."
            }
            _ => {
                "Use a command that is granted, or another tool; the host program grants shell commands."
            }
        };
        let shown = refused.map_or_else(|| "any command".to_owned(), shell::SimpleCommand::shown);
        let mut native = denied("shell.run", &shown, hint);
        if let Some(command) = refused {
            native = native.with("command", command.text.as_str());
            if let Some(reason) = &command.restricted {
                native = native.with("restricted", reason.as_str());
            }
        }
        Some(native)
    }

    /// What a command's process gets: patterns for whole directories, and no narrower ones.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn process_grants(&self) -> ContractGrants {
        let grants = self.0.effective.grants();
        let texts = |paths: Vec<PathBuf>| -> Vec<String> {
            paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
        };
        ContractGrants {
            readable: texts(grants.readable),
            writable: texts(grants.writable),
            reads_all: grants.reads_all,
            network: grants.network,
            not_granted: Some(grants.not_granted),
        }
    }
}
