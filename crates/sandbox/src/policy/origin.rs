//! What a caller asked for, without what the disk adds to it.

use super::{Options, ReadScope};
use crate::plan::Origin;

/// The directories that have to be there are part of it, since another one at the same path is another
/// grant. What may come and go is not: a readable path, a store, a repository.
pub(super) fn of(options: &Options<'_>) -> Origin {
    let resolved = options.resolved;
    let is_required =
        |path| path == options.root || resolved.writable.iter().any(|writable| writable == path);
    let granted = resolved.granted.iter().filter(|granted| is_required(&granted.path));
    Origin {
        root: Some(options.root.to_owned()),
        root_fork: resolved.root_fork.clone(),
        network: options.network,
        names: options.names.clone(),
        files: options.files,
        writable: options.writable_roots.to_vec(),
        readable: options.readable.to_vec(),
        is_narrow: options.read_scope == ReadScope::System,
        closed: resolved.closed_names.clone(),
        protected: options.deny_write.to_vec(),
        granted: granted.cloned().collect(),
        limits: options.limits,
        home: options.home.map(Into::into),
    }
}
