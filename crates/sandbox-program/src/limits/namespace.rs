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

/// The number of the system's own namespace: a constant of the kernel.
const SYSTEM: u64 = 0xEFFF_FFFC;

const FILE: &str = "/proc/sys/kernel/pid_max";

/// The number given out last: setting it makes the numbers begin where they will go round to.
const LAST: &str = "/proc/sys/kernel/ns_last_pid";

/// Bounds the namespace of the calling process, which must be the first in it and have its `/proc`.
/// Beside that process, `most` numbers are then available.
pub(super) fn bound(processes: u64) -> bool {
    let Some(limit) = limit(processes) else { return false };
    if !is_ours() || !can_bound() {
        return false;
    }
    let limit = limit.to_string();
    fs::write(FILE, &limit).is_ok()
        && fs::read_to_string(FILE).is_ok_and(|text| text.trim() == limit)
        // Kernels without it give out the reserved numbers once, beyond the limit.
        && (fs::write(LAST, (RESERVED - 1).to_string()).is_ok() || processes > RESERVED)
}

/// The value to write for this number of processes.
fn limit(processes: u64) -> Option<u64> {
    processes.checked_add(RESERVED).filter(|limit| *limit < TOO_MANY && processes > 0)
}

/// Whether no stranger lives in the namespace. The system's own has many.
fn is_ours() -> bool {
    rustix::process::getpid().is_init()
        && rustix::fs::stat("/proc/self/ns/pid").is_ok_and(|stat| stat.st_ino != SYSTEM)
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
    fn numbers() {
        assert_eq!(limit(1), Some(301), "the least that the kernel takes");
        assert_eq!(limit(1024), Some(1324));
        for out_of_range in [0, TOO_MANY - RESERVED, TOO_MANY, u64::MAX] {
            assert_eq!(limit(out_of_range), None, "{out_of_range}");
        }
    }

    #[test]
    fn the_namespace_of_the_tests_is_not_ours() {
        assert!(!is_ours());
    }
}
