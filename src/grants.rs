//! What a host grants to tools: directories that are identified once, and compared at each use.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::command::grant::{CallGrant, GrantKind};
use toolwright_core::command::plan::SandboxOptions;
use toolwright_core::command::{environment, plan};
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::policy::{Grants, RequestedPath};

use crate::call::{self, CancelHandle, Promised};
use crate::cross::{Cross, cross};
use crate::sandbox::SandboxRequest;

/// The root directory of a tool set or a context. Its first use identifies it, unless the host has
/// noted its identity.
#[napi]
pub struct GrantedRoot(pub(crate) Arc<DirectoryGrant>);

#[napi]
impl GrantedRoot {
    /// The directory at `path` (absolute). `identity` is its device and inode, as `DEVICE:INODE`, if
    /// the host has noted them.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, identity: Option<String>) -> Self {
        Self(Arc::new(plan::granted_root(path, identity.as_deref())))
    }

    /// Whether it has been identified, and is still the directory at its path.
    #[napi(catch_unwind)]
    pub fn is_current(&self) -> bool {
        self.0.is_identified() && self.0.check().is_ok()
    }
}

impl GrantedRoot {
    pub(crate) fn shared(&self) -> Arc<DirectoryGrant> {
        Arc::clone(&self.0)
    }
}

/// A path that is granted to commands.
#[napi(object)]
pub struct GrantedPath {
    /// As the host wrote it.
    pub path: String,
    /// Device and inode, as `DEVICE:INODE`, if the host has noted them.
    pub identity: Option<String>,
}

impl Cross<RequestedPath> for GrantedPath {
    fn cross(self) -> RequestedPath {
        let seen = self.identity.as_deref().and_then(DirectoryGrant::noted);
        RequestedPath { path: self.path.cross(), seen }
    }
}

/// What commands are granted besides the root.
#[napi(object)]
pub struct GrantsRequest {
    /// What they may write.
    pub writable_roots: Vec<GrantedPath>,
    /// What they may read in spite of what closes it.
    pub readable: Vec<GrantedPath>,
    /// What they may not read.
    pub deny_read: Vec<String>,
    /// The home directory, for paths that begin with `~/`.
    pub home: Option<String>,
}

/// What commands of a tool set are granted.
#[napi]
pub struct CommandGrants {
    pub(crate) root: Arc<DirectoryGrant>,
    pub(crate) all: Arc<Grants>,
}

#[napi]
impl CommandGrants {
    /// Looks at nothing yet. Commands see a fork in the place of the directory that was forked, wherever their root is.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        root: &GrantedRoot,
        request: GrantsRequest,
        fork: Option<ClassInstance<'_, GrantedRoot>>,
    ) -> Self {
        let GrantsRequest { writable_roots, readable, deny_read, home } = request;
        let (root, home): (_, Option<PathBuf>) = (root.shared(), home.cross());
        let (writable, readable, deny_read) =
            (writable_roots.cross(), readable.cross(), deny_read.cross());
        let all = plan::grants(Arc::clone(&root), writable, readable, deny_read, home);
        let all = match fork {
            Some(fork) => all.seeing(fork.shared()),
            None => all,
        };
        Self { root, all: Arc::new(all) }
    }
}

/// What is granted to one command besides the options.
#[napi(object, object_from_js = false)]
pub struct GrantForCall {
    /// The real path, or the host with its port.
    pub subject: String,
    /// Device and inode of a directory, as `DEVICE:INODE`.
    pub identity: Option<String>,
    /// What the grant opens and what stays closed, for the user who is asked.
    pub opens: String,
}

cross! { CallGrant => GrantForCall { subject, identity, opens } }

/// Whether one command may be granted `wanted`, if the user agrees. `kind` is `writable`, `readable` or `network`. The
/// variables of the host are those of `Command.hostEnv`.
#[napi(catch_unwind, ts_return_type = "Promise<GrantForCall | Unfinished>")]
pub fn check_grant(
    grants: &CommandGrants,
    request: SandboxRequest,
    kind: String,
    wanted: String,
    host_env: Option<HashMap<String, String>>,
    cancel: &CancelHandle,
) -> Promised<GrantForCall> {
    let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
    let (options, host): (SandboxOptions, _) =
        (request.cross(), environment::of_host(host_env, None));
    call::long(cancel, move |_| {
        options.call_grant(&root, &grants, &host, GrantKind::named(&kind), &wanted)
    })
}
