//! Which process is this, and does another one still run?

use std::sync::OnceLock;

/// A process, named so that no later process, and none of another container or machine, is taken
/// for it. Empty and 0 stand for what cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// The machine's identity and its name: two containers made from one image share the first.
    pub(crate) machine: String,
    /// Changes whenever the machine is started.
    pub(crate) boot: String,
    /// A pid means something only within one of these.
    pub(crate) pid_namespace: String,
    pub(crate) pid: u32,
    /// In the system's ticks: what tells it from a later process with the same pid.
    pub(crate) start: u64,
}

impl Process {
    /// This process. A child made by `fork` alone is another one.
    pub(crate) fn this() -> Self {
        static MACHINE: OnceLock<(String, String)> = OnceLock::new();
        let (machine, boot) = MACHINE.get_or_init(|| (machine(), boot()));
        let pid = std::process::id();
        Self {
            machine: machine.clone(),
            boot: boot.clone(),
            pid_namespace: pid_namespace(),
            pid,
            start: start_of(pid).unwrap_or(0),
        }
    }

    /// Whether the machine has been the same since, as far as can be told.
    pub(crate) fn is_on_boot_of(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }

    /// Whether it is the same machine, perhaps started anew.
    pub(crate) fn is_on_machine_of(&self, other: &Self) -> bool {
        self.is_on_boot_of(other) || (!self.machine.is_empty() && self.machine == other.machine)
    }

    /// Whether it runs, to be asked on the same boot only. `None` where pids cannot be compared.
    pub(crate) fn runs(&self, this: &Self) -> Option<bool> {
        if self.pid_namespace.is_empty() || self.pid_namespace != this.pid_namespace {
            return None;
        }
        if let Some(start) = start_of(self.pid) {
            return Some((start == self.start || self.start == 0) && !has_ended(self.pid));
        }
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw)?;
        Some(rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }
}

/// Empty where the machine has no identity: names such as `localhost` are everywhere.
#[cfg(target_os = "linux")]
fn machine() -> String {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    if id.trim().is_empty() { String::new() } else { format!("{} {}", id.trim(), name()) }
}

#[cfg(not(target_os = "linux"))]
fn machine() -> String {
    name()
}

fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Cannot be told without calls that are not portable; locks decide there.
#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    String::new()
}

/// Start times are told in the time of the time namespace, so that it belongs to the name.
#[cfg(target_os = "linux")]
fn pid_namespace() -> String {
    let name = |path| std::fs::read_link(path).map(|link| link.to_string_lossy().into_owned());
    match name("/proc/self/ns/pid") {
        Ok(pids) => format!("{pids} {}", name("/proc/self/ns/time").unwrap_or_default()),
        Err(_) => String::new(),
    }
}

#[cfg(not(target_os = "linux"))]
fn pid_namespace() -> String {
    "machine".to_owned()
}

/// Field 22 of `/proc/PID/stat`.
fn start_of(pid: u32) -> Option<u64> {
    stat_field(pid, 22)?.parse().ok()
}

/// Killed, and only not yet collected by its parent. A process whose first thread alone has ended
/// looks the same but for the number of its threads.
fn has_ended(pid: u32) -> bool {
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
    fn this_process_runs_and_a_recycled_pid_does_not() {
        let this = Process::this();
        assert_eq!(this.runs(&this), Some(true));
        let recycled = Process { start: this.start + 1, ..this.clone() };
        assert_eq!(recycled.runs(&this), Some(false));
        let elsewhere = Process { pid_namespace: "other".to_owned(), ..this.clone() };
        assert_eq!(elsewhere.runs(&this), None);
    }

    #[test]
    fn a_process_that_was_killed_does_not_run_even_before_it_is_collected() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let this = Process::this();
        let process =
            Process { pid: child.id(), start: start_of(child.id()).unwrap_or(0), ..this.clone() };
        assert_eq!(process.runs(&this), Some(true));
        child.kill().expect("kill");
        while process.runs(&this) == Some(true) {
            std::thread::yield_now();
        }
        child.wait().expect("wait");
        assert_eq!(process.runs(&this), Some(false));
    }
}
