//! Resource limits.

use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::errno;
use crate::reaped::reap;
use crate::rules::trial::in_child;
use toolwright_sandbox::plan::Limits;

/// The limits of a command's first process.
#[derive(Debug, Clone)]
pub(super) struct Bounds([Option<(Resource, Rlimit)>; 4]);

impl Bounds {
    /// Limits that every command gets.
    pub(super) fn new(limits: &Limits) -> Self {
        let mut bounds = Self([None; 4]);
        // One second lies between the signal that names the limit and the one that cannot be
        // ignored.
        bounds.0[0] = limits.cpu_seconds.map(|max| below(Resource::Cpu, max, 1));
        bounds.0[1] = limits.file_size_bytes.map(|max| below(Resource::Fsize, max, 0));
        bounds
    }

    pub(super) fn processes(&mut self, max: u64, own_user: bool) -> bool {
        // Without a namespace all processes of the user count. How many those are is not known, but
        // they are no more than there are.
        let others = if own_user { Some(0) } else { all_tasks() };
        let (true, Some(others)) = (is_held_to_processes(), others) else { return false };
        self.0[2] = Some(below(Resource::Nproc, max.saturating_add(others), 0));
        true
    }

    pub(super) fn data(&mut self, max: u64) {
        self.0[3] = Some(below(Resource::Data, max, 0));
    }

    /// Sets them for the calling process. Neither allocates nor locks.
    pub(super) fn apply(&self) -> io::Result<()> {
        for (resource, limit) in self.0.iter().flatten() {
            setrlimit(*resource, *limit)?;
        }
        Ok(())
    }
}

/// Keeps no memory of a program that crashes. A program of the host that takes such memory
/// (`core_pattern`) would run outside of every layer, on data that the command has chosen. The
/// kernel starts none for a limit of 1, although it does for 0. The limit is inherited, and the
/// filter keeps commands from lowering it.
pub(super) fn keep_no_memory() {
    for max in [1, 0] {
        let limit = Rlimit { current: Some(max), maximum: Some(max) };
        if setrlimit(Resource::Core, limit).is_ok() {
            return;
        }
    }
}

/// A limit no higher than the one in force, whose hard bound is `more` above it.
fn below(resource: Resource, max: u64, more: u64) -> (Resource, Rlimit) {
    let now = getrlimit(resource);
    let least = |a: u64, b: Option<u64>| Some(b.map_or(a, |b| a.min(b)));
    let maximum = least(max.saturating_add(more), now.maximum);
    let current = least(least(max, now.current).unwrap_or(max), maximum);
    (resource, Rlimit { current, maximum })
}

/// Whether the kernel counts the processes of this user at all. It does not for the system's own
/// root, in any namespace, and a namespace does not show who that is.
fn is_held_to_processes() -> bool {
    in_child(false, |is_limited| {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let Ok(()) = setrlimit(Resource::Nproc, none) else { return };
        *is_limited = start_one() == Err(Errno::AGAIN);
    })
    .unwrap_or(false)
}

/// Starts a child that ends at once, without the system library, which has locks for this.
fn start_one() -> Result<(), Errno> {
    let none = 0usize;
    // SAFETY: without a new stack and with a copy of the memory, as by `fork`.
    let pid = unsafe { libc::syscall(libc::SYS_clone, none, none, none, none, none) };
    match pid {
        0 => {
            // SAFETY: ends the child and runs nothing of ours.
            unsafe { libc::_exit(0) }
        }
        1.. => {
            reap(0);
            Ok(())
        }
        _ => Err(errno::last()),
    }
}

fn all_tasks() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}
