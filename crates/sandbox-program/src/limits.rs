//! Bounds on processes, memory, processor time and file size.
//!
//! Each is held by the best of what the system offers:
//!
//! | | processes | memory |
//! | --- | --- | --- |
//! | a control group | of the command | of the command, its files in memory included |
//! | the process namespace | of the command, up to 300 more while its numbers are fresh | |
//! | a resource limit | of the user in its namespace; of no use against the system's root | of each process, shared memory left out |
//!
//! Processor time and file size are resource limits of each process.

mod group;
mod hierarchy;
mod namespace;
mod resource;
mod score;

use std::io;

pub use self::group::{Group, GroupLimits, Groups};
use self::resource::Bounds;
pub use self::score::Expendable;
use self::score::Score;
use toolwright_sandbox::layers::{Bound, Layers};
use toolwright_sandbox::plan::Limits;

/// The limits of a worker's commands.
#[derive(Debug)]
pub struct Prepared {
    /// What bounds the number of processes.
    pub processes: Bound,
    /// By what memory is bounded.
    pub memory: Bound,
    bounds: Bounds,
    score: Option<Score>,
}

/// Bounds the worker as far as one setting serves all its commands, and prepares the rest. `group`
/// is the result of [`Group::enter`]; of the layers, the user and the process namespace count.
///
/// Call this while the worker has its own `/proc`, and before that becomes read-only, the worker
/// gives up capabilities, or it stops being dumpable. A process that is not dumpable cannot write
/// its own files in `/proc`, because root owns them.
#[must_use]
pub fn prepare(limits: &Limits, layers: &Layers, group: GroupLimits) -> Prepared {
    resource::keep_no_memory();
    let mut bounds = Bounds::new(limits);
    let processes = match limits.processes {
        None => Bound::Unused,
        Some(_) if group.processes => Bound::ControlGroup,
        Some(max) if layers.pid.holds() && namespace::bound(max) => Bound::Namespace,
        Some(max) if bounds.processes(max, layers.user.holds()) => Bound::ResourceLimit,
        Some(_) => Bound::Nothing,
    };
    let memory = match limits.memory_bytes {
        None => Bound::Unused,
        Some(_) if group.memory => Bound::ControlGroup,
        Some(max) => {
            bounds.data(max);
            Bound::ResourceLimit
        }
    };
    Prepared { processes, memory, bounds, score: Score::read() }
}

impl Prepared {
    /// Makes the processes that start until this is dropped more likely victims of a want of memory
    /// than the host, and than the worker that reports their end. Until then the worker is as
    /// likely a victim.
    #[must_use]
    pub fn expendable(&self) -> Expendable<'_> {
        Expendable::new(self.score.as_ref())
    }

    /// Bounds the calling process, which becomes the command. Neither allocates nor locks.
    pub fn apply_in_child(&self) -> io::Result<()> {
        self.bounds.apply()
    }
}
