//! A program or a command line as a process that goes on after its call.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use toolwright_exec::process::{LogLimits, Process, ProcessRequest, Stdio, unnamed_file};
use toolwright_exec::{
    Cancel, CancelSource as _, ExecError, ExecRequest, Sink as _, Split, StoppedBy, Stream, Streams,
};

use super::end::{CommandOutput, End};
use super::environment::Variables;
use super::follow::{Changes, Followed, exit, follow};
use super::kept::KeptProcess;
use super::live_output::{LiveOutput, Shown};
use super::program::{self, Program, ProgramSettings, Succeeded};
use super::running::Place;
use super::shell::{self, CommandLine};
use crate::access::target::Target;
use crate::failure::{Unfinished, commands, files};
use crate::sidecar::LazySidecar;
use crate::text;

/// How a process is kept.
#[derive(Debug, Clone)]
pub struct Keeping {
    /// Its place among what an environment has running.
    pub place: Place,
    /// What it reads from and writes to.
    pub stdio: Stdio,
    /// Whether stderr is a stream of its own; never with a terminal.
    pub is_stderr_apart: bool,
    /// How much of the beginning of each stream stays in memory.
    pub head_bytes: usize,
    /// How much of the end of each stream stays in memory.
    pub tail_bytes: usize,
    /// Whether the process waits when that much has not been read.
    pub holds: bool,
    /// How much of each stream goes to a file without a name; 0 is no file.
    pub file_bytes: u64,
    /// Where these files are; the system's temporary directory without one.
    pub file_directory: Option<PathBuf>,
}

impl Keeping {
    fn limits(&self) -> Result<LogLimits, Unfinished> {
        let file = if self.file_bytes == 0 {
            None
        } else {
            let directory = self.file_directory.clone().unwrap_or_else(std::env::temp_dir);
            Some(unnamed_file(&directory).map_err(|error| files::output_not_kept(&error))?)
        };
        let &Self { head_bytes, tail_bytes, holds, file_bytes, .. } = self;
        Ok(LogLimits { head_bytes, tail_bytes, holds, file, file_bytes })
    }

    fn request<'a>(&self, exec: ExecRequest<'a>) -> Result<ProcessRequest<'a>, Unfinished> {
        let is_apart = self.is_stderr_apart && !matches!(self.stdio, Stdio::Terminal(_));
        let streams = if is_apart { Streams::Apart } else { Streams::Joined };
        let stderr = if is_apart { self.limits()? } else { LogLimits::default() };
        let exec = ExecRequest { streams, ..exec };
        Ok(ProcessRequest { exec, stdio: self.stdio, stdout: self.limits()?, stderr })
    }
}

/// A command that was followed until its end or its timeout.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What there is of it until then.
    pub output: T,
    /// The process that goes on, if it has not ended.
    pub process: Option<Arc<KeptProcess>>,
}

impl<T> Outcome<T> {
    /// A command that has ended.
    fn ended(output: T) -> Self {
        Self { output, process: None }
    }
}

/// Runs a program. With `keeping` it goes on as a process when its time is over; until then, and without
/// it, it is one of [`program::run`], with the same results and errors.
pub fn run_program(
    settings: &ProgramSettings,
    program: &Program,
    keeping: Option<&Keeping>,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<Outcome<Succeeded>, Unfinished> {
    let Some(keeping) = keeping else {
        return program::run(settings, program, host, cancel, None).map(Outcome::ended);
    };
    let placed = program::place(settings, program, host)?;
    let limit = settings.max_output_bytes;
    // All of an output within the limit is in memory, and both ends of a longer one.
    let keeping = Keeping {
        is_stderr_apart: false,
        head_bytes: keeping.head_bytes.max(limit),
        tail_bytes: keeping.tail_bytes.max(limit),
        ..keeping.clone()
    };
    let changes = Changes::default();
    let kept = {
        let launch = program::launch(settings, program, host, &placed.directory, &placed.plan);
        let request = keeping.request(launch.request(cancel))?;
        let started = KeptProcess::start(request, changes.waker());
        started.map_err(|error| match error {
            ExecError::Cancelled { .. } => Unfinished::Cancelled,
            error => program::failed_start(error, program, &placed).into(),
        })?
    };
    let process = &kept.process;
    let deadline = Instant::now().checked_add(settings.timeout);
    let followed = follow(process, &changes, &[], deadline, cancel, |_| ());
    let output = shown(process, limit);
    match followed {
        Followed::Ended(end) => {
            let left_running = end.left_running;
            program::concluded(program, &exit(end), output, left_running, &placed.plan)
                .map(Outcome::ended)
                .map_err(Unfinished::from)
        }
        Followed::Late => {
            let process = Some(keeping.place.fill(kept));
            Ok(Outcome { output: Succeeded { output, left_running: 0 }, process })
        }
        Followed::Stopped => Err(Unfinished::Stopped { output }),
    }
}

/// What is shown of the output of a process so far.
fn shown(process: &Process, limit: usize) -> String {
    let first = process.read(Stream::Joined, 0, limit);
    if first.total <= limit as u64 {
        return text::within(first.bytes, limit);
    }
    let room = text::head_room(limit);
    let tail_from = first.total - (limit - room) as u64;
    let tail = process.read(Stream::Joined, tail_from, limit - room);
    let head = &first.bytes[..room.min(first.bytes.len())];
    text::within(text::both_ends(head, &tail.bytes, first.total, limit), limit)
}

/// Runs a command line of a session, as [`run_program`] does: one of [`shell::run`] until its time is over.
pub fn run_line(
    workdir: &Target,
    command: &CommandLine,
    keeping: Option<&Keeping>,
    host: &Arc<Variables>,
    live: Option<&LiveOutput>,
    cancel: &Cancel,
) -> Result<Outcome<CommandOutput>, Unfinished> {
    let Some(keeping) = keeping else {
        return shell::run(workdir, command, host, live, cancel).map(Outcome::ended);
    };
    let placed = shell::place(workdir, command, host)?;
    let not_run = |error: ExecError| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    };
    let changes = Changes::default();
    let kept = {
        let (program, args) = shell::shell(command);
        let launch = shell::launch(command, host, program, &args, &placed.directory, &placed.plan);
        let keeping = Keeping { is_stderr_apart: true, ..keeping.clone() };
        let request = keeping.request(launch.request(cancel))?;
        KeptProcess::start(request, changes.waker()).map_err(not_run)?
    };
    let stop = AtomicBool::new(false);
    let mut sidecar = LazySidecar::new(&command.sidecar);
    let mut split = Split::new(command.head_bytes, Some(&mut sidecar), &stop);
    let mut shown = Shown { sink: &mut split, live };
    let deadline = Instant::now().checked_add(command.timeout);
    let streams = [Stream::Stdout, Stream::Stderr];
    let stopped_by = StoppedBy { cancel, stop: &stop };
    let followed =
        follow(&kept.process, &changes, &streams, deadline, &stopped_by, |chunk| shown.push(chunk));
    let head = split.into_head();
    let (end, left_running, goes_on) = match followed {
        Followed::Ended(end) => {
            let left_running = end.left_running;
            (End::Exited(exit(end)), left_running, false)
        }
        Followed::Late => (End::TimedOut, 0, true),
        Followed::Stopped if cancel.is_cancelled() => return Err(Unfinished::Cancelled),
        Followed::Stopped => (End::killed(), 0, false),
    };
    let output = shell::output(command, &placed, head, end, left_running, sidecar);
    Ok(Outcome { output, process: goes_on.then(|| keeping.place.fill(kept)) })
}

/// Starts a program of the tools. The cancellation ends the start; the process ends by its own, when it is
/// killed, and with the result.
pub fn start_program(
    settings: &ProgramSettings,
    program: &Program,
    keeping: &Keeping,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<Arc<KeptProcess>, Unfinished> {
    let placed = program::place(settings, program, host)?;
    let launch = program::launch(settings, program, host, &placed.directory, &placed.plan);
    let request = keeping.request(launch.request(cancel))?;
    let started = KeptProcess::start(request, || ()).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::program_not_run(&error, program, &placed.directory).into(),
    })?;
    Ok(keeping.place.fill(started))
}

/// Starts a command line of a session, as [`start_program`] does. Neither its timeout nor what is said of
/// its output applies.
pub fn start_line(
    workdir: &Target,
    command: &CommandLine,
    keeping: &Keeping,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<Arc<KeptProcess>, Unfinished> {
    let placed = shell::place(workdir, command, host)?;
    let (program, args) = shell::shell(command);
    let launch = shell::launch(command, host, program, &args, &placed.directory, &placed.plan);
    let request = keeping.request(launch.request(cancel))?;
    let started = KeptProcess::start(request, || ()).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    })?;
    Ok(keeping.place.fill(started))
}
