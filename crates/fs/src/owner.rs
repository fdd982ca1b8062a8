//! Whose temporary file is it, and is that process still alive?
//!
//! A process that is killed between two system calls leaves its temporary file behind. The name of
//! every temporary file says which process made it, so that a later call can tell a leftover from
//! the work of a running neighbour.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// A process, named so that no later process and no process of another container is mistaken for
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The boot and the namespaces, hashed: pids mean something only within one of each.
    pub(crate) realm: u64,
    pub(crate) pid: u32,
    /// When the process started, in the system's ticks; 0 where that cannot be told.
    pub(crate) started: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn this() -> Self {
        static THIS: OnceLock<Owner> = OnceLock::new();
        *THIS.get_or_init(|| {
            let pid = std::process::id();
            Self { realm: realm(), pid, started: started(pid).unwrap_or(0) }
        })
    }

    /// `Some(true)` when the process still runs, `None` when that cannot be told from here.
    pub(crate) fn alive(&self) -> Option<bool> {
        let this = Self::this();
        if self.realm != this.realm {
            return None;
        }
        if *self == this {
            return Some(true);
        }
        if let Some(now) = started(self.pid) {
            return Some(now == self.started && !ended(self.pid));
        }
        let raw = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw)?;
        match rustix::process::test_kill_process(raw) {
            Err(rustix::io::Errno::SRCH) => Some(false),
            _ => Some(true),
        }
    }
}

/// Where this process' pid and start time mean what they mean here.
#[cfg(target_os = "linux")]
fn realm() -> u64 {
    let mut hasher = DefaultHasher::new();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    if boot.is_none() || namespace.is_none() {
        // Without them another container could be taken for this one, and its running processes
        // for dead. So this process keeps to itself: nobody else's files are judged but by age.
        (std::process::id(), std::time::SystemTime::now()).hash(&mut hasher);
    }
    (boot, namespace).hash(&mut hasher);
    // Start times are told in the time of the time namespace.
    std::fs::read_link("/proc/self/ns/time").ok().hash(&mut hasher);
    hasher.finish()
}

/// Where this process' pid means what it means here: on the machine of this name. Start times
/// cannot be told, so that a recycled pid passes for a living owner, which only delays the sweep.
#[cfg(not(target_os = "linux"))]
fn realm() -> u64 {
    let mut hasher = DefaultHasher::new();
    rustix::system::uname().nodename().hash(&mut hasher);
    hasher.finish()
}

/// Field 22 of `/proc/PID/stat`: the start time in ticks since boot.
fn started(pid: u32) -> Option<u64> {
    stat_field(pid, 22)?.parse().ok()
}

/// Killed, and only not yet collected by its parent. A process whose first thread alone has ended
/// looks the same but for the number of its threads.
fn ended(pid: u32) -> bool {
    stat_field(pid, 3).is_some_and(|state| state == "Z" || state == "X")
        && stat_field(pid, 20).is_none_or(|threads| threads == "0" || threads == "1")
}

/// A field of `/proc/PID/stat`, numbered from 1 as in proc(5). The command in field 2 may hold
/// spaces and parentheses, so fields are counted from the last `)`.
fn stat_field(pid: u32, number: usize) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(number.checked_sub(3)?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_a_finished_one_is_not() {
        assert_eq!(Owner::this().alive(), Some(true));
        let later = Owner { started: Owner::this().started + 1, ..Owner::this() };
        assert_eq!(later.alive(), Some(false), "same pid, other start: a recycled pid");
        let elsewhere = Owner { realm: Owner::this().realm ^ 1, ..Owner::this() };
        assert_eq!(elsewhere.alive(), None, "another container cannot be judged from here");
    }
}
