//! A program or a command line as a background process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use toolwright_exec::process::{
    Facts, LogLimits, Process, ProcessEnd, ProcessRequest, Stdio, unnamed_file,
};
use toolwright_exec::{
    Cancel, CancelSource as _, ExecError, ExecRequest, Sink as _, Split, StoppedBy, Stream,
    Streams, screen,
};

use super::credentials;
use super::end::End;
use super::environment::{self, Variables};
use super::follow::{Changes, Followed, exit, follow};
use super::kept::KeptProcess;
use super::live_output::{LiveOutput, LiveSink};
use super::output::{CommandOutput, Noted};
use super::program::{self, Program, ProgramSettings, Succeeded};
use super::running::Place;
use super::shell::{self, CommandLine};
use crate::access::target::Target;
use crate::failure::{Unfinished, commands, files};
use crate::sidecar::LazySidecar;
use crate::voice::Door;
use crate::{denials, text, voice};

/// How a background process runs, and how much of its output stays.
#[derive(Debug, Clone)]
pub struct BackgroundOptions {
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

impl BackgroundOptions {
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
pub struct CommandOutcome<T> {
    /// What there is of it until then.
    pub output: T,
    /// The process that goes on, if it has not ended.
    pub process: Option<Arc<KeptProcess>>,
}

/// What the sandbox has noted of a process. What it printed is not looked at.
#[must_use]
pub fn noted(end: &ProcessEnd) -> Noted {
    let full = end.usage.facts.fork_full;
    let mut notes = voice::notes_of_command(&end.git, &end.connections, Door::Tools);
    notes.extend(full.map(voice::refusals::fork_is_full));
    let mut denials = denials::of_connections(&end.connections);
    denials.extend(full.map(|_| denials::fork_is_full(Door::Tools)));
    Noted { notes, connections: end.connections.clone(), denials, ..Noted::default() }
}

impl<T> CommandOutcome<T> {
    /// A command that has ended.
    fn ended(output: T) -> Self {
        Self { output, process: None }
    }
}

/// Runs a program. With `options` it goes on as a background process when its time is over; until then,
/// and without them, it is one of [`program::run`], with the same results and errors.
pub fn run_program(
    settings: &ProgramSettings,
    program: &Program,
    options: Option<&BackgroundOptions>,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<CommandOutcome<Succeeded>, Unfinished> {
    let Some(options) = options else {
        return program::run(settings, program, host, cancel, None).map(CommandOutcome::ended);
    };
    let placed = program::place(settings, program, host)?;
    let limit = settings.max_output_bytes;
    // All of an output within the limit is in memory, and both ends of a longer one.
    let options = BackgroundOptions {
        is_stderr_apart: false,
        head_bytes: options.head_bytes.max(limit),
        tail_bytes: options.tail_bytes.max(limit),
        ..options.clone()
    };
    let changes = Changes::default();
    let kept = {
        let launch = program::launch(settings, program, &placed);
        let request = options.request(launch.request(cancel))?;
        let started = KeptProcess::start(request, changes.waker());
        started.map_err(|error| match error {
            ExecError::Cancelled { .. } => Unfinished::Cancelled,
            error => program::failed_start(error, program, &placed).into(),
        })?
    };
    let process = &kept.process;
    let deadline = Instant::now().checked_add(settings.timeout);
    let followed = follow(process, &changes, &[], deadline, cancel, |_| ());
    let output = visible_output(process, limit);
    match followed {
        Followed::Ended(mut end) => {
            let left_running = end.left_running;
            let git = std::mem::take(&mut end.git);
            let reports = (&*git, end.usage.facts);
            program::concluded(program, exit(end), output, left_running, reports, &placed)
                .map(CommandOutcome::ended)
                .map_err(Unfinished::from)
        }
        Followed::Late => {
            let process = Some(options.place.fill(kept));
            let noted = Noted::default().with_masked(placed.mask.as_ref());
            let output = Succeeded { output, left_running: 0, noted };
            Ok(CommandOutcome { output, process })
        }
        Followed::Stopped => Err(Unfinished::Stopped { output }),
    }
}

/// What is shown of the output of a process so far.
fn visible_output(process: &Process, limit: usize) -> String {
    let first = process.read(Stream::Joined, 0, limit);
    if first.total <= limit as u64 {
        return text::within(screen::text(&first.bytes).into_owned(), limit);
    }
    let room = text::head_room(limit);
    let tail_from = first.total - (limit - room) as u64;
    let tail = process.read(Stream::Joined, tail_from, limit - room);
    let first_bytes = &first.bytes[..room.min(first.bytes.len())];
    let (head, end) = (screen::text(first_bytes), screen::text(&tail.bytes));
    let drawn_over = first_bytes.len() - head.len() + tail.bytes.len() - end.len();
    let total = first.total - drawn_over as u64;
    text::within(text::both_ends(&head, &end, total, limit), limit)
}

/// Runs a command line of a session, as [`run_program`] does: one of [`shell::run`] until its time is over.
pub fn run_line(
    workdir: &Target,
    command: &CommandLine,
    options: Option<&BackgroundOptions>,
    host: &Arc<Variables>,
    live: Option<&LiveOutput>,
    cancel: &Cancel,
) -> Result<CommandOutcome<CommandOutput>, Unfinished> {
    let Some(options) = options else {
        return shell::run(workdir, command, host, live, cancel).map(CommandOutcome::ended);
    };
    let placed = shell::place(workdir, command, host)?;
    let not_run = |error: ExecError| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    };
    let changes = Changes::default();
    let kept = {
        let (program, args) = shell::shell(command);
        let launch = shell::launch(command, program, &args, &placed);
        let options = BackgroundOptions { is_stderr_apart: true, ..options.clone() };
        let request = options.request(launch.request(cancel))?;
        KeptProcess::start(request, changes.waker()).map_err(not_run)?
    };
    let stop = AtomicBool::new(false);
    let mut sidecar = LazySidecar::new(&command.sidecar);
    let mut split = Split::new(command.head_bytes, Some(&mut sidecar), &stop);
    let mut sink = LiveSink { sink: &mut split, live };
    let deadline = Instant::now().checked_add(command.timeout);
    let streams = [Stream::Stdout, Stream::Stderr];
    let stopped_by = StoppedBy { cancel, stop: &stop };
    let followed =
        follow(&kept.process, &changes, &streams, deadline, &stopped_by, |chunk| sink.push(chunk));
    let head = split.into_head();
    let (mut git, mut facts) = (Vec::new(), Facts::default());
    let (end, left_running, goes_on) = match followed {
        Followed::Ended(mut end) => {
            let left_running = end.left_running;
            git = std::mem::take(&mut end.git);
            facts = end.usage.facts;
            (End::Exited(exit(end)), left_running, false)
        }
        Followed::Late => (End::TimedOut, 0, true),
        Followed::Stopped if cancel.is_cancelled() => return Err(Unfinished::Cancelled),
        Followed::Stopped => (End::killed(), 0, false),
    };
    let output = shell::output(command, &placed, head, end, left_running, (&git, facts), sidecar);
    Ok(CommandOutcome { output, process: goes_on.then(|| options.place.fill(kept)) })
}

/// Starts a program of the tools. The cancellation ends the start; the process ends by its own, when it is
/// killed, and with the result.
pub fn start_program(
    settings: &ProgramSettings,
    program: &Program,
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<Arc<KeptProcess>, Unfinished> {
    let placed = program::place(settings, program, host)?;
    let mut launch = program::launch(settings, program, &placed);
    if let Stdio::Terminal(_) = options.stdio {
        let policy = settings.environment.with_terminal();
        let passed = environment::of_command(&policy, host, &placed.directory.path);
        launch.variables = credentials::variables(settings.sandbox.credentials(), passed);
    }
    let request = options.request(launch.request(cancel))?;
    let started = KeptProcess::start(request, || ()).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::program_not_run(&error, program, &placed.directory).into(),
    })?;
    Ok(options.place.fill(started))
}

/// Starts a command line of a session, as [`start_program`] does. Neither its timeout nor what is said of
/// its output applies.
pub fn start_line(
    workdir: &Target,
    command: &CommandLine,
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<Arc<KeptProcess>, Unfinished> {
    let placed = shell::place(workdir, command, host)?;
    let (program, args) = shell::shell(command);
    let mut launch = shell::launch(command, program, &args, &placed);
    if let Stdio::Terminal(_) = options.stdio {
        let policy = command.environment.with_terminal();
        let passed = environment::of_shell(&policy, host, &placed.directory.path);
        launch.variables = credentials::variables(command.options.credentials(), passed);
    }
    let request = options.request(launch.request(cancel))?;
    let started = KeptProcess::start(request, || ()).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    })?;
    Ok(options.place.fill(started))
}
