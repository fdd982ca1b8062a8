//! Capabilities: compiled once for a session, asked for every call.

use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use serde_json::Value;
use toolwright_core::access::directories::GrantedName;
use toolwright_core::access::policy::{Policy, PolicyRequest, Requirements};
use toolwright_core::failure::Failure;
use toolwright_policy::shell::Dialect;
use toolwright_policy::{Grants, Variables};

use crate::call::Outcome;
use crate::cross::{Cross, convert, cross};
use crate::grants::GrantedRoot;

/// What the variables of patterns stand for: absolute directories. An empty list is a variable that
/// is defined and empty, with which no pattern comes to anything.
#[napi(object)]
pub struct ContractVariables {
    /// `{workspace}`: the root, and those that the manifest adds.
    pub workspace: Vec<String>,
    /// `{ad-hoc}`: directories of files that are open without a workspace.
    pub ad_hoc: Vec<String>,
    /// `{user-data}`: the host's directory for this user.
    pub user_data: Option<String>,
}

impl Cross<Variables> for ContractVariables {
    fn cross(self) -> Variables {
        let Self { workspace, ad_hoc, user_data } = self;
        let user_data = user_data.into_iter().map(PathBuf::from).collect();
        Variables { workspace: workspace.cross(), ad_hoc: ad_hoc.cross(), user_data }
    }
}

/// A set of requirements as it was written, and where it stands.
#[napi(object)]
pub struct ContractRequires {
    /// For messages: `manifest.requires`, `tool read`, `ceiling`.
    pub source: String,
    /// `{ fs?, net?, shell?, capabilities? }`
    #[napi(ts_type = "unknown")]
    pub requires: Value,
}

/// The host's name for a directory.
#[napi(object)]
pub struct ContractGranted {
    /// The path without links.
    pub path: String,
    /// The path as the host wrote it, absolute.
    pub written: String,
}

/// What a session may do.
#[napi(object)]
pub struct ContractPolicyRequest {
    /// What the variables stand for.
    pub variables: ContractVariables,
    /// The host's names for directories of the variables, where they differ. Without a list no
    /// directory is opened, and none has to exist.
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

cross! {
    ContractRequires => Requirements { source, set: requires }
    ContractGranted => GrantedName { path, written }
    ContractPolicyRequest => PolicyRequest {
        variables, names: granted, conjunction, deny_write, implicit_read, implicit_write, closed,
    }
}

/// What a session may do, compiled. It does not change; `withAdHoc` gives another one.
#[napi]
#[derive(Clone)]
pub struct ContractPolicy(pub(super) Arc<Policy>);

convert! { Policy => ContractPolicy: |policy| ContractPolicy(Arc::new(policy)); }

/// Compiles what a session may do; a child of a session does no more than its parent may. With a fork, the directories of
/// the request that lie in the one that was forked are those of the fork; without one, a child works in that of its parent.
#[napi(catch_unwind, ts_return_type = "ContractPolicy | Unfinished")]
pub fn compile_policy(
    request: ContractPolicyRequest,
    parent: Option<ClassInstance<'_, ContractPolicy>>,
    fork: Option<ClassInstance<'_, GrantedRoot>>,
) -> Outcome<ContractPolicy> {
    let parent = parent.as_ref().map(|parent| &*parent.0);
    let fork = fork.as_ref().map(|fork| &fork.0);
    Policy::compile_in(&request.cross(), parent, fork).into()
}

/// What a process may do.
#[napi(object)]
pub struct ContractGrants {
    /// Directories that it may read.
    pub readable: Vec<String>,
    /// Directories that it may write, and read.
    pub writable: Vec<String>,
    /// Names of such directories, from which links lead there.
    pub linked_names: Vec<String>,
    /// It may read everything.
    pub reads_all: bool,
    /// It may reach every host.
    pub network: bool,
    /// What was too narrow to be granted to a process, as capability and pattern.
    pub not_granted: Option<Vec<String>>,
}

cross! { ContractGrants => Grants { readable, writable, linked_names, reads_all, network, not_granted } }

#[napi]
impl ContractPolicy {
    /// The same while these are the directories of `{ad-hoc}`: absolute, without links. A child gets
    /// what its parent may do by now.
    #[napi(catch_unwind, ts_return_type = "ContractPolicy | Unfinished")]
    pub fn with_ad_hoc(
        &self,
        ad_hoc: Vec<String>,
        parent: Option<ClassInstance<'_, ContractPolicy>>,
    ) -> Outcome<ContractPolicy> {
        let parent = parent.as_ref().map(|parent| &*parent.0);
        let ad_hoc: Vec<PathBuf> = ad_hoc.cross();
        self.0.with_ad_hoc(&ad_hoc, parent).into()
    }

    /// The sets with their variables and braces written out, in the shape of the request.
    #[napi(catch_unwind, ts_return_type = "unknown")]
    pub fn expanded(&self) -> Value {
        let sets = self.0.effective().sets().iter();
        sets.map(|set| serde_json::to_value(set.expanded()).unwrap_or_default()).collect()
    }

    /// Why a host may not be reached, for a model; nothing when it may.
    #[napi(catch_unwind)]
    pub fn check_host(&self, host: String, port: Option<u16>) -> Option<String> {
        refusal(self.0.check_host(&host, port))
    }

    /// Why a named capability may not be used, for a model; nothing when it may.
    #[napi(catch_unwind)]
    pub fn check_capability(&self, name: String) -> Option<String> {
        refusal(self.0.check_capability(&name))
    }

    /// Why a command line may not be run, by bash or by an unknown shell, for a model; nothing when all of
    /// its commands may.
    #[napi(catch_unwind)]
    pub fn check_command(
        &self,
        line: String,
        #[napi(ts_arg_type = "'bash' | undefined")] shell: Option<String>,
    ) -> Option<String> {
        refusal(self.0.check_command(&line, Dialect::of_shell(shell.as_deref())))
    }

    /// What a command's process gets: patterns for whole directories, and no narrower ones.
    #[napi(catch_unwind)]
    pub fn process_grants(&self) -> ContractGrants {
        let Grants { readable, writable, linked_names, reads_all, network, not_granted } =
            self.0.effective().grants();
        let texts = |paths: Vec<PathBuf>| -> Vec<String> {
            paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
        };
        let [readable, writable, linked_names] = [readable, writable, linked_names].map(texts);
        let not_granted = Some(not_granted);
        ContractGrants { readable, writable, linked_names, reads_all, network, not_granted }
    }
}

fn refusal(checked: Result<(), Failure>) -> Option<String> {
    checked.err().map(|failure| failure.message())
}
