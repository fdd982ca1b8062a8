//! The started command as the leader of its process group.
//!
//! Until the leader is reaped, its number stands for this group and nothing else, whether or not
//! the leader still runs. So every signal is sent before [`Leader::reap`], and dropping a leader
//! kills, then reaps. Processes that have left the group are killed with it where the system offers
//! a search for them: see [`Descendants`].

use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, test_kill_process, waitid,
};
use toolwright_process::Descendants;

/// Whether descendants are searched for. Not on Linux: a worker's pid namespace holds them, and reading
/// `/proc` takes longer than most commands.
const SEARCHED: bool = cfg!(target_os = "macos");

/// How long the end of a killed leader is waited for. Only one stuck in the kernel takes longer.
const KILL_TIMEOUT: Duration = Duration::from_millis(100);

pub(crate) struct ChildLeader {
    /// `None` once it is reaped, here or by the host.
    child: Option<Child>,
    pid: Option<Pid>,
    /// Becomes readable when the leader ends. Missing on systems that have no such thing.
    pidfd: Option<OwnedFd>,
    /// Where they are searched for, and until they are killed.
    descendants: Option<Descendants>,
    /// How many descendants were killed.
    killed: u32,
}

impl ChildLeader {
    pub(crate) fn new(child: Child) -> Self {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let descendants = pid.filter(|_| SEARCHED).and_then(Descendants::of);
        Self { child: Some(child), pid, pidfd: pid.and_then(pidfd), descendants, killed: 0 }
    }

    pub(crate) fn killed(&self) -> u32 {
        self.killed
    }

    pub(crate) fn pidfd(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref()
    }

    /// Whether the leader has ended; it is not reaped by asking. If it has not, its descendants may be
    /// looked at.
    pub(crate) fn has_ended(&mut self) -> io::Result<bool> {
        let Some(pid) = self.pid else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            match waitid(WaitId::Pid(pid), options) {
                Err(Errno::INTR) => {}
                Err(error) => {
                    // The host waits for children that are not its own. The number may belong to a
                    // stranger by now, so no signal is sent to it any more.
                    self.child = None;
                    self.pid = None;
                    self.kill_family(|| kill_orphans(pid));
                    return Err(error.into());
                }
                Ok(Some(_)) => return Ok(true),
                Ok(None) => {
                    self.descendants.iter_mut().for_each(Descendants::scan);
                    return Ok(false);
                }
            }
        }
    }

    /// Kills every process of the group, the leader even if it has changed its group, and the
    /// descendants that are found.
    ///
    /// Errors are ignored: no process is left, or one that this user may not signal.
    fn kill(&mut self) {
        let pid = self.pid;
        self.kill_family(|| {
            if let Some(pid) = pid {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = kill_process(pid, Signal::KILL);
            }
        });
    }

    fn kill_family(&mut self, kill_group: impl Fn()) {
        match self.descendants.take() {
            Some(descendants) => self.killed += descendants.kill(kill_group),
            None => kill_group(),
        }
    }

    /// Waits until the leader has ended, at most until `deadline`.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            if self.has_ended()? {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let Some(pidfd) = &self.pidfd else {
                thread::sleep(left.min(Duration::from_millis(1)));
                continue;
            };
            let timeout = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills the command, waits for the leader's end and releases its number. `None`: it does not end
    /// even so, and a thread waits for it from now on.
    pub(crate) fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.kill();
        let ended = self.wait_until(Instant::now() + KILL_TIMEOUT);
        // From here on there is no number to send a signal to.
        self.pid = None;
        let Some(mut child) = self.child.take() else {
            return ended.and(Err(Errno::CHILD.into()));
        };
        if matches!(ended, Ok(true)) {
            return child.wait().map(Some);
        }
        // Without a thread the zombie stays until the host ends; there is nothing better to do.
        let _ = thread::Builder::new()
            .name("toolwright-reap".to_owned())
            .stack_size(64 << 10)
            .spawn(move || child.wait());
        ended.map(|_| None)
    }
}

/// Kills the group of a leader that the host has reaped. The number of a group with members is
/// given to no new process. So if a process has that number, the group was empty, and the number is
/// a stranger's.
fn kill_orphans(leader: Pid) {
    if test_kill_process(leader) == Err(Errno::SRCH) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

impl Drop for ChildLeader {
    fn drop(&mut self) {
        if self.child.is_some() {
            let _ = self.end();
        }
    }
}

#[cfg(target_os = "linux")]
fn pidfd(pid: Pid) -> Option<OwnedFd> {
    // Not there before Linux 5.3, and some containers forbid it; then the end is polled for.
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn pidfd(_: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests;

#[cfg(test)]
impl ChildLeader {
    /// As on a system without pidfds.
    pub(crate) fn without_pidfd(mut self) -> Self {
        self.pidfd = None;
        self
    }

    /// As on a system without process namespaces.
    pub(crate) fn searched(mut self) -> Self {
        self.descendants = self.pid.and_then(Descendants::of);
        self
    }
}
