//! The messages of a worker to its host.

use std::path::PathBuf;

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum, wire_struct};
use super::message::{FRAME_HEADER, framed};
use crate::background::{CallKind, Facts, InputState, RefusedCall, Usage};
use crate::layers::{Bound, Layer, Layers};
use crate::refused_git::RefusedGit;
use crate::step::FailedStep;

/// A message from a worker to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It waits for a command, behind these layers. Its process descriptor comes with the frame.
    Ready(Layers),
    /// There is no worker: the system refused a layer that the plan cannot do without.
    Failed(FailedStep, i32, String),
    /// The command ended with this status of `wait`. Some of its processes are left, and are killed
    /// when the host asks for that.
    Ended(i32),
    /// The command ended with this status, nothing of it is left, this number of its other processes
    /// was killed, and this is what all of them used. Then comes whether it has made a git directory, which is
    /// private then, and what git would have obeyed and was refused.
    Done(i32, u32, Usage, bool, Vec<RefusedGit>),
    /// The command was not run.
    NotRun(FailedStep, i32),
    /// Nothing was run: a path that was covered has become another file since. It leaves, and a new
    /// supervisor is needed.
    Stale,
    /// The worker was idle for too long and ends. It has not read any later message.
    Goodbye,
    /// A command that the host keeps runs now.
    Started,
    /// The host's end of the terminal comes with the frame.
    Terminal,
    /// The command listens at these TCP ports, in ascending order.
    Listening(Vec<u16>),
    /// Whether the command waits for input.
    Input(InputState),
    /// The connection could not be made, for this reason; without one the socket comes with the frame.
    Connected(Option<i32>),
    /// The network of a supervisor comes with the frame, and behind it, if this says so, its mounts and the
    /// file system in which its temporary directories are.
    Network(bool),
    /// What commands have changed in a fork comes with the frame: a directory.
    Fork,
    /// There is no such fork, for this reason.
    NoFork(i32),
    /// A private git directory at this path. Its content comes with the frame, and behind it the directory that the
    /// host sees there.
    Private(PathBuf),
    /// There are no more of them.
    NoPrivate,
    /// As [`Reply::Fork`], of a directory that commands have moved to this path.
    MovedFork(PathBuf),
}

wire_enum!(Reply {
    1 = Ready(layers),
    2 = Failed(step, errno, what),
    3 = Ended(status),
    4 = Done(status, killed, usage, made_git_directories, refused),
    5 = NotRun(step, errno),
    6 = Goodbye,
    7 = Stale,
    8 = Started,
    9 = Terminal,
    10 = Listening(ports),
    11 = Input(state),
    12 = Connected(errno),
    13 = Network(has_temporary),
    16 = Fork,
    17 = NoFork(errno),
    18 = Private(path),
    19 = NoPrivate,
    20 = MovedFork(path),
});
wire_enum!(RefusedGit { 0 = Link(path), 1 = Form(path) });
wire_struct!(Usage { user_us, system_us, peak_bytes, facts });
wire_struct!(Facts {
    unreachable,
    memory_kills,
    refused_processes,
    served_port,
    refused_call,
    fork_full
});
wire_struct!(RefusedCall { kind, is_recent });
wire_enum!(CallKind {
    0 = Mount,
    1 = Namespace,
    2 = Root,
    3 = Device,
    4 = SetId,
    5 = Measure,
    6 = Keys,
    7 = Memory,
    8 = Handle,
    9 = System,
    10 = RawSocket,
    11 = Datagram,
    12 = OtherSocket,
    13 = Priority,
});
wire_enum!(InputState { 0 = Busy, 1 = Waiting, 2 = Unknown });

impl Reply {
    /// The frame for it.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let mut frame = vec![0; FRAME_HEADER];
        self.write(&mut frame);
        framed(frame)
    }

    /// Reads the content of a frame.
    pub fn read(content: &[u8]) -> Result<Self, Malformed> {
        read_whole(content)
    }
}

wire_struct!(Layers {
    user,
    mount,
    pid,
    ipc,
    net,
    loopback,
    seccomp,
    landlock,
    landlock_abi,
    scope,
    closed,
    protected,
    forks,
    hidden_git,
    strict_git,
    tracing,
    own_sockets,
    broker,
    resolver,
    processes,
    memory,
});
wire_enum!(Layer { 0 = Unused, 1 = Holds, 2 = Refused(errno) });
wire_enum!(Bound { 0 = Unused, 1 = ControlGroup, 2 = Namespace, 3 = ResourceLimit, 4 = Nothing });
wire_enum!(FailedStep {
    0 = Mounts,
    1 = Fork,
    2 = Capabilities,
    3 = Seccomp,
    4 = Landlock,
    5 = Limits,
    6 = Broker,
    7 = Directory,
    8 = Execute,
    9 = Interpreter,
    10 = Granted,
    11 = Other,
    12 = Terminal,
});
