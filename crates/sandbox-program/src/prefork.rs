//! The process that waits for a command and becomes it.
//!
//! The worker makes it before the host asks for a command, so that only the program is left to
//! execute. Until then it shares the memory of the worker, which copies nothing and sleeps. It has
//! descriptors of its own. The worker never holds the pipes of the command, so they end with it.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::{io, ptr};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{
    HostMessage, Inbox, Progress, Reply, Request, read_request_frame, send,
};

use crate::command::wait_for;
use crate::errno;
use crate::observe::InputFile;
use crate::start::{Start, confine, execute};
use crate::terminal::Terminal;
use crate::worker::Worker;

/// Where the process runs until it executes the program.
pub(crate) struct Stack(*mut c_void);

const STACK: usize = 256 << 10;

impl Stack {
    pub(crate) fn new() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::STACK;
        // SAFETY: a new mapping that nothing else knows of.
        Ok(Self(unsafe { mmap_anonymous(ptr::null_mut(), STACK, access, flags)? }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkOutcome {
    Command {
        leader: Pid,
        /// Whether the host keeps it running.
        is_background: bool,
        input: Option<InputFile>,
    },
    /// Nothing: this failed.
    Failed(FailedStep, i32),
    /// There was no process for a command, and none was asked for. It may be tried again.
    Retry,
    /// No command was asked for within the time to wait.
    Idle,
    HostGone,
    /// The tree no longer matches the plan.
    Stale,
}

/// What the process and the worker share, in turn. The worker has it back when the process has
/// executed the program or ended.
struct Shared<'w> {
    worker: &'w Worker,
    inbox: &'w mut Inbox,
    idle_ms: u32,
    /// Closed by executing the program, and by ending.
    executed: RawFd,
    /// The request, and pointers to its words.
    content: Vec<u8>,
    words: Vec<*const c_char>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for a command, or the request was malformed.
    Waiting,
    Executing {
        is_background: bool,
        input: Option<InputFile>,
    },
    Over(ForkOutcome),
}

pub(crate) fn wait_for_command(
    worker: &Worker,
    inbox: &mut Inbox,
    idle_ms: u32,
) -> io::Result<ForkOutcome> {
    let expendable = worker.limits.expendable();
    let mut shared = Shared {
        worker,
        inbox,
        idle_ms,
        executed: -1,
        content: Vec::new(),
        words: Vec::new(),
        stage: Stage::Waiting,
    };
    let (pid, executing) = match make_process(&mut shared) {
        Ok(made) => made,
        // There may be room for a process when one is needed.
        Err(_) if !wait_for(shared.inbox.as_fd(), idle_ms.into())? => return Ok(ForkOutcome::Idle),
        Err(_) => match make_process(&mut shared) {
            Ok(made) => made,
            Err(errno) => return refuse(shared.inbox, errno),
        },
    };
    let left = retry_on_intr(|| poll(&mut [PollFd::new(&executing, PollFlags::IN)], None));
    if left.is_err() {
        // Nothing may be gone that it still uses.
        let _ = kill_process(pid, Signal::KILL);
        let _ = waitpid(Some(pid), WaitOptions::empty());
        left?;
    }
    // SAFETY: a local. The process, which has written to it, has it no longer.
    let stage = unsafe { (&raw const shared.stage).read_volatile() };
    drop(expendable);
    if let Stage::Executing { is_background, input } = stage {
        return Ok(ForkOutcome::Command { leader: pid, is_background, input });
    }
    let _ = waitpid(Some(pid), WaitOptions::empty());
    match stage {
        Stage::Over(outcome) => Ok(outcome),
        Stage::Waiting | Stage::Executing { .. } => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Makes the process, and returns a pipe that closes when the process executes the program or ends.
fn make_process(shared: &mut Shared<'_>) -> Result<(Pid, OwnedFd), i32> {
    let (executing, executed) = pipe_with(PipeFlags::CLOEXEC).map_err(Errno::raw_os_error)?;
    shared.executed = executed.as_raw_fd();
    let flags = libc::CLONE_VM | libc::SIGCHLD;
    // SAFETY: the stack stays mapped for the life of the worker, and one process at a time uses it,
    // because the worker sleeps until that process has left it. `shared` outlives its use for the
    // same reason.
    let pid = unsafe {
        let top = shared.worker.stack.0.byte_add(STACK);
        libc::clone(in_process, top, flags, ptr::from_mut(shared).cast())
    };
    match Pid::from_raw(pid.max(0)) {
        Some(pid) => Ok((pid, executing)),
        None => Err(errno::last().raw_os_error()),
    }
}

/// Takes the request that cannot be met.
fn refuse(inbox: &mut Inbox, errno: i32) -> io::Result<ForkOutcome> {
    let mut content = inbox.wait()?;
    while let Some(message) = content {
        if let HostMessage::Run(_) = read_request_frame(&message).map_err(io::Error::other)? {
            while inbox.take_descriptor().is_some() {}
            return Ok(ForkOutcome::Failed(FailedStep::Fork, errno));
        }
        // It came too late for the command before this. There may be room by the next one.
        content = inbox.take().map_err(io::Error::other)?;
        if content.is_none() {
            return Ok(ForkOutcome::Retry);
        }
    }
    Ok(ForkOutcome::HostGone)
}

extern "C" fn in_process(shared: *mut c_void) -> c_int {
    // SAFETY: `make_process` passes this, and the worker sleeps until this process has left it.
    let shared: &mut Shared<'_> = unsafe { &mut *shared.cast() };
    if let Ok(outcome) = become_command(shared) {
        shared.stage = Stage::Over(outcome);
    }
    // SAFETY: `_exit` ends this process without running the handlers that the worker has
    // registered.
    unsafe { libc::_exit(127) }
}

/// Comes back only if it has not become one.
fn become_command(shared: &mut Shared<'_>) -> io::Result<ForkOutcome> {
    let worker = shared.worker;
    let confined = confine(worker);
    let frame = loop {
        // The frame may have arrived together with an earlier one.
        if let Some(content) = shared.inbox.take().map_err(io::Error::other)? {
            shared.content = content;
            match read_request_frame(&shared.content).map_err(io::Error::other)? {
                HostMessage::Run(frame) => break frame,
                // It came too late for the command before this.
                _ => continue,
            }
        }
        if !wait_for(shared.inbox.as_fd(), shared.idle_ms.into())? {
            return Ok(ForkOutcome::Idle);
        }
        if shared.inbox.fill(false)? == Progress::Closed {
            return Ok(ForkOutcome::HostGone);
        }
    };
    let Request { stderr_apart, has_input, is_background, terminal, has_notes, has_gate, .. } =
        frame.request;
    let mut pipe = |is_there: bool| is_there.then(|| shared.inbox.take_descriptor()).flatten();
    let (stdout, stderr) = (pipe(terminal.is_none()), pipe(stderr_apart));
    let mut stdin = pipe(has_input);
    let notes = pipe(has_notes);
    let gate = pipe(has_gate);
    // Descriptors are not shared: their numbers mean something else to the worker.
    while shared.inbox.take_descriptor().is_some() {}
    if let Err((step, errno)) = confined {
        return Ok(ForkOutcome::Failed(step, errno));
    }
    // Set before the check of the tree: the supervisor covers again whatever is lost after it.
    worker.activity.set(true);
    if worker.is_stale()? {
        return Ok(ForkOutcome::Stale);
    }
    let stdout = if let Some(size) = terminal {
        let opened = Terminal::open(size);
        let Terminal { host_end, own_end } = match opened {
            Ok(terminal) => terminal,
            Err(errno) => {
                return Ok(ForkOutcome::Failed(FailedStep::Terminal, errno.raw_os_error()));
            }
        };
        send(&*shared.inbox, &Reply::Terminal.frame(), &[host_end.as_fd()])?;
        stdin = Some(own_end.try_clone()?);
        Some(own_end)
    } else {
        stdout
    };
    let Some(stdout) = stdout else {
        return Ok(ForkOutcome::Failed(FailedStep::Other, libc::EINVAL));
    };
    let words = &mut shared.words;
    words.reserve(frame.count + 3);
    for (index, word) in frame.words.split_inclusive(|byte| *byte == 0).enumerate() {
        if index == frame.arguments {
            words.push(ptr::null());
        }
        // Without the NUL at its end.
        if index < frame.arguments || worker.temporary.passes(&word[..word.len() - 1]) {
            words.push(word.as_ptr().cast());
        }
    }
    if frame.count == frame.arguments {
        words.push(ptr::null());
    }
    words.extend(worker.temporary.added().map(|variable| variable.as_ptr()));
    words.push(ptr::null());
    // SAFETY: it is open in this process until that executes the program or ends.
    let executed = unsafe { BorrowedFd::borrow_raw(shared.executed) };
    let start = Start {
        cwd: frame.request.cwd.as_ptr().cast(),
        program: frame.request.program.as_ptr().cast(),
        arguments: words.as_ptr(),
        variables: words[frame.arguments + 1..].as_ptr(),
        stdin: stdin.as_ref().map(AsFd::as_fd),
        has_terminal: terminal.is_some(),
        stdout: stdout.as_fd(),
        stderr: stderr.as_ref().unwrap_or(&stdout).as_fd(),
        notes: notes.as_ref().map(AsFd::as_fd),
        gate: gate.as_ref().map(AsFd::as_fd),
        executed,
    };
    let input = stdin.as_ref().filter(|_| is_background);
    let input = input.map(|file| InputFile::of(file.as_fd(), terminal.is_some())).transpose()?;
    // SAFETY: the pointer is to a field that only this process uses now. The worker reads it once
    // this process can no longer write to it.
    unsafe { (&raw mut shared.stage).write_volatile(Stage::Executing { is_background, input }) };
    let (step, errno) = execute(worker, &start);
    Ok(ForkOutcome::Failed(step, errno))
}
