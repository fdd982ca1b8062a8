//! Which layers hold, as found by doing it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last command of this process ran where Landlock confines files and mounts do not.
static WITHOUT_MOUNTS: AtomicBool = AtomicBool::new(false);

/// What became of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    /// The plan has no use for it.
    #[default]
    Unused,
    /// It holds.
    Holds,
    /// The system refused it with this error number.
    Refused(i32),
}

impl Layer {
    /// Whether it holds.
    #[must_use]
    pub fn holds(self) -> bool {
        self == Self::Holds
    }
}

/// The layers around the commands of one supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    /// A user namespace, which the other namespaces need.
    pub user: Layer,
    /// A mount namespace, with everything outside the plan read-only, closed paths covered, a private
    /// temporary directory and a small `/dev`.
    pub mount: Layer,
    /// A process namespace for each worker, with its own `/proc`: other processes are invisible, and
    /// killing is exact.
    pub pid: Layer,
    /// System V and POSIX message queues, semaphores and shared memory of their own.
    pub ipc: Layer,
    /// A network of their own.
    pub net: Layer,
    /// Its loopback interface is up.
    pub loopback: Layer,
    /// System calls are filtered.
    pub seccomp: Layer,
    /// Files are confined by Landlock.
    pub landlock: Layer,
    /// The version of Landlock's interface, or 0 where there is none.
    pub landlock_abi: u32,
    /// Signals and abstract sockets end at Landlock's scope.
    pub scope: Layer,
    /// Closed paths are closed.
    pub closed: Layer,
    /// Protected paths below writable ones are read-only.
    pub protected: Layer,
    /// Commands work on forks of git directories. Refused: these directories are read-only.
    pub forks: Layer,
    /// Git directories that commands make are private to them.
    pub hidden_git: Layer,
    /// While a command runs, it leaves nothing on the host that git would obey.
    pub strict_git: Layer,
    /// Processes of a command may trace each other.
    pub tracing: Layer,
    /// Commands have unix sockets of their own, and directories with the set-group bit: the worker makes such calls.
    pub own_sockets: Layer,
    /// The broker makes connections, or gets them from the host.
    pub broker: Layer,
    /// A resolver answers names, and the settings of commands name no other.
    pub resolver: Layer,
    /// A bound on processes.
    pub processes: Bound,
    /// A bound on memory.
    pub memory: Bound,
}

impl Layers {
    /// Notes what holds around the commands of this process, for the words about their refusals.
    pub fn note(&self) {
        WITHOUT_MOUNTS.store(!self.mount.holds() && self.landlock.holds(), Ordering::Relaxed);
    }

    /// The error number of a layer that was refused only for want of a resource. Such a layer may
    /// hold the next time.
    #[must_use]
    pub fn shortage(self) -> Option<i32> {
        let Self { user, mount, pid, ipc, net, loopback, .. } = self;
        let Self { seccomp, landlock, scope, closed, protected, broker, resolver, .. } = self;
        let Self { hidden_git, strict_git, own_sockets, .. } = self;
        let spaces = [user, mount, pid, ipc, net, loopback];
        let others = [seccomp, landlock, scope, closed, protected, broker, resolver];
        let calls = [hidden_git, strict_git, own_sockets];
        spaces.into_iter().chain(others).chain(calls).find_map(|layer| match layer {
            Layer::Refused(errno) if is_shortage(errno) => Some(errno),
            _ => None,
        })
    }
}

/// Whether the kernel refuses a command's write with EACCES, as Landlock does, and not with EROFS, as
/// a mount does.
#[must_use]
pub fn refuses_without_mounts() -> bool {
    WITHOUT_MOUNTS.load(Ordering::Relaxed)
}

/// Whether an error number reports a want of processes, descriptors or memory, which may be over
/// the next time.
#[must_use]
pub fn is_shortage(errno: i32) -> bool {
    // Of Linux. Elsewhere there are no layers that could be refused for a want.
    #[cfg(target_os = "linux")]
    const WANTS: [i32; 6] =
        [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ETOOMANYREFS];
    #[cfg(not(target_os = "linux"))]
    const WANTS: [i32; 0] = [];
    WANTS.contains(&errno)
}

/// The mechanism that enforces a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bound {
    /// None was asked for.
    #[default]
    Unused,
    /// A control group: for all processes together.
    ControlGroup,
    /// The process namespace gives out no more numbers.
    Namespace,
    /// A resource limit: memory of each process, processes of each user in its namespace.
    ResourceLimit,
    /// Nothing here can hold it.
    Nothing,
}
