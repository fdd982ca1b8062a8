//! Starting a background process: until its program has been executed, or that has failed.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{Reply, Request, send};

use super::{ProcessRequest, Stdio};
use crate::confined::{Lease, open_gate, take_worker_for, with_room};
use crate::connections::Connections;
use crate::error::{ExecError, SpawnReason};
use crate::missing::Missing;
use crate::output_mask::OutputMask;
use crate::request::{ExecRequest, Sandbox, Streams};
use crate::running_command::NotRun;
use crate::spawn::{BUSY_PAUSES, find_program, not_started};

/// How often a start looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(10);
/// How long a start that is given up waits until nothing of it is left.
const MAX_END_TIME: Duration = Duration::from_secs(1);
/// How long executing a program may take.
const MAX_START_TIME: Duration = Duration::from_secs(10);

/// A process that runs, with the host's ends of what it reads and writes. None of them blocks.
pub(super) struct Begun {
    pub(super) lease: Lease,
    /// The hosts that it asks for.
    pub(super) connections: Option<Arc<Connections>>,
    /// What is masked of its output.
    pub(super) mask: Option<Arc<OutputMask>>,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: Option<OwnedFd>,
}

pub(super) fn begin(request: &ProcessRequest<'_>) -> Result<Begun, ExecError> {
    let exec = &request.exec;
    exec.check()?;
    let Some(sandbox) = &exec.sandbox else {
        let reason = "a process is kept only by a worker of the sandbox".to_owned();
        return Err(ExecError::unconfined(exec, Missing::program(reason)));
    };
    let started = Instant::now();
    let mut pauses = BUSY_PAUSES.iter();
    loop {
        if exec.cancel.is_cancelled() {
            return Err(ExecError::cancelled_before(exec));
        }
        let program = find_program(exec)?;
        let (step, errno) = match try_begin(request, sandbox, &program)? {
            Ok(begun) => return Ok(begun),
            Err(NotRun::Left | NotRun::Stale) if started.elapsed() < MAX_START_TIME => continue,
            Err(NotRun::Left | NotRun::Stale) => (FailedStep::Other, libc_timed_out()),
            Err(NotRun::Failed(step, errno)) => (step, errno),
        };
        match pauses.next() {
            Some(pause) if step == FailedStep::Execute && errno == Errno::TXTBSY.raw_os_error() => {
                thread::sleep(*pause);
            }
            _ => return Err(not_started(exec, &program, step, errno)),
        }
    }
}

fn libc_timed_out() -> i32 {
    Errno::TIMEDOUT.raw_os_error()
}

fn try_begin(
    request: &ProcessRequest<'_>,
    sandbox: &Sandbox<'_>,
    program: &Path,
) -> Result<Result<Begun, NotRun>, ExecError> {
    let exec = &request.exec;
    let resources = |error: io::Error| ExecError::not_started(exec, SpawnReason::Resources, error);
    let pipes = with_room(|| Pipes::open(request)).map_err(resources)?;
    let gate = open_gate(exec)?;
    let command = Request {
        program: program.as_os_str().as_bytes(),
        cwd: sandbox.below.as_os_str().as_bytes(),
        stderr_apart: pipes.stderr.is_some(),
        has_input: pipes.stdin.is_some(),
        is_background: true,
        terminal: match request.stdio {
            Stdio::Terminal(size) => Some(size),
            Stdio::Pipes { .. } => None,
        },
        has_notes: false,
        has_gate: gate.is_some(),
    };
    let (mut lease, frame) = take_worker_for(&command, sandbox, exec, None)?;
    let theirs: Vec<_> = pipes.theirs().chain(gate.iter().map(AsFd::as_fd)).collect();
    if send(lease.worker(), &frame, &theirs).is_err() {
        lease.worker().kill();
        return Ok(Err(NotRun::Left));
    }
    drop(theirs);
    drop(gate);
    let lost = |source| ExecError::Lost {
        program: exec.cmd.to_owned(),
        output: crate::Output::default(),
        stderr: None,
        source,
    };
    match wait_until_started(&mut lease, exec).map_err(lost)? {
        Waited::Started(terminal) => {
            let ends = pipes.ours(terminal).map_err(resources)?;
            let (stdin, stdout, stderr) = ends;
            let connections = exec.connections.cloned();
            let mask = exec.mask.cloned();
            Ok(Ok(Begun { lease, connections, mask, stdin, stdout, stderr }))
        }
        Waited::NotRun(not_run) => {
            match not_run {
                // It stays with its worker, which runs others.
                NotRun::Failed(..) => lease.release(),
                NotRun::Stale => lease.retire(),
                NotRun::Left => {}
            }
            Ok(Err(not_run))
        }
        Waited::Cancelled => {
            lease.worker().kill_and_wait(MAX_END_TIME);
            Err(ExecError::cancelled_before(exec))
        }
    }
}

enum Waited {
    /// With the host's end of its terminal, if it has one.
    Started(Option<OwnedFd>),
    NotRun(NotRun),
    Cancelled,
}

fn wait_until_started(lease: &mut Lease, exec: &ExecRequest<'_>) -> io::Result<Waited> {
    let started = Instant::now();
    let mut terminal = None;
    loop {
        let worker = lease.worker_mut();
        let reply = match worker.recv(TICK) {
            // It ended while it waited for a command, and never knew this one.
            Err(_) if worker.left_unread() => return Ok(Waited::NotRun(NotRun::Left)),
            reply => reply?,
        };
        match reply {
            None if exec.cancel.is_cancelled() => return Ok(Waited::Cancelled),
            None if started.elapsed() > MAX_START_TIME => {
                worker.kill();
                return Err(io::ErrorKind::TimedOut.into());
            }
            None => {}
            Some(Reply::Terminal) => terminal = worker.take_descriptor(),
            Some(Reply::Started) => return Ok(Waited::Started(terminal)),
            Some(Reply::NotRun(step, errno)) => {
                return Ok(Waited::NotRun(NotRun::Failed(step, errno)));
            }
            Some(Reply::Goodbye) => return Ok(Waited::NotRun(NotRun::Left)),
            Some(Reply::Stale) => return Ok(Waited::NotRun(NotRun::Stale)),
            Some(_) => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The pipes of a process, both ends of each.
struct Pipes {
    stdout: Option<(PipeReader, PipeWriter)>,
    stderr: Option<(PipeReader, PipeWriter)>,
    stdin: Option<(PipeReader, PipeWriter)>,
}

impl Pipes {
    fn open(request: &ProcessRequest<'_>) -> io::Result<Self> {
        let pipe = |is_needed: bool| is_needed.then(io::pipe).transpose();
        match request.stdio {
            Stdio::Terminal(_) => Ok(Self { stdout: None, stderr: None, stdin: None }),
            Stdio::Pipes { has_input } => Ok(Self {
                stdout: pipe(true)?,
                stderr: pipe(request.exec.streams == Streams::Apart)?,
                stdin: pipe(has_input)?,
            }),
        }
    }

    /// The ends of the process, in the order in which the worker takes them.
    fn theirs(&self) -> impl Iterator<Item = std::os::fd::BorrowedFd<'_>> {
        let outputs = [&self.stdout, &self.stderr].into_iter().flatten();
        outputs
            .map(|(_, writer)| writer.as_fd())
            .chain(self.stdin.iter().map(|(reader, _)| reader.as_fd()))
    }

    /// The ends of the host; those of the process close.
    fn ours(
        self,
        terminal: Option<OwnedFd>,
    ) -> io::Result<(Option<OwnedFd>, OwnedFd, Option<OwnedFd>)> {
        let reader =
            |pipe: Option<(PipeReader, PipeWriter)>| pipe.map(|(end, _)| OwnedFd::from(end));
        let (stdin, stdout, stderr) = if let Some(terminal) = terminal {
            // Two descriptors, each of which is waited for by itself.
            (Some(terminal.try_clone()?), Some(terminal), None)
        } else {
            let stdin = self.stdin.map(|(_, end)| OwnedFd::from(end));
            (stdin, reader(self.stdout), reader(self.stderr))
        };
        let stdout = stdout.ok_or(io::ErrorKind::InvalidData)?;
        for end in [&stdin, &stderr].into_iter().flatten().chain([&stdout]) {
            ioctl_fionbio(end, true)?;
        }
        Ok((stdin, stdout, stderr))
    }
}
