//! A network namespace as a descriptor: that of this process, or another that it joins.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use toolwright_sandbox::layers::Layer;

use crate::errno;

/// `NS_GET_USERNS`: the user namespace that a namespace belongs to.
const OWNER: libc::Ioctl = 0xB701;

/// The network of this process, for another one to join.
pub fn own_network() -> Option<OwnedFd> {
    File::open("/proc/self/ns/net").ok().map(OwnedFd::from)
}

/// What was joined.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Joined {
    /// The user namespace that the network belongs to, with all capabilities in it. Nothing else comes
    /// with it: processes and files are those of other namespaces.
    pub(super) has_user: bool,
    pub(super) network: Layer,
}

/// Joins a network, as far as the system permits. Where it belongs to another user namespace, that comes
/// first: without its capabilities the network cannot be entered.
pub(super) fn join(network: &OwnedFd) -> Joined {
    let mut joined = Joined::default();
    let mut enter_both = || -> Result<(), Errno> {
        let owner = owner(network)?;
        if !is_own_user(&owner)? {
            move_into_link_name_space(owner.as_fd(), Some(LinkNameSpaceType::User))?;
            joined.has_user = true;
        }
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
    };
    joined.network =
        enter_both().map_or_else(|errno| Layer::Refused(errno.raw_os_error()), |()| Layer::Holds);
    joined
}

fn owner(network: &OwnedFd) -> Result<OwnedFd, Errno> {
    // SAFETY: the request takes nothing, and gives a new descriptor.
    let owner = unsafe { libc::ioctl(network.as_raw_fd(), OWNER) };
    if owner < 0 {
        return Err(errno::last());
    }
    // SAFETY: the kernel has just made it, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(owner) })
}

fn is_own_user(user: &OwnedFd) -> Result<bool, Errno> {
    let own = File::open("/proc/self/ns/user").map_err(|error| errno::of(&error))?;
    let (own, other) = (fstat(&own)?, fstat(user)?);
    Ok((own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
}
