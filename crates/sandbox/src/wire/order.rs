//! The first message to a supervisor.

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum, wire_struct};
use crate::plan::{FileIdentity, Files, Granted, Limits, Network, Plan};

/// The order that a supervisor starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What its commands may do.
    pub plan: Plan,
    /// The error number with which an earlier supervisor of this plan failed to build the tree of
    /// files. This one does without a mount namespace, and reports that.
    pub without_mounts: Option<i32>,
    /// How long a worker waits for its next command, in milliseconds.
    pub idle_ms: u32,
}

wire_struct!(Order { plan, without_mounts, idle_ms });
wire_struct!(Plan { root, network, files, writable, closed, readable, protected, granted, limits });
wire_struct!(Granted { path, identity });
wire_struct!(FileIdentity { device, inode, born });
wire_struct!(Limits { processes, memory_bytes, cpu_seconds, file_size_bytes });
wire_enum!(Network { 0 = Open, 1 = PrivateLoopback, 2 = Nothing, 3 = HostLoopback });
wire_enum!(Files { 0 = Confined, 1 = Full });

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
