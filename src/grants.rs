//! What a host grants to tools: directories that are identified once, and compared at each use.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::path::PathBuf;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::plan;
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::policy::{Grants, RequestedPath};

use crate::cross::Cross;

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
    /// Looks at nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(root: &GrantedRoot, request: GrantsRequest) -> Self {
        let GrantsRequest { writable_roots, readable, deny_read, home } = request;
        let (root, home): (_, Option<PathBuf>) = (root.shared(), home.cross());
        let (writable, readable, deny_read) =
            (writable_roots.cross(), readable.cross(), deny_read.cross());
        let all = plan::grants(Arc::clone(&root), writable, readable, deny_read, home);
        Self { root, all: Arc::new(all) }
    }
}
