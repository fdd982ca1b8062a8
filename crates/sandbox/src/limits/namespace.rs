//! The process namespace as a bound: it gives out no number above its `pid_max`.

use std::fs;

use rustix::system::uname;

/// The first kernel where the number belongs to the namespace. Before, it is that of the whole
/// system, and root must not be let near it; and no other way of telling is safe.
const SINCE: (u32, u32) = (6, 14);

/// Once numbers have gone round, those below this are not given out again.
const RESERVED: u64 = 300;

/// More than the kernel takes.
const TOO_MANY: u64 = 4 << 20;

const FILE: &str = "/proc/sys/kernel/pid_max";

/// The number given out last. Kernels without it begin at 1, and give out the reserved ones once.
const LAST: &str = "/proc/sys/kernel/ns_last_pid";

/// Bounds the namespace of the calling process, which must be the first in it and have its `/proc`.
/// Beside that process there are then as many numbers as `most` says.
pub(super) fn bound(most: u64) -> bool {
    let is_first = rustix::process::getpid().is_init();
    let limit = most.saturating_add(RESERVED);
    if !is_first || limit >= TOO_MANY || !can_bound() {
        return false;
    }
    let limit = limit.to_string();
    fs::write(FILE, &limit).is_ok()
        && fs::read_to_string(FILE).is_ok_and(|text| text.trim() == limit)
        && fs::write(LAST, (RESERVED - 1).to_string()).is_ok()
}

/// Whether the kernel has the number for each namespace.
pub(super) fn can_bound() -> bool {
    version(&uname().release().to_string_lossy()).is_some_and(|version| version >= SINCE)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|character: char| !character.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version("6.14-rc1"), Some((6, 14)));
        assert_eq!(version("6.1.0-13-amd64"), Some((6, 1)));
        assert!(version("5.15.0").is_some_and(|version| version < SINCE));
        assert!(version("6.8.0-45-generic").is_some_and(|version| version < SINCE));
        assert!(version("10.2.1").is_some_and(|version| version >= SINCE));
        assert_eq!(version("next"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn only_the_first_process_of_a_namespace_writes() {
        assert!(!bound(1024));
    }
}
