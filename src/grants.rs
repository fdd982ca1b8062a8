//! What a host grants to tools: directories that are identified once, and compared at each use.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::path::PathBuf;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::plan;
use toolwright_fs::DirectoryGrant;
use toolwright_sandbox::policy::{Grants, RequestedPath};

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
        let granted = DirectoryGrant::new("rootDir", path).seen(numbers(identity.as_deref()));
        Self(Arc::new(granted))
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

impl From<GrantedPath> for RequestedPath {
    fn from(path: GrantedPath) -> Self {
        let seen = numbers(path.identity.as_deref());
        Self { path: PathBuf::from(path.path), seen }
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
        let paths = |paths: Vec<GrantedPath>| paths.into_iter().map(RequestedPath::from).collect();
        let root = Arc::clone(&root.0);
        let all = plan::grants(
            Arc::clone(&root),
            paths(request.writable_roots),
            paths(request.readable),
            request.deny_read.into_iter().map(PathBuf::from).collect(),
            request.home.map(PathBuf::from).filter(|home| home.is_absolute()),
        );
        Self { root, all: Arc::new(all) }
    }
}

fn numbers(identity: Option<&str>) -> Option<(u64, u64)> {
    let (device, inode) = identity?.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}
