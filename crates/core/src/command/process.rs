//! A program or a command line as a background process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use toolwright_exec::process::{
    LogLimits, Process, ProcessEnd, ProcessRequest, Stdio, unnamed_file,
};
use toolwright_exec::{
    Cancel, CancelSource as _, ExecError, ExecRequest, Sink as _, Split, StoppedBy, Stream, Streams,
};

use super::environment::Variables;
use super::follow::{Changes, Followed, exit, follow};
use super::live_output::{LiveOutput, LiveSink};
use super::program::{self, Ended, Program, ProgramSettings};
use super::shell::{self, CommandLine, End, ShellOutput};
use crate::access::target::Target;
use crate::failure::{Unfinished, commands, files};
use crate::sidecar::LazySidecar;
use crate::{text, voice};

/// How a background process runs, and how much of its output stays.
#[derive(Debug, Clone)]
pub struct BackgroundOptions {
    /// What it reads from and writes to.
    pub stdio: Stdio,
    /// Whether stderr is a stream of its own.
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
        let streams = if self.is_stderr_apart { Streams::Apart } else { Streams::Joined };
        let stderr = if self.is_stderr_apart { self.limits()? } else { LogLimits::default() };
        let exec = ExecRequest { streams, ..exec };
        Ok(ProcessRequest { exec, stdio: self.stdio, stdout: self.limits()?, stderr })
    }
}

/// A command that was followed until its end or its timeout.
#[derive(Debug)]
pub enum CommandOutcome<T> {
    /// It has ended.
    Ended(T),
    /// Its time is over, and it goes on; with what there is of it until then.
    Background(T, Process),
}

/// What of the changes of a process to git's configuration stayed in the sandbox, for a model.
#[must_use]
pub fn git_notes(end: &ProcessEnd) -> Vec<String> {
    voice::git::notes(&end.git)
}

/// Runs a program, which goes on as a background process when its time is over. Until then it is one of
/// [`program::run`], with the same results and errors.
pub fn run_program(
    settings: &ProgramSettings,
    program: &Program,
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<CommandOutcome<Ended>, Unfinished> {
    let placed = program::place(settings, program, host)?;
    let limit = settings.max_output_bytes;
    // All of an output within the limit is in memory, and both ends of a longer one.
    let options = BackgroundOptions {
        is_stderr_apart: false,
        head_bytes: options.head_bytes.max(limit),
        tail_bytes: options.tail_bytes.max(limit),
        ..options.clone()
    };
    let (process, news) = {
        let launch = program::launch(settings, program, host, &placed.directory, &placed.plan);
        let request = options.request(launch.request(cancel))?;
        let (news, tell) = notifier(changed);
        let started = Process::start(request, tell);
        let process = started.map_err(|error| match error {
            ExecError::Cancelled { .. } => Unfinished::Cancelled,
            error => program::failed_start(error, program, &placed).into(),
        })?;
        (process, news)
    };
    let deadline = Instant::now().checked_add(settings.timeout);
    let followed = follow(&process, &news, &[], deadline, cancel, |_| ());
    let output = visible_output(&process, limit);
    match followed {
        Followed::Ended(mut end) => {
            let left_running = end.left_running;
            let git = std::mem::take(&mut end.git);
            program::concluded(program, &exit(end), output, left_running, &git, &placed.plan)
                .map(CommandOutcome::Ended)
                .map_err(Unfinished::from)
        }
        Followed::Late => {
            let git_notes = Vec::new();
            let so_far = Ended::Success { output, left_running: 0, git_notes };
            Ok(CommandOutcome::Background(so_far, process))
        }
        Followed::Stopped => Ok(CommandOutcome::Ended(Ended::Cancelled { output })),
    }
}

/// What is shown of the output of a process so far.
fn visible_output(process: &Process, limit: usize) -> String {
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
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    live: Option<&LiveOutput>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<CommandOutcome<ShellOutput>, Unfinished> {
    let placed = shell::place(workdir, command, host)?;
    let not_run = |error: ExecError| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    };
    let (process, news) = {
        let (program, args) = shell::shell(command);
        let launch = shell::launch(command, host, program, &args, &placed.directory, &placed.plan);
        let options = BackgroundOptions { is_stderr_apart: true, ..options.clone() };
        let request = options.request(launch.request(cancel))?;
        let (news, tell) = notifier(changed);
        (Process::start(request, tell).map_err(not_run)?, news)
    };
    let stop = AtomicBool::new(false);
    let mut sidecar = LazySidecar::new(&command.sidecar);
    let mut split = Split::new(command.head_bytes, Some(&mut sidecar), &stop);
    let mut sink = LiveSink { sink: &mut split, live };
    let deadline = Instant::now().checked_add(command.timeout);
    let streams = [Stream::Stdout, Stream::Stderr];
    let stopped_by = StoppedBy { cancel, stop: &stop };
    let followed =
        follow(&process, &news, &streams, deadline, &stopped_by, |chunk| sink.push(chunk));
    let head = split.into_head();
    let mut git = Vec::new();
    let (end, left_running, goes_on) = match followed {
        Followed::Ended(mut end) => {
            let left_running = end.left_running;
            git = std::mem::take(&mut end.git);
            (shell::end_of(exit(end)), left_running, false)
        }
        Followed::Late => (End::TimedOut, 0, true),
        Followed::Stopped if cancel.is_cancelled() => return Err(Unfinished::Cancelled),
        Followed::Stopped => (End::Signal("SIGKILL".to_owned()), 0, false),
    };
    let output = shell::output(command, &placed, head, end, left_running, &git, sidecar);
    Ok(if goes_on {
        CommandOutcome::Background(output, process)
    } else {
        CommandOutcome::Ended(output)
    })
}

/// What wakes the thread that follows a process, and tells of its changes besides.
fn notifier(
    changed: impl Fn() + Send + Sync + 'static,
) -> (Changes, impl Fn() + Send + Sync + 'static) {
    let news = Changes::default();
    let notify = news.clone();
    (news, move || {
        notify.tell();
        changed();
    })
}

/// Starts a program of the tools. `changed` is called after each change, on other threads. The
/// cancellation ends the start; the process ends by its own, when it is killed, and with the result.
pub fn start_program(
    settings: &ProgramSettings,
    program: &Program,
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<Process, Unfinished> {
    let placed = program::place(settings, program, host)?;
    let launch = program::launch(settings, program, host, &placed.directory, &placed.plan);
    let request = options.request(launch.request(cancel))?;
    Process::start(request, changed).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::program_not_run(&error, program, &placed.directory).into(),
    })
}

/// Starts a command line of a session, as [`start_program`] does. Neither its timeout nor what is said of
/// its output applies.
pub fn start_line(
    workdir: &Target,
    command: &CommandLine,
    options: &BackgroundOptions,
    host: &Arc<Variables>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<Process, Unfinished> {
    let placed = shell::place(workdir, command, host)?;
    let (program, args) = shell::shell(command);
    let launch = shell::launch(command, host, program, &args, &placed.directory, &placed.plan);
    let request = options.request(launch.request(cancel))?;
    Process::start(request, changed).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    })
}
