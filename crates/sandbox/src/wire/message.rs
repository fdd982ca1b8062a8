//! The messages of a host to a worker.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::codec::{Malformed, Reader, Wire};
use crate::background::{TerminalSize, WatchedFacts};

/// The bytes of a frame's length.
pub const FRAME_HEADER: usize = 4;
/// No frame is longer: the kernel takes no more for arguments and environment than a few megabytes.
const MAX_FRAME: u32 = 64 << 20;

/// One command, as a host asks for it. The ends of its pipes come with the frame: of stdout, of stderr,
/// of stdin, for notes on patches, and its gate to hosts. A command with a terminal has only the last two.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the frame")]
pub struct Request<'a> {
    /// The file to execute; relative to `cwd` if it has no slash at the front.
    pub program: &'a [u8],
    /// The directory below the plan's root, empty for the root itself.
    pub cwd: &'a [u8],
    /// Whether stderr has a pipe of its own.
    pub stderr_apart: bool,
    /// Whether stdin has a pipe. Without one it is empty.
    pub has_input: bool,
    /// Whether the host keeps it running, and wants to know when the program has been executed.
    pub is_background: bool,
    /// The terminal that it is to have.
    pub terminal: Option<TerminalSize>,
    /// Whether there is a pipe for notes on patches.
    pub has_notes: bool,
    /// Whether there is a gate, by which the worker asks the host for names and connections.
    pub has_gate: bool,
}

const STDERR_APART: u8 = 1;
const HAS_INPUT: u8 = 1 << 1;
const IS_BACKGROUND: u8 = 1 << 2;
const HAS_TERMINAL: u8 = 1 << 3;
const HAS_NOTES: u8 = 1 << 4;
const HAS_GATE: u8 = 1 << 5;

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
    /// Send this signal to the process group of the command.
    Signal(i32),
    /// Report from now on, or no more, what becomes of these.
    Watch(WatchedFacts),
    /// Connect to the server that the command has at this port, and send the socket.
    Connect(u16),
}

const RUN: u8 = 1;
const KILL: u8 = 2;
const SIGNAL: u8 = 3;
const WATCH: u8 = 4;
const CONNECT: u8 = 5;

/// The frame that starts a command. No word may hold a NUL.
#[must_use]
pub fn run_frame<'w>(
    request: &Request<'_>,
    arguments: impl Iterator<Item = &'w [u8]>,
    variables: impl Iterator<Item = (&'w [u8], &'w [u8])>,
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(4 << 10);
    frame.extend_from_slice(&[0; FRAME_HEADER]);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(request.stderr_apart, STDERR_APART)
        | flag(request.has_input, HAS_INPUT)
        | flag(request.is_background, IS_BACKGROUND)
        | flag(request.terminal.is_some(), HAS_TERMINAL)
        | flag(request.has_notes, HAS_NOTES)
        | flag(request.has_gate, HAS_GATE);
    frame.extend_from_slice(&[RUN, flags]);
    if let Some(TerminalSize { columns, rows }) = request.terminal {
        columns.write(&mut frame);
        rows.write(&mut frame);
    }
    let counts = frame.len();
    frame.extend_from_slice(&[0; 8]);
    let mut push = |parts: &[&[u8]]| {
        for part in parts {
            frame.extend_from_slice(part);
        }
        frame.push(0);
    };
    push(&[request.program]);
    push(&[request.cwd]);
    let (mut argc, mut count) = (0u32, 0u32);
    for argument in arguments {
        push(&[argument]);
        argc += 1;
    }
    for (name, value) in variables {
        push(&[name, b"=", value]);
        count += 1;
    }
    frame[counts..counts + 4].copy_from_slice(&argc.to_le_bytes());
    frame[counts + 4..counts + 8].copy_from_slice(&(argc + count).to_le_bytes());
    framed(frame)
}

/// The frame that ends a command.
#[must_use]
pub fn kill_frame() -> Vec<u8> {
    framed(vec![0, 0, 0, 0, KILL])
}

/// The frame that sends a signal to the command.
#[must_use]
pub fn signal_frame(signal: i32) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, SIGNAL];
    signal.write(&mut frame);
    framed(frame)
}

/// The frame that says what is to be reported.
#[must_use]
pub fn watch_frame(facts: WatchedFacts) -> Vec<u8> {
    framed(vec![0, 0, 0, 0, WATCH, u8::from(facts.ports), u8::from(facts.input)])
}

/// The frame that asks for a connection.
#[must_use]
pub fn connect_frame(port: u16) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, CONNECT];
    port.write(&mut frame);
    framed(frame)
}

/// A frame around `content`, for a supervisor: its order, then [`WORKER`] for each worker, together
/// with the socket of that worker.
#[must_use]
pub fn plain_frame(content: &[u8]) -> Vec<u8> {
    framed([&[0; FRAME_HEADER], content].concat())
}

/// What asks a supervisor for a worker.
pub const WORKER: &[u8] = b"worker";
/// Asks a supervisor to put our own programs in their place, together with a socket that it closes when
/// that is done.
pub const PROGRAMS: &[u8] = b"programs";
/// Asks a supervisor for its network, together with a socket for the answer: [`Reply::Network`] and the
/// descriptor. Without a network of its own it only closes the socket.
///
/// [`Reply::Network`]: super::Reply::Network
pub const NETWORK: &[u8] = b"network";

/// Asks a supervisor for the fork of a git directory, together with a socket for the answer:
/// [`Reply::Fork`] and the descriptor of what has changed in it, or [`Reply::NoFork`]. If there is none, it
/// is made; with `anew`, one that is there is replaced. The answer is [`Reply::MovedFork`] if commands have moved it.
///
/// [`Reply::MovedFork`]: super::Reply::MovedFork
/// [`Reply::Fork`]: super::Reply::Fork
/// [`Reply::NoFork`]: super::Reply::NoFork
#[must_use]
pub fn fork_frame(path: &Path, anew: bool) -> Vec<u8> {
    let tag = if anew { FORK_ANEW } else { FORK };
    plain_frame(&[tag, path.as_os_str().as_bytes()].concat())
}

/// As [`fork_frame`], of a repository that commands have made: the directory of this device and inode. Commands may
/// move and remove it.
#[must_use]
pub fn command_fork_frame(path: &Path, (device, inode): (u64, u64)) -> Vec<u8> {
    let identity = [device.to_le_bytes(), inode.to_le_bytes()].concat();
    plain_frame(&[COMMAND_FORK, &identity, path.as_os_str().as_bytes()].concat())
}

/// Which fork a host asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkRequest<'m> {
    /// Where the git directory lies.
    pub path: &'m Path,
    /// Whether one that is there is replaced.
    pub anew: bool,
    /// Device and inode of a directory that commands have made.
    pub of_command: Option<(u64, u64)>,
}

/// Reads the content of a frame that [`fork_frame`] or [`command_fork_frame`] made.
#[must_use]
pub fn read_fork_frame(content: &[u8]) -> Option<ForkRequest<'_>> {
    let (rest, anew, of_command) = if let Some(rest) = content.strip_prefix(COMMAND_FORK) {
        let (device, rest) = rest.split_first_chunk()?;
        let (inode, rest) = rest.split_first_chunk()?;
        (rest, false, Some((u64::from_le_bytes(*device), u64::from_le_bytes(*inode))))
    } else if let Some(rest) = content.strip_prefix(FORK_ANEW) {
        (rest, true, None)
    } else {
        (content.strip_prefix(FORK)?, false, None)
    };
    Some(ForkRequest { path: Path::new(OsStr::from_bytes(rest)), anew, of_command })
}

/// Asks a supervisor for one of the private git directories, together with a socket for the answer:
/// [`Reply::Private`] and the descriptors, or [`Reply::NoPrivate`] after the last one. One whose directory of the host
/// a command may have open is not among them until a supervisor that ran no command was asked.
///
/// [`Reply::Private`]: super::Reply::Private
/// [`Reply::NoPrivate`]: super::Reply::NoPrivate
#[must_use]
pub fn private_frame(index: u32) -> Vec<u8> {
    plain_frame(&[PRIVATE, &index.to_le_bytes()].concat())
}

/// Has a supervisor empty the private git directory at a path, together with a socket that it closes when that is
/// done. Commands then see an empty one there, and still not the directory of the host.
#[must_use]
pub fn discard_private_frame(path: &Path) -> Vec<u8> {
    plain_frame(&[DISCARD_PRIVATE, path.as_os_str().as_bytes()].concat())
}

/// Has a supervisor make the private git directory at a path a fork, together with a socket for the answer, which is
/// that to [`fork_frame`]. The host has put the repository into its own directory before, of which commands see a fork
/// then. After [`Reply::NoFork`] it is private still.
///
/// [`Reply::NoFork`]: super::Reply::NoFork
#[must_use]
pub fn settle_private_frame(path: &Path) -> Vec<u8> {
    plain_frame(&[SETTLE_PRIVATE, path.as_os_str().as_bytes()].concat())
}

/// What a host asks about private git directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateRequest<'m> {
    /// The one of this index.
    Get(u32),
    /// Empty the one at this path.
    Discard(&'m Path),
    /// Make the one at this path a fork.
    Settle(&'m Path),
}

/// Reads the content of a frame that [`private_frame`], [`discard_private_frame`] or [`settle_private_frame`] made.
#[must_use]
pub fn read_private_frame(content: &[u8]) -> Option<PrivateRequest<'_>> {
    let path = |tag| content.strip_prefix(tag).map(|path| Path::new(OsStr::from_bytes(path)));
    if let Some(path) = path(DISCARD_PRIVATE) {
        return Some(PrivateRequest::Discard(path));
    }
    if let Some(path) = path(SETTLE_PRIVATE) {
        return Some(PrivateRequest::Settle(path));
    }
    let index = content.strip_prefix(PRIVATE)?.try_into().ok()?;
    Some(PrivateRequest::Get(u32::from_le_bytes(index)))
}

const PRIVATE: &[u8] = b"private:";
const DISCARD_PRIVATE: &[u8] = b"discard-private:";
const SETTLE_PRIVATE: &[u8] = b"settle-private:";
const FORK: &[u8] = b"fork:";
const FORK_ANEW: &[u8] = b"fork-anew:";
const COMMAND_FORK: &[u8] = b"command-fork:";

pub(super) fn framed(mut frame: Vec<u8>) -> Vec<u8> {
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
    match u8::read(&mut from)? {
        KILL => {
            from.end()?;
            Ok(HostMessage::Kill)
        }
        SIGNAL => {
            let signal = i32::read(&mut from)?;
            from.end()?;
            Ok(HostMessage::Signal(signal))
        }
        WATCH => {
            let (ports, input) = (u8::read(&mut from)? != 0, u8::read(&mut from)? != 0);
            from.end()?;
            Ok(HostMessage::Watch(WatchedFacts { ports, input }))
        }
        CONNECT => {
            let port = u16::read(&mut from)?;
            from.end()?;
            Ok(HostMessage::Connect(port))
        }
        RUN => {
            let flags = u8::read(&mut from)?;
            let terminal = if flags & HAS_TERMINAL == 0 {
                None
            } else {
                let (columns, rows) = (u16::read(&mut from)?, u16::read(&mut from)?);
                Some(TerminalSize { columns, rows })
            };
            let (arguments, count) = (from.size()?, from.size()?);
            let mut word = || -> Result<&[u8], Malformed> {
                let end = from.0.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
                from.bytes(end + 1)
            };
            let (program, cwd) = (word()?, word()?);
            let words = from.0;
            let words_count = words.split(|byte| *byte == 0).count() - 1;
            let whole = words.last().is_none_or(|byte| *byte == 0);
            if words_count != count || !whole || arguments > count || arguments == 0 {
                return Err(Malformed);
            }
            let request = Request {
                program,
                cwd,
                stderr_apart: flags & STDERR_APART != 0,
                has_input: flags & HAS_INPUT != 0,
                is_background: flags & IS_BACKGROUND != 0,
                terminal,
                has_notes: flags & HAS_NOTES != 0,
                has_gate: flags & HAS_GATE != 0,
            };
            Ok(HostMessage::Run(RequestFrame { request, arguments, count, words }))
        }
        _ => Err(Malformed),
    }
}
