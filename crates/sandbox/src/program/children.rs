//! The supervisor's children: workers, and what is left of one that was killed.
//!
//! A process namespace ends with its worker. Where there is none, what a command had started goes to the
//! nearest reaper above, and that is the supervisor.

use std::{collections::HashMap, fs};

use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use toolwright_sandbox::limits;

/// Workers, with their control groups, which go when they go.
pub(crate) struct Children(HashMap<i32, limits::Group>);

impl Children {
    pub(crate) fn new() -> Self {
        // Without it, what such a worker leaves goes to the host's reaper and lives on.
        let _ = set_child_subreaper(Some(getpid()));
        Self(HashMap::new())
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, worker: i32, group: limits::Group) {
        self.0.insert(worker, group);
    }

    /// Collects those that have ended. Whether nobody is left.
    pub(crate) fn collect(&mut self) -> bool {
        loop {
            // SAFETY: no memory is involved.
            let ended =
                unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            if ended <= 0 {
                return ended < 0;
            }
            self.0.remove(&ended);
            self.kill_orphans();
        }
    }

    /// Kills the workers.
    pub(crate) fn kill(&self) {
        for worker in self.0.keys().filter_map(|worker| Pid::from_raw(*worker)) {
            let _ = kill_process(worker, Signal::KILL);
        }
    }

    /// Whoever is a child and no worker is left of one. What it leaves in turn comes here next.
    fn kill_orphans(&self) {
        let own = getpid().as_raw_nonzero();
        let Ok(children) = fs::read_to_string(format!("/proc/{own}/task/{own}/children")) else {
            return;
        };
        let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
        for orphan in children.filter(|child| !self.0.contains_key(child)).filter_map(Pid::from_raw)
        {
            let _ = kill_process(orphan, Signal::KILL);
        }
    }
}
