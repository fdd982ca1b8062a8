//! The capabilities that commands of a root host keep.

use std::io;

use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use toolwright_sandbox::layers::Layers;

/// What commands of a host that is root keep, so that files of other owners can be worked with as in
/// a container.
const FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// And so that programs can be run as other users.
const USERS: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL);

/// The capabilities commands keep.
#[derive(Debug, Clone, Copy)]
pub struct RetainedCapabilities(CapabilitySet);

impl RetainedCapabilities {
    /// Gives up all others, for good. Allocates nothing, so that a child that shares its parent's
    /// memory may call it.
    pub fn apply_in_child(self) -> io::Result<()> {
        let sets = CapabilitySets {
            effective: self.0,
            permitted: self.0,
            inheritable: CapabilitySet::empty(),
        };
        Ok(set_capabilities(None, sets)?)
    }
}

impl RetainedCapabilities {
    /// What they are.
    #[must_use]
    pub fn set(self) -> CapabilitySet {
        self.0
    }

    /// Gives up all others but the right to look into processes of this user namespace, if there is that: for a
    /// thread that makes calls for commands of any user.
    pub(crate) fn apply_with_inspection(self) -> io::Result<()> {
        let _ = clear_ambient_capability_set();
        let inspection = capabilities(None)?.permitted & CapabilitySet::SYS_PTRACE;
        let all = self.0 | inspection;
        let sets =
            CapabilitySets { effective: all, permitted: all, inheritable: CapabilitySet::empty() };
        Ok(set_capabilities(None, sets)?)
    }
}

/// Gives up all capabilities that commands do not keep. The worker calls this once it is set up.
pub fn drop_capabilities(layers: &Layers) -> io::Result<RetainedCapabilities> {
    let mut retained = CapabilitySet::empty();
    if geteuid().is_root() {
        retained |= FILES;
        // Where they would be over the host's users and processes, they are nothing for a command.
        if layers.user.holds() || layers.pid.holds() {
            retained |= USERS;
        }
    }
    let retained = RetainedCapabilities(capabilities(None)?.permitted & retained);
    // Kernels without ambient capabilities have none to clear.
    let _ = clear_ambient_capability_set();
    retained.apply_in_child()?;
    Ok(retained)
}

/// Takes all but the kept ones from the bounding set, which the workers and their commands inherit:
/// no program they execute can get them back. What this process has it keeps.
pub(super) fn bound() {
    let retained = if geteuid().is_root() { FILES.union(USERS) } else { CapabilitySet::empty() };
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        // Fails after the last capability that the kernel knows, and for a process without
        // privilege, which has none to hand on.
        if !retained.contains(capability)
            && remove_capability_from_bounding_set(capability).is_err()
        {
            break;
        }
    }
}
