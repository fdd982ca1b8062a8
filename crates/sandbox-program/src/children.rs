//! The supervisor's children: workers, and what a killed worker has left.
//!
//! A process namespace ends with its worker. Without one, the processes of a command become children of
//! the nearest reaper above, which is the supervisor.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use crate::activity::Activity;
use crate::broker::files::WorkerSocket;
use crate::limits;
use crate::mounts::Tree;
use crate::reaped::{Reaped, reap};

pub(crate) struct Child {
    pub(crate) pid: i32,
    /// Its control group, which is removed when the worker has ended.
    pub(crate) group: limits::Group,
    pub(crate) activity: Activity,
    /// Where it asks for what only a supervisor can do.
    pub(crate) socket: Option<WorkerSocket>,
}

pub(crate) struct Children {
    workers: HashMap<i32, Child>,
    /// The control groups of workers that ended before the processes they had started.
    inhabited: Vec<limits::Group>,
}

impl Children {
    pub(crate) fn new() -> Self {
        // Otherwise the host's reaper would inherit these processes, and they would live on.
        let _ = set_child_subreaper(Some(getpid()));
        Self { workers: HashMap::new(), inhabited: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Whether a worker runs a command.
    pub(crate) fn is_active(&self) -> bool {
        self.workers.values().any(|worker| worker.activity.is_active())
    }

    pub(crate) fn add(&mut self, worker: Child) {
        self.workers.insert(worker.pid, worker);
    }

    /// Where workers ask for something.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &WorkerSocket> {
        self.workers.values().filter_map(|worker| worker.socket.as_ref())
    }

    /// Answers the workers that have asked for something.
    pub(crate) fn answer(&mut self, tree: &mut Option<Tree>) {
        for worker in self.workers.values_mut() {
            if let Some(socket) = &worker.socket
                && !socket.answer(tree.as_mut())
            {
                worker.socket = None;
            }
        }
    }

    /// Whether the control group of a worker that has ended is still there.
    pub(crate) fn has_inhabited_groups(&self) -> bool {
        !self.inhabited.is_empty()
    }

    /// Collects the children that have ended, and returns whether none is left.
    pub(crate) fn collect(&mut self) -> bool {
        let is_empty = self.collect_processes();
        let inhabited = std::mem::take(&mut self.inhabited);
        self.inhabited = inhabited.into_iter().filter_map(limits::Group::remove).collect();
        is_empty
    }

    fn collect_processes(&mut self) -> bool {
        loop {
            match reap(libc::WNOHANG) {
                Reaped::NoneYet => return false,
                Reaped::NoChild => return true,
                Reaped::Held(_) => {}
                Reaped::Ended { pid, .. } => {
                    self.inhabited.extend(self.workers.remove(&pid).map(|worker| worker.group));
                }
            }
            self.kill_orphans();
        }
    }

    pub(crate) fn kill(&self) {
        for worker in self.workers.keys().filter_map(|worker| Pid::from_raw(*worker)) {
            let _ = kill_process(worker, Signal::KILL);
        }
    }

    /// A child that is no worker was left by one. Its own children become children of this process in
    /// turn.
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
