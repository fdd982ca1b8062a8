//! Entering namespaces, and making workers in process namespaces below them.
//!
//! The supervisor calls [`enter`] before anything else, while it has a single thread. A namespace
//! that the system refuses is recorded in [`Layers`] with the error number, and the others are
//! entered without it.

mod capabilities;
mod holder;
mod loopback;
mod maps;
mod network;
mod worker;

use std::fs;
use std::os::fd::OwnedFd;

pub use capabilities::{RetainedCapabilities, drop_capabilities};
use holder::Holder;
pub use network::own_network;
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{ThreadNameSpaceType, UnshareFlags, unshare_unsafe};
pub use worker::{Forked, make_worker};

use toolwright_sandbox::layers::{Layer, Layers, is_shortage};
use toolwright_sandbox::plan::{Network, Plan};
use toolwright_sandbox::wire::SYNTHETIC;

/// Enters a user, IPC and network namespace, and with `mounts` a mount namespace, as far as the
/// system permits. With a `network`, that one and the user namespace it belongs to are joined instead
/// of made; everything else is new. If [`Layers::shortage`] returns a number afterwards, nothing is
/// known about the layers, and the process must end.
pub fn enter(plan: &Plan, mounts: bool, network: Option<&OwnedFd>, layers: &mut Layers) {
    let mut namespaces =
        vec![(UnshareFlags::NEWIPC, ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION)];
    let joined = network.map_or_else(network::Joined::default, network::join);
    if joined.network.holds() {
        layers.net = Layer::Holds;
        // Before anything else is entered: it belongs to the user namespace that this process is in now.
        layers.loopback = loopback(plan);
    } else if let Layer::Refused(errno) = joined.network
        && is_shortage(errno)
    {
        layers.net = joined.network;
        return;
    } else if plan.network == Network::Nothing || plan.network.has_private_loopback() {
        // Without internet sockets it is not needed, but it takes the host's abstract sockets away too.
        namespaces.push((UnshareFlags::NEWNET, ThreadNameSpaceType::NETWORK));
    }
    let user = if joined.has_user { Ok(false) } else { enter_user(&namespaces) };
    layers.user = user.map_or_else(refused, |_| Layer::Holds);
    // A host that is root can have the others without it.
    let has_entered = user.unwrap_or(false);
    for (flag, _) in namespaces {
        let layer = if has_entered { Layer::Holds } else { unshare(flag) };
        if flag == UnshareFlags::NEWNET {
            layers.net = layer;
        } else {
            layers.ipc = layer;
        }
    }
    if mounts {
        layers.mount = unshare(UnshareFlags::NEWNS);
    }
    if layers.user.holds() {
        // Nothing nests further. The number belongs to the user namespace, so it is written only
        // where that is our own. It may be out of reach; then the filter of system calls stands.
        let _ = fs::write("/proc/sys/user/max_user_namespaces", "0");
    }
    if layers.net.holds() && !joined.network.holds() {
        layers.loopback = loopback(plan);
    }
    capabilities::bound();
}

/// Enters a mount namespace of its own, in a user namespace where the system permits one. A host that is root can do
/// without that.
pub(crate) fn enter_mounts() -> Result<(), Errno> {
    let entered = enter_user(&[]);
    // SAFETY: the flag does not unshare the table of descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|errno| entered.err().unwrap_or(errno))
}

fn loopback(plan: &Plan) -> Layer {
    if !plan.network.has_private_loopback() {
        return Layer::Unused;
    }
    let up = loopback::up().and_then(|()| match plan.network {
        Network::Names => loopback::add_address(SYNTHETIC),
        _ => Ok(()),
    });
    up.map_or_else(refused, |()| Layer::Holds)
}

/// Makes a user namespace, together with the others where possible, and joins it. A child makes it:
/// so it is complete with its maps before it is joined, and a failure leaves nothing half-done.
/// Returns whether the others were joined too.
fn enter_user(namespaces: &[(UnshareFlags, ThreadNameSpaceType)]) -> Result<bool, Errno> {
    let all = namespaces.iter().fold(UnshareFlags::NEWUSER, |all, (flag, _)| all | *flag);
    let (holder, together) = match Holder::new(all) {
        Ok(holder) => (holder, true),
        // One namespace would be refused for the same want, and it is no finding.
        Err(errno) if is_shortage(errno.raw_os_error()) => return Err(errno),
        Err(_) => (Holder::new(UnshareFlags::NEWUSER)?, false),
    };
    maps::write(holder.pid(), geteuid().is_root())?;
    let mut kinds = ThreadNameSpaceType::USER;
    if together {
        kinds = namespaces.iter().fold(kinds, |kinds, (_, kind)| kinds | *kind);
    }
    holder.join(kinds)?;
    Ok(together)
}

fn unshare(flag: UnshareFlags) -> Layer {
    // SAFETY: the flag does not unshare the table of descriptors.
    unsafe { unshare_unsafe(flag) }.map_or_else(refused, |()| Layer::Holds)
}

fn refused(errno: Errno) -> Layer {
    Layer::Refused(errno.raw_os_error())
}
