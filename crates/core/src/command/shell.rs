//! A command line through a shell: `bash` of a session.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toolwright_exec::{
    Cancel, ExecError, ExecRequest, Exit, Finished, Head, Overflow, Split, StoppedBy, Streams,
};
use toolwright_sandbox::plan::Plan;

use super::environment::{self, Policy, Variables};
use super::launch::{Directory, Launch};
use super::session::{OpenDirectories, SessionOptions};
use crate::access::target::Target;
use crate::failure::{Failure, Unfinished, commands};
use crate::sidecar::{LazySidecar, SidecarFile, SidecarRequest};
use crate::text;
use crate::voice::Door;
use crate::voice::refusals::{Ending, explain, explain_line};

/// A command line and its conditions.
#[derive(Debug)]
pub struct CommandLine {
    /// For the shell's `-c`.
    pub line: String,
    /// The path of a bash; without it the line is for `sh`.
    pub bash: Option<String>,
    /// Which variables it sees.
    pub environment: Policy,
    /// What it may do.
    pub options: SessionOptions,
    /// When the command and its children are killed.
    pub timeout: Duration,
    /// How much output is given back, of both streams together.
    pub head_bytes: usize,
    /// Where all of it goes when there is more.
    pub sidecar: Option<SidecarRequest>,
}

/// What a command line printed, and how it ended.
#[derive(Debug)]
pub struct ShellOutput {
    /// What it wrote there, or the beginning.
    pub stdout: String,
    /// What it wrote there, or the beginning.
    pub stderr: String,
    /// It wrote more than is given back.
    pub truncated: bool,
    /// Where all of it is, in the order of arrival, or why it is nowhere.
    pub sidecar: Option<Result<SidecarFile, Failure>>,
    /// How it ended, or why it was not run.
    pub end: Result<End, Failure>,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed.
    pub left_running: u32,
    /// How long it ran.
    pub duration: Duration,
}

/// How a command line ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(String),
    /// By its timeout.
    TimedOut,
    /// By a cancellation.
    Cancelled,
}

/// Runs a command line in a directory that was opened as `workdir`. A command that writes more than its
/// sidecar takes is stopped.
pub fn run(
    workdir: &Target,
    command: &CommandLine,
    host: &Arc<Variables>,
    cancel: &Cancel,
) -> Result<ShellOutput, Unfinished> {
    let open = OpenDirectories::find(&command.options.grants);
    let opened = workdir.file.directory_path();
    let place = command.options.place(opened, workdir.policy.workspace(), &open);
    let plan = command.options.plan(&open, &workdir.policy, &place.root, host)?;
    let directory = if place.cwd == opened {
        Directory::new(place.cwd, place.below, workdir.file.directory().as_fd())
    } else {
        Directory { opened: place.cwd.clone(), path: place.cwd, below: place.below }
    };
    let (program, args) = shell(command);
    let launch = Launch {
        program,
        args: &args,
        directory: &directory,
        plan: &plan,
        required: command.options.required,
        isolated: false,
        variables: environment::of_shell(&command.environment, host, &directory.path),
        timeout: command.timeout,
    };
    let stop = AtomicBool::new(false);
    let stopped_by = StoppedBy { cancel, stop: &stop };
    let mut sidecar = command.sidecar.as_ref().map(LazySidecar::new);
    let overflow = sidecar.as_mut().map(|sidecar| sidecar as &mut dyn Overflow);
    let mut split = Split::new(command.head_bytes, overflow, &stop);
    let request =
        ExecRequest { max_output_bytes: 0, streams: Streams::Apart, ..launch.request(&stopped_by) };
    let started = Instant::now();
    let ran = toolwright_exec::run_streaming(&request, &mut split);
    let duration = started.elapsed();
    let Head { stdout, stderr, truncated } = split.into_head();
    let stdout = text::within(stdout, command.head_bytes);
    let stderr = text::within(stderr, command.head_bytes.saturating_sub(stdout.len()));
    let left_running = ran.as_ref().map_or(0, |finished| finished.left_running);
    let sidecar = sidecar.and_then(LazySidecar::finish);
    let was_full = stop.load(Ordering::Relaxed);
    let end = end(ran, was_full)
        .map_err(|error| commands::line_not_run(&error, &command.line, &directory));
    let hint = hint(&command.line, &end, [&stderr, &stdout], &plan).or_else(|| match end {
        Ok(End::Exit(0)) => None,
        _ => open.missing(),
    });
    Ok(ShellOutput { stdout, stderr, truncated, sidecar, end, hint, left_running, duration })
}

/// A command that was stopped because its output had no more room was killed.
fn end(ran: Result<Finished, ExecError>, was_full: bool) -> Result<End, ExecError> {
    match ran {
        Ok(Finished { exit: Exit::Code(code), .. }) => Ok(End::Exit(code)),
        Ok(Finished { exit: Exit::Signal { name, .. }, .. }) => Ok(End::Signal(name.to_string())),
        Err(ExecError::TimedOut { .. }) => Ok(End::TimedOut),
        Err(ExecError::Cancelled { .. }) if was_full => Ok(End::Signal("SIGKILL".to_owned())),
        Err(ExecError::Cancelled { .. }) => Ok(End::Cancelled),
        Err(error) => Err(error),
    }
}

/// What the sandbox has to do with the end of a command: what it printed last says most.
fn hint(line: &str, end: &Result<End, Failure>, printed: [&str; 2], plan: &Plan) -> Option<String> {
    let ending = match end {
        Ok(End::Exit(0)) => return None,
        Ok(End::Exit(code)) => Some(Ending::Code(*code)),
        Ok(End::TimedOut) => Some(Ending::TimedOut),
        Ok(End::Signal(_) | End::Cancelled) | Err(_) => None,
    };
    let explained = printed.iter().find_map(|text| explain(text, plan, Door::Session));
    explained.or_else(|| explain_line(line, ending?, plan, Door::Session))
}

/// The shell and its arguments. bash reads none of its own files first, and a line that begins with
/// `-` is no option.
fn shell(command: &CommandLine) -> (&str, Vec<String>) {
    let (shell, options): (&str, &[&str]) = match command.bash.as_deref() {
        Some(bash) => (bash, &["--norc", "--noprofile", "-c", "--"]),
        None => ("sh", &["-c", "--"]),
    };
    let args = options.iter().copied().chain([command.line.as_str()]);
    (shell, args.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
