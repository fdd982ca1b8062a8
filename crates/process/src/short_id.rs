//! The identity of a process in few enough characters for a file's name.

use std::fmt::{Display, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::Identity;
use crate::identity::is_running;

/// A process, as three numbers. Displayed as `REALM-PID-START` in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortId {
    /// A hash of the boot and the namespaces: pids can be compared only within one of each.
    pub realm: u64,
    /// The pid.
    pub pid: u32,
    /// As [`Identity::start`].
    pub start: u64,
}

static CURRENT: OnceLock<ShortId> = OnceLock::new();

impl ShortId {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        *CURRENT.get_or_init(|| {
            let current = Identity::current();
            Self { realm: realm(&current), pid: current.pid, start: current.start }
        })
    }

    /// Has this process named by its boot from now on, for one that lives in a pid namespace of its own
    /// and leaves files that processes outside have to judge. They do it by a lock that this process
    /// holds: see [`ShortId::is_judged_by_locks`]. Without effect once [`ShortId::current`] was called,
    /// and where the boot is unknown.
    pub fn use_locks() {
        let Some(realm) = realm_of_locks() else { return };
        CURRENT.get_or_init(|| {
            let current = Identity::current();
            // Two namespaces may have processes of the same pid that began at the same moment.
            let mut hasher = DefaultHasher::new();
            (&current.namespace, current.start, SystemTime::now()).hash(&mut hasher);
            Self { realm, pid: current.pid, start: hasher.finish() }
        });
    }

    /// Whether a lock that the process holds tells that it runs, and not its pid. The process is of the
    /// boot of this one, so both see the same locks.
    #[must_use]
    pub fn is_judged_by_locks(&self) -> bool {
        realm_of_locks() == Some(self.realm)
    }

    /// Whether the process still runs; `None` where that cannot be known from here.
    #[must_use]
    pub fn is_running(&self) -> Option<bool> {
        let current = Self::current();
        if *self == current {
            return Some(true);
        }
        if self.realm != current.realm || self.is_judged_by_locks() {
            return None;
        }
        is_running(self.pid, self.start)
    }

    /// Reads an id from the beginning of a name, up to the hyphen after it.
    ///
    /// # Returns
    ///
    /// The id and what follows that hyphen.
    #[must_use]
    pub fn parse_prefix(name: &str) -> Option<(Self, &str)> {
        let mut fields = name.splitn(4, '-');
        let mut next = || {
            let field = fields.next()?;
            // `from_str_radix` accepts a sign.
            let is_number = field.bytes().all(|byte| byte.is_ascii_hexdigit());
            u64::from_str_radix(field, 16).ok().filter(|_| is_number)
        };
        let (realm, pid, start) = (next()?, u32::try_from(next()?).ok()?, next()?);
        Some((Self { realm, pid, start }, fields.next()?))
    }
}

impl Display for ShortId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.realm, self.pid, self.start)
    }
}

/// The realm of all processes of this boot that are judged by locks.
fn realm_of_locks() -> Option<u64> {
    static REALM: OnceLock<Option<u64>> = OnceLock::new();
    *REALM.get_or_init(|| {
        let Identity { boot, .. } = Identity::current();
        let mut hasher = DefaultHasher::new();
        ("locks", &boot).hash(&mut hasher);
        (!boot.is_empty()).then(|| hasher.finish())
    })
}

fn realm(current: &Identity) -> u64 {
    let Identity { machine, boot, namespace, .. } = current;
    let mut hasher = DefaultHasher::new();
    if cfg!(target_os = "linux") && (boot.is_empty() || namespace.is_empty()) {
        // Another container could have the same hash, and its processes would look dead from here. This
        // process gets a realm of its own instead, so that others judge its files by their age alone.
        (std::process::id(), SystemTime::now()).hash(&mut hasher);
    }
    // Without a boot id, the machine's name is the best there is.
    (boot, namespace, boot.is_empty().then_some(machine)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_process_runs_and_a_recycled_pid_does_not() {
        let current = ShortId::current();
        assert_eq!(current.is_running(), Some(true));
        let later = ShortId { start: current.start + 1, ..current };
        assert_eq!(later.is_running(), Some(false), "same pid, other start");
        let elsewhere = ShortId { realm: current.realm ^ 1, ..current };
        assert_eq!(elsewhere.is_running(), None, "another container cannot be judged from here");
        let locking = ShortId { realm: realm_of_locks().unwrap_or_default(), ..current };
        assert_eq!((locking.is_running(), current.is_judged_by_locks()), (None, false));
    }

    proptest! {
        #[test]
        fn an_id_is_read_back(realm: u64, pid: u32, start: u64, rest in "[a-z-]{0,8}") {
            let id = ShortId { realm, pid, start };
            let name = format!("{id}-{rest}");
            prop_assert_eq!(ShortId::parse_prefix(&name), Some((id, rest.as_str())));
        }
    }

    #[test]
    fn other_names_hold_no_id() {
        for name in ["", "1-2-3", "1-2-x-", "-1-2-", "1--2-", "+1-2-3-", "1-100000000-3-"] {
            assert_eq!(ShortId::parse_prefix(name), None, "{name}");
        }
    }
}
