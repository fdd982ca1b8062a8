//! The first message to a supervisor.

use std::path::PathBuf;

use super::reader::{Malformed, Reader, Writer};
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

/// The message for `order`.
#[must_use]
pub fn write_order(order: &Order) -> Vec<u8> {
    let mut to = Writer::default();
    let plan = &order.plan;
    to.path(&plan.root);
    to.byte(match plan.network {
        Network::Open => 0,
        Network::PrivateLoopback => 1,
        Network::Nothing => 2,
        Network::HostLoopback => 3,
    });
    to.byte(match plan.files {
        Files::Confined => 0,
        Files::Full => 1,
    });
    for paths in [&plan.writable, &plan.closed, &plan.readable, &plan.protected] {
        to.number(u32::try_from(paths.len()).unwrap_or(u32::MAX));
        for path in paths {
            to.path(path);
        }
    }
    to.number(u32::try_from(plan.granted.len()).unwrap_or(u32::MAX));
    for Granted { path, identity } in &plan.granted {
        to.path(path);
        to.long(identity.device);
        to.long(identity.inode);
        to.byte(u8::from(identity.born.is_some()));
        to.long(identity.born.unwrap_or_default());
    }
    let limits = &plan.limits;
    for limit in [limits.processes, limits.memory_bytes, limits.cpu_seconds, limits.file_size_bytes]
    {
        to.byte(u8::from(limit.is_some()));
        to.long(limit.unwrap_or_default());
    }
    to.byte(u8::from(order.without_mounts.is_some()));
    to.signed(order.without_mounts.unwrap_or_default());
    to.number(order.idle_ms);
    to.0
}

/// Reads what [`write_order`] wrote.
pub fn read_order(message: &[u8]) -> Result<Order, Malformed> {
    let mut from = Reader(message);
    let root = from.path()?.to_owned();
    let network = match from.byte()? {
        0 => Network::Open,
        1 => Network::PrivateLoopback,
        2 => Network::Nothing,
        3 => Network::HostLoopback,
        _ => return Err(Malformed),
    };
    let files = match from.byte()? {
        0 => Files::Confined,
        1 => Files::Full,
        _ => return Err(Malformed),
    };
    let mut paths = || -> Result<Vec<PathBuf>, Malformed> {
        let count = from.number()?;
        (0..count).map(|_| Ok(from.path()?.to_owned())).collect()
    };
    let (writable, closed, readable, protected) = (paths()?, paths()?, paths()?, paths()?);
    let granted = (0..from.number()?)
        .map(|_| {
            let path = from.path()?.to_owned();
            let (device, inode) = (from.long()?, from.long()?);
            let (is_known, born) = (from.byte()? != 0, from.long()?);
            Ok(Granted {
                path,
                identity: FileIdentity { device, inode, born: is_known.then_some(born) },
            })
        })
        .collect::<Result<Vec<_>, Malformed>>()?;
    let mut optional = || -> Result<Option<u64>, Malformed> {
        let (there, value) = (from.byte()? != 0, from.long()?);
        Ok(there.then_some(value))
    };
    let limits = Limits {
        processes: optional()?,
        memory_bytes: optional()?,
        cpu_seconds: optional()?,
        file_size_bytes: optional()?,
    };
    let (refused, errno) = (from.byte()? != 0, from.signed()?);
    let idle_ms = from.number()?;
    from.end()?;
    let plan =
        Plan { root, network, files, writable, closed, readable, protected, granted, limits };
    Ok(Order { plan, without_mounts: refused.then_some(errno), idle_ms })
}
