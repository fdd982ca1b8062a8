//! The rights with which a call is made: those of its caller.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::errno;

/// The rights of a thread that matter to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    user: u32,
    group: u32,
    groups: Vec<u32>,
    capabilities: u64,
    pub(super) umask: u32,
    pub(super) process: u32,
}

impl Identity {
    /// Reads a file `status` of a process.
    pub(super) fn parse(status: &[u8]) -> Option<Self> {
        let status = String::from_utf8_lossy(status);
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
        };
        // Real, effective, saved, and that of file systems.
        let last = |name: &str| field(name)?.split_ascii_whitespace().nth(3)?.parse().ok();
        Some(Self {
            user: last("Uid")?,
            group: last("Gid")?,
            groups: field("Groups")?
                .split_ascii_whitespace()
                .map(|group| group.parse().ok())
                .collect::<Option<_>>()?,
            capabilities: u64::from_str_radix(field("CapEff")?, 16).ok()?,
            umask: u32::from_str_radix(field("Umask")?, 8).ok()?,
            process: field("Tgid")?.parse().ok()?,
        })
    }
}

/// The rights of this thread, which it has between calls.
#[derive(Debug)]
pub(super) struct OwnRights {
    identity: Identity,
    sets: CapabilitySets,
    /// What a command may have of them.
    retained: CapabilitySet,
}

impl OwnRights {
    /// `retained` is what commands begin with.
    pub(super) fn new(identity: Identity, retained: CapabilitySet) -> Result<Self, Errno> {
        Ok(Self { identity, sets: capabilities(None)?, retained })
    }

    /// Whether threads of a command can have other rights than the command began with.
    pub(super) fn can_differ(&self) -> bool {
        !self.retained.is_empty()
    }

    /// Makes a call with the rights of its caller. A server is told whose the process is that connects to it, so as a
    /// `peer` this thread takes on the caller's user altogether.
    pub(super) fn with<T>(
        &self,
        caller: &Identity,
        is_peer: bool,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let Identity { user, group, groups, capabilities, .. } = caller;
        let effective = CapabilitySet::from_bits_retain(*capabilities) & self.retained;
        let own = &self.identity;
        let changes = user != &own.user || group != &own.group || groups != &own.groups;
        if !changes && effective == self.retained {
            return call();
        }
        let entered = if changes { enter(*user, *group, groups, is_peer) } else { Ok(()) };
        // The kernel changes capabilities together with the user.
        let entered = entered
            .and_then(|()| set_capabilities(None, CapabilitySets { effective, ..self.sets }));
        let result = entered.and_then(|()| call());
        set_capabilities(None, self.sets)?;
        if changes {
            if is_peer {
                // Its right to become somebody else comes back with the user.
                set_effective(own.user, own.group)?;
                set_capabilities(None, self.sets)?;
            }
            enter(own.user, own.group, &own.groups, false)?;
            set_capabilities(None, self.sets)?;
        }
        result
    }
}

/// Takes on a user and groups. The functions of libc would change all threads.
fn enter(user: u32, group: u32, groups: &[u32], is_peer: bool) -> Result<(), Errno> {
    // SAFETY: the kernel reads as many groups as there are.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0 {
            return Err(errno::last());
        }
        if is_peer {
            return set_effective(user, group);
        }
        for (call, id) in [(libc::SYS_setfsgid, group), (libc::SYS_setfsuid, user)] {
            libc::syscall(call, id);
            // It returns the former one, also when it has refused the new one.
            if libc::syscall(call, id) != libc::c_long::from(id) {
                return Err(Errno::PERM);
            }
        }
    }
    Ok(())
}

/// Also sets what files are used with.
fn set_effective(user: u32, group: u32) -> Result<(), Errno> {
    const SAME: u32 = u32::MAX;
    // SAFETY: system calls on no memory. That of libc would change all threads.
    unsafe {
        if libc::syscall(libc::SYS_setresgid, SAME, group, SAME) != 0
            || libc::syscall(libc::SYS_setresuid, SAME, user, SAME) != 0
        {
            return Err(errno::last());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let text =
            b"Name:\tx\nUmask:\t0027\nTgid:\t12\nPid:\t13\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n\
            FDSize:\t64\nGroups:\t9 10 \nCapPrm:\t0000000000000003\nCapEff:\t0000000000000001\n";
        let read = Identity::parse(text).expect("complete");
        assert_eq!((read.user, read.group, read.umask, read.process), (4, 8, 0o27, 12));
        assert_eq!((read.groups.as_slice(), read.capabilities), (&[9, 10][..], 1));
        assert_eq!(Identity::parse(b"Umask:\t0027\n"), None);
    }
}
