//! The full identity of a process.

use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::ProcessInfo;

/// A process, named so that no later process, and none of another container or machine, can be mistaken
/// for it. Unknown texts are empty, unknown numbers 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The machine's id and its host name: two containers made from one image share the id.
    pub machine: String,
    /// Changes at every start of the machine.
    pub boot: String,
    /// A pid has a meaning only within one pid namespace, a start time only within one time namespace.
    pub namespace: String,
    /// The pid within `namespace`.
    pub pid: u32,
    /// In the unit of [`ProcessInfo::start`]. It distinguishes the process from a later one with its pid.
    pub start: u64,
}

impl Identity {
    /// This process. A child made by `fork` alone is another one.
    #[must_use]
    pub fn current() -> Self {
        static MACHINE: OnceLock<(String, String)> = OnceLock::new();
        let (machine, boot) = MACHINE.get_or_init(|| (machine(), boot()));
        let pid = std::process::id();
        Self {
            machine: machine.clone(),
            boot: boot.clone(),
            namespace: namespace(),
            pid,
            start: ProcessInfo::read(pid.cast_signed()).map_or(0, |info| info.start),
        }
    }

    /// Whether both were seen in the same boot of the same machine.
    #[must_use]
    pub fn shares_boot_with(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }

    /// Whether both were seen on the same machine, which may have been restarted in between.
    #[must_use]
    pub fn shares_machine_with(&self, other: &Self) -> bool {
        self.shares_boot_with(other) || (!self.machine.is_empty() && self.machine == other.machine)
    }

    /// Whether the process still runs; `None` where its pid means nothing to `here`. The caller has made
    /// sure that both are of the same boot.
    #[must_use]
    pub fn is_running(&self, here: &Self) -> Option<bool> {
        if self.namespace.is_empty() || self.namespace != here.namespace {
            return None;
        }
        is_running(self.pid, self.start)
    }
}

/// Whether the process with this pid that began at `start` runs; `None` for what is no pid.
pub(crate) fn is_running(pid: u32, start: u64) -> Option<bool> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    match ProcessInfo::read(pid.as_raw_pid()) {
        Some(info) => Some((start == 0 || info.start == start) && !info.has_ended),
        None => Some(test_kill_process(pid) != Err(Errno::SRCH)),
    }
}

/// Empty where the machine has no id: names such as `localhost` are everywhere.
#[cfg(target_os = "linux")]
fn machine() -> String {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    if id.trim().is_empty() { String::new() } else { format!("{} {}", id.trim(), host_name()) }
}

#[cfg(not(target_os = "linux"))]
fn machine() -> String {
    host_name()
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Unknown: no portable call reports it. Locks decide there.
#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    String::new()
}

/// Start times are relative to the time namespace, so it is part of the name.
#[cfg(target_os = "linux")]
fn namespace() -> String {
    let name = |path| std::fs::read_link(path).map(|link| link.to_string_lossy().into_owned());
    match name("/proc/self/ns/pid") {
        Ok(pids) => format!("{pids} {}", name("/proc/self/ns/time").unwrap_or_default()),
        Err(_) => String::new(),
    }
}

#[cfg(not(target_os = "linux"))]
fn namespace() -> String {
    "machine".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_a_recycled_pid_does_not() {
        let here = Identity::current();
        assert_eq!(here.is_running(&here), Some(true));
        let recycled = Identity { start: here.start + 1, ..here.clone() };
        assert_eq!(recycled.is_running(&here), Some(false));
        let unknown_start = Identity { start: 0, ..here.clone() };
        assert_eq!(unknown_start.is_running(&here), Some(true));
        let elsewhere = Identity { namespace: "other".to_owned(), ..here.clone() };
        assert_eq!(elsewhere.is_running(&here), None);
        for pid in [0, u32::MAX] {
            assert_eq!(Identity { pid, ..here.clone() }.is_running(&here), None);
        }
    }

    #[test]
    fn a_killed_process_does_not_run_even_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let here = Identity::current();
        let info = ProcessInfo::read(child.id().cast_signed()).expect("it runs");
        let process = Identity { pid: child.id(), start: info.start, ..here.clone() };
        assert_eq!(process.is_running(&here), Some(true));
        child.kill().expect("kill");
        while process.is_running(&here) == Some(true) {
            std::thread::yield_now();
        }
        child.wait().expect("wait");
        assert_eq!(process.is_running(&here), Some(false));
    }

    #[test]
    fn a_boot_and_a_machine_without_a_name_are_shared_with_nothing() {
        let here = Identity::current();
        let nameless = Identity { machine: String::new(), boot: String::new(), ..here.clone() };
        assert!(!nameless.shares_boot_with(&nameless) && !nameless.shares_machine_with(&nameless));
        let restarted = Identity { boot: "before".to_owned(), ..here.clone() };
        assert!(!restarted.shares_boot_with(&here));
        assert_eq!(restarted.shares_machine_with(&here), !here.machine.is_empty());
    }
}
