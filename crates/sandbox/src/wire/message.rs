//! The messages between a host and a worker.

use super::reader::{Malformed, Reader, Writer};
use crate::layers::{Bound, Layer, Layers};
use crate::step::FailedStep;

/// The bytes of a frame's length.
pub const FRAME_HEADER: usize = 4;
/// No frame is longer: the kernel takes no more for arguments and environment than a few megabytes.
const MAX_FRAME: u32 = 64 << 20;

/// One command, as a host asks for it. The ends of its pipes come with the frame.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The file to execute; relative to `cwd` if it has no slash at the front.
    pub program: &'a [u8],
    /// The directory below the plan's root, empty for the root itself.
    pub cwd: &'a [u8],
    /// Whether stderr has a pipe of its own.
    pub stderr_apart: bool,
}

/// A request with its arguments and variables. Each ends with a NUL, as `execve` expects.
#[derive(Debug)]
pub struct RequestFrame<'m> {
    /// What to run, and where; both ended by a NUL too.
    pub request: Request<'m>,
    /// How many of `words` are arguments, the program's name among them; the others are variables.
    pub arguments: usize,
    /// How many words there are.
    pub count: usize,
    /// The words, one after the other.
    pub words: &'m [u8],
}

/// A message from a host to a worker.
#[derive(Debug)]
pub enum HostMessage<'m> {
    /// Run this.
    Run(RequestFrame<'m>),
    /// Kill the rest of the command and report how it ended.
    Kill,
}

const RUN: u8 = 1;
const KILL: u8 = 2;

/// The frame that starts a command. No word may hold a NUL.
#[must_use]
pub fn run_frame<'w>(
    request: &Request<'_>,
    arguments: impl Iterator<Item = &'w [u8]>,
    variables: impl Iterator<Item = (&'w [u8], &'w [u8])>,
) -> Vec<u8> {
    let mut to = Writer(Vec::with_capacity(4 << 10));
    to.number(0);
    to.byte(RUN);
    to.byte(u8::from(request.stderr_apart));
    let counts = to.0.len();
    to.number(0);
    to.number(0);
    let (mut argc, mut count) = (0u32, 0u32);
    for word in [request.program, request.cwd] {
        to.0.extend_from_slice(word);
        to.byte(0);
    }
    for argument in arguments {
        to.0.extend_from_slice(argument);
        to.byte(0);
        argc += 1;
    }
    for (name, value) in variables {
        to.0.extend_from_slice(name);
        to.byte(b'=');
        to.0.extend_from_slice(value);
        to.byte(0);
        count += 1;
    }
    to.0[counts..counts + 4].copy_from_slice(&argc.to_le_bytes());
    to.0[counts + 4..counts + 8].copy_from_slice(&(argc + count).to_le_bytes());
    framed(to.0)
}

/// The frame that ends a command.
#[must_use]
pub fn kill_frame() -> Vec<u8> {
    framed(vec![0, 0, 0, 0, KILL])
}

/// A frame around `content`, for a supervisor: its order, then [`WORKER`] for each worker, together
/// with the socket of that worker.
#[must_use]
pub fn plain_frame(content: &[u8]) -> Vec<u8> {
    framed([&[0; FRAME_HEADER], content].concat())
}

/// What asks a supervisor for a worker.
pub const WORKER: &[u8] = b"worker";

fn framed(mut frame: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(frame.len() - FRAME_HEADER).unwrap_or(u32::MAX);
    frame[..FRAME_HEADER].copy_from_slice(&length.to_le_bytes());
    frame
}

/// How long the content of the frame is that begins with `header`.
pub fn frame_length(header: [u8; FRAME_HEADER]) -> Result<usize, Malformed> {
    match u32::from_le_bytes(header) {
        length @ 1..=MAX_FRAME => usize::try_from(length).map_err(|_| Malformed),
        _ => Err(Malformed),
    }
}

/// Reads the content of a frame to a worker.
pub fn read_request_frame(content: &[u8]) -> Result<HostMessage<'_>, Malformed> {
    let mut from = Reader(content);
    match from.byte()? {
        KILL => {
            from.end()?;
            Ok(HostMessage::Kill)
        }
        RUN => {
            let stderr_apart = from.byte()? != 0;
            let size = |number: u32| usize::try_from(number).map_err(|_| Malformed);
            let (arguments, count) = (size(from.number()?)?, size(from.number()?)?);
            let mut word = || -> Result<&[u8], Malformed> {
                let end = from.0.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
                from.bytes(end + 1)
            };
            let (program, cwd) = (word()?, word()?);
            let words = from.0;
            let found = words.split(|byte| *byte == 0).count() - 1;
            let whole = words.last().is_none_or(|byte| *byte == 0);
            if found != count || !whole || arguments > count || arguments == 0 {
                return Err(Malformed);
            }
            let request = Request { program, cwd, stderr_apart };
            Ok(HostMessage::Run(RequestFrame { request, arguments, count, words }))
        }
        _ => Err(Malformed),
    }
}

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
    /// The command ended with this status, nothing of it is left, and this number of its other
    /// processes was killed.
    Done(i32, u32),
    /// The command was not run.
    NotRun(FailedStep, i32),
    /// Nothing was run: a path that was covered has become another file since. It leaves, and a new
    /// supervisor is needed.
    Stale,
    /// The worker was idle for too long and ends. It has not read any later message.
    Goodbye,
}

impl Reply {
    /// The frame for it.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let mut to = Writer(vec![0; FRAME_HEADER]);
        match self {
            Self::Ready(layers) => {
                to.byte(1);
                write_layers(&mut to, layers);
            }
            Self::Failed(step, errno, what) => {
                to.byte(2);
                to.byte(step.number());
                to.signed(*errno);
                to.text(what.as_bytes());
            }
            Self::Ended(status) => {
                to.byte(3);
                to.signed(*status);
            }
            Self::Done(status, killed) => {
                to.byte(4);
                to.signed(*status);
                to.number(*killed);
            }
            Self::NotRun(step, errno) => {
                to.byte(5);
                to.byte(step.number());
                to.signed(*errno);
            }
            Self::Goodbye => to.byte(6),
            Self::Stale => to.byte(7),
        }
        framed(to.0)
    }

    /// Reads the content of a frame.
    pub fn read(content: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader(content);
        let reply = match from.byte()? {
            1 => Self::Ready(read_layers(&mut from)?),
            2 => {
                let step = FailedStep::from_number(from.byte()?);
                let errno = from.signed()?;
                Self::Failed(step, errno, String::from_utf8_lossy(from.text()?).into_owned())
            }
            3 => Self::Ended(from.signed()?),
            4 => Self::Done(from.signed()?, from.number()?),
            5 => Self::NotRun(FailedStep::from_number(from.byte()?), from.signed()?),
            6 => Self::Goodbye,
            7 => Self::Stale,
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(reply)
    }
}

fn write_layers(to: &mut Writer, layers: &Layers) {
    for layer in layers.each() {
        let (kind, errno) = match layer {
            Layer::Unused => (0, 0),
            Layer::Holds => (1, 0),
            Layer::Refused(errno) => (2, errno),
        };
        to.byte(kind);
        to.signed(errno);
    }
    to.number(layers.landlock_abi);
    for bound in [layers.processes, layers.memory] {
        to.byte(match bound {
            Bound::Unused => 0,
            Bound::ControlGroup => 1,
            Bound::Namespace => 2,
            Bound::ResourceLimit => 3,
            Bound::Nothing => 4,
        });
    }
}

fn read_layers(from: &mut Reader<'_>) -> Result<Layers, Malformed> {
    let mut layers = Layers::default();
    for layer in layers.each_mut() {
        let (kind, errno) = (from.byte()?, from.signed()?);
        *layer = match kind {
            0 => Layer::Unused,
            1 => Layer::Holds,
            2 => Layer::Refused(errno),
            _ => return Err(Malformed),
        };
    }
    layers.landlock_abi = from.number()?;
    for bound in [&mut layers.processes, &mut layers.memory] {
        *bound = match from.byte()? {
            0 => Bound::Unused,
            1 => Bound::ControlGroup,
            2 => Bound::Namespace,
            3 => Bound::ResourceLimit,
            4 => Bound::Nothing,
            _ => return Err(Malformed),
        };
    }
    Ok(layers)
}
