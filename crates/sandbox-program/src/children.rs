//! The supervisor's children: workers, and what is left of one that was killed.
//!
//! A process namespace ends with its worker. Where there is none, what a command had started goes to the
//! nearest reaper above, and that is the supervisor.

use std::collections::HashMap;
use std::fs;

use crate::limits;
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

/// Workers, with their control groups, which go when they go.
pub(crate) struct Children {
    workers: HashMap<i32, limits::Group>,
    /// Those of workers that have ended before what they had started.
    inhabited: Vec<limits::Group>,
}

impl Children {
    pub(crate) fn new() -> Self {
        // Without it, what such a worker leaves goes to the host's reaper and lives on.
        let _ = set_child_subreaper(Some(getpid()));
        Self { workers: HashMap::new(), inhabited: Vec::new() }
    }

    pub(crate) fn are_none(&self) -> bool {
        self.workers.is_empty()
    }

    pub(crate) fn add(&mut self, worker: i32, group: limits::Group) {
        self.workers.insert(worker, group);
    }

    /// Whether a control group of one that has ended is still there.
    pub(crate) fn have_left_groups(&self) -> bool {
        !self.inhabited.is_empty()
    }

    /// Collects those that have ended. Whether nobody is left.
    pub(crate) fn collect(&mut self) -> bool {
        let nobody = self.collect_processes();
        let inhabited = std::mem::take(&mut self.inhabited);
        self.inhabited = inhabited.into_iter().filter_map(limits::Group::remove).collect();
        nobody
    }

    fn collect_processes(&mut self) -> bool {
        loop {
            // SAFETY: no memory is involved.
            let ended =
                unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            if ended <= 0 {
                return ended < 0;
            }
            self.inhabited.extend(self.workers.remove(&ended));
            self.kill_orphans();
        }
    }

    /// Kills the workers.
    pub(crate) fn kill(&self) {
        for worker in self.workers.keys().filter_map(|worker| Pid::from_raw(*worker)) {
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
        for orphan in
            children.filter(|child| !self.workers.contains_key(child)).filter_map(Pid::from_raw)
        {
            let _ = kill_process(orphan, Signal::KILL);
        }
    }
}
