//! The first message to a supervisor.

use std::sync::Arc;

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum, wire_struct};
use crate::plan::{FileIdentity, Files, Forked, Granted, Limits, Link, Network, Plan, Trust};

/// The order that a supervisor starts with. Where the plan names a fork, a mount of that comes last with
/// the frame, and then the lock of the fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What its commands may do.
    pub plan: Plan,
    /// The error number with which an earlier supervisor of this plan failed to build the tree of
    /// files. This one does without a mount namespace, and reports that.
    pub without_mounts: Option<i32>,
    /// How long a worker waits for its next command, in milliseconds.
    pub idle_ms: u32,
    /// Whether a network comes with the frame, which it is to join instead of making one.
    pub joins_network: bool,
    /// Whether the mounts of another supervisor and the file system of its temporary directories come
    /// behind that, which are to be the temporary directories of this one too.
    pub shares_temporary: bool,
}

wire_struct!(Order { plan, without_mounts, idle_ms, joins_network, shares_temporary });
wire_struct!(Granted { path, identity });
wire_struct!(Forked { number, base });
wire_struct!(Trust { authority, others, known_hosts });
wire_struct!(Link { path, target });
wire_struct!(FileIdentity { device, inode, born });
wire_struct!(Limits { processes, memory_bytes, cpu_seconds, file_size_bytes });
wire_enum!(Network { 0 = Open, 1 = PrivateLoopback, 2 = Nothing, 3 = HostLoopback, 4 = Names });
wire_enum!(Files { 0 = Confined, 1 = Full });

/// All of it but its origin, its hosts and where the host looks, which are of no use to the one that carries
/// it out.
impl Wire for Plan {
    fn write(&self, to: &mut Vec<u8>) {
        let Self {
            root,
            network,
            files,
            writable,
            closed,
            readable,
            links,
            protected,
            forks,
            hooks,
            caches,
            hides_git_directories,
            is_git_strict,
            root_fork,
            trust,
            ..
        } = self;
        root.write(to);
        network.write(to);
        files.write(to);
        for paths in [writable, closed, readable, protected, forks, hooks, caches] {
            paths.write(to);
        }
        links.write(to);
        hides_git_directories.write(to);
        is_git_strict.write(to);
        root_fork.write(to);
        trust.as_deref().cloned().write(to);
        self.granted.write(to);
        self.limits.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            root: Wire::read(from)?,
            network: Wire::read(from)?,
            names: None,
            files: Wire::read(from)?,
            writable: Wire::read(from)?,
            closed: Wire::read(from)?,
            readable: Wire::read(from)?,
            protected: Wire::read(from)?,
            forks: Wire::read(from)?,
            hooks: Wire::read(from)?,
            caches: Wire::read(from)?,
            links: Wire::read(from)?,
            hides_git_directories: Wire::read(from)?,
            is_git_strict: Wire::read(from)?,
            root_fork: Wire::read(from)?,
            trust: Option::<Trust>::read(from)?.map(Arc::new),
            looks_below: None,
            set_aside: Vec::new(),
            marks: None,
            granted: Wire::read(from)?,
            limits: Wire::read(from)?,
            origin: None,
        })
    }
}

/// The message for `order`.
#[must_use]
pub fn write_order(order: &Order) -> Vec<u8> {
    let mut message = Vec::new();
    order.write(&mut message);
    message
}

/// Reads what [`write_order`] wrote.
pub fn read_order(message: &[u8]) -> Result<Order, Malformed> {
    read_whole(message)
}
