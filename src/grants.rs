//! What a host grants to tools: directories that are found once, and compared at each use.
#![expect(clippy::needless_pass_by_value, reason = "napi hands strings over so")]

use std::path::PathBuf;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_fs::Granted;
use toolwright_sandbox::policy::{Given, Grants};

/// The root directory of a tool set or a context. It is known which one it is from its first use on, or
/// from before.
#[napi]
#[derive(Debug)]
pub struct GrantedRoot(pub(crate) Arc<Granted>);

#[napi]
impl GrantedRoot {
    /// The directory at `path` (absolute). `seen` is its device and inode, as `DEVICE:INODE`, where
    /// somebody has looked before.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(path: String, seen: Option<String>) -> Self {
        let granted = Granted::new("rootDir", path).seen(numbers(seen.as_deref()));
        Self(Arc::new(granted))
    }
}

/// A path that is granted to commands.
#[napi(object)]
#[derive(Debug)]
pub struct GrantedPath {
    /// As the host wrote it.
    pub path: String,
    /// Device and inode, as `DEVICE:INODE`, where somebody has looked before.
    pub seen: Option<String>,
}

impl From<GrantedPath> for Given {
    fn from(path: GrantedPath) -> Self {
        let seen = numbers(path.seen.as_deref());
        Self { path: PathBuf::from(path.path), seen }
    }
}

/// What commands are granted besides the root.
#[napi(object)]
#[derive(Debug)]
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
#[derive(Debug)]
pub struct CommandGrants {
    pub(crate) root: Arc<Granted>,
    pub(crate) all: Arc<Grants>,
}

#[napi]
impl CommandGrants {
    /// Looks at nothing yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(root: &GrantedRoot, request: GrantsRequest) -> Self {
        let paths = |given: Vec<GrantedPath>| given.into_iter().map(Given::from).collect();
        let root = Arc::clone(&root.0);
        let all = Grants::new(
            Arc::clone(&root),
            paths(request.writable_roots),
            paths(request.readable),
            request.deny_read.into_iter().map(PathBuf::from).collect(),
            request.home.map(PathBuf::from).filter(|home| home.is_absolute()),
        );
        Self { root, all: Arc::new(all) }
    }
}

fn numbers(seen: Option<&str>) -> Option<(u64, u64)> {
    let (device, inode) = seen?.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}
