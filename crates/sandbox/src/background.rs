//! What a host and a worker tell each other about a background command.

/// How many characters a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// In a line.
    pub columns: u16,
    /// From top to bottom.
    pub rows: u16,
}

/// The facts about a background command that the host asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchedFacts {
    /// The ports at which it listens.
    pub ports: bool,
    /// Whether it waits for input.
    pub input: bool,
}

/// What the processes of a command used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Processor time in their own code, in microseconds.
    pub user_us: u64,
    /// Processor time in the kernel, in microseconds.
    pub system_us: u64,
    /// The most memory that one of them had in use.
    pub peak_bytes: u64,
    /// What the kernel has counted of refusals, if the command has failed.
    pub facts: Facts,
}

/// What the kernel has counted of refusals while a command ran. `None`: nothing counts it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// How often something had no way to another machine. Commands at the same time may be counted too.
    pub unreachable: Option<u32>,
    /// How many of its processes were killed for want of memory.
    pub memory_kills: Option<u32>,
    /// How many processes it could not start for the limit of them.
    pub refused_processes: Option<u32>,
    /// A port at which it listened when it was stopped.
    pub served_port: Option<u32>,
    /// The last system call of it that no command may make.
    pub refused_call: Option<RefusedCall>,
    /// The bound of the fork that it ran in, in bytes, if it was stopped because the fork had more. The host knows it.
    pub fork_full: Option<u64>,
}

/// A system call that a command was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCall {
    /// What it is for.
    pub kind: CallKind,
    /// Whether the command ended soon after it.
    pub is_recent: bool,
}

/// What the system calls are for that no command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Mounting and unmounting.
    Mount,
    /// Making and entering namespaces.
    Namespace,
    /// Changing the root directory.
    Root,
    /// Making devices.
    Device,
    /// Having a file run with the rights of its owner or group.
    SetId,
    /// Measuring the system: `perf_event_open`, `bpf`.
    Measure,
    /// Keyrings.
    Keys,
    /// Where the memory of processes lies, and what happens at a fault in it.
    Memory,
    /// Files without a path: by handles, and whole mounts.
    Handle,
    /// Clocks, modules and what else the whole system has once.
    System,
    /// Packets as they are.
    RawSocket,
    /// Unix sockets without connections.
    Datagram,
    /// Sockets that are of no network: virtual machines, radios, buses.
    OtherSocket,
    /// Being scheduled before others.
    Priority,
}

/// Whether a command waits for input, by what the kernel says of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputState {
    /// Something of it runs, or waits for something else.
    Busy,
    /// A process waits for its stdin or its terminal, and none runs.
    Waiting,
    /// The kernel does not say.
    #[default]
    Unknown,
}

impl InputState {
    /// As a caller reads it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
        }
    }
}
