//! Processes with the rights of a command: as root, or as an ordinary user.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::child::{User, in_child};

pub(crate) const NOBODY: u32 = 65534;

/// Runs in a child as the user, who cannot gain privileges. A panic there is one here.
pub(crate) fn as_user(user: User, run: impl FnOnce()) {
    in_child(|| {
        become_user(user);
        rustix::thread::set_no_new_privs(true).expect("no_new_privs");
        run();
    });
}

pub(crate) fn become_user(user: User) {
    match user {
        User::Root => keep_few_capabilities(),
        User::Nobody => become_nobody(),
    }
}

/// The capabilities that commands of a root host keep.
fn keep_few_capabilities() {
    let retained = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::KILL;
    let inheritable = CapabilitySet::empty();
    let sets = CapabilitySets { effective: retained, permitted: retained, inheritable };
    set_capabilities(None, sets).expect("capabilities");
}

fn become_nobody() {
    // SAFETY: plain numbers.
    unsafe {
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        // Given up with the user, and without it `/proc/self` is root's.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1), 0);
    }
}
