//! A command line through a shell: `bash` of a session.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use toolwright_exec::process::Facts;
use toolwright_exec::{
    Cancel, CommandFacts, Connections, ExecError, ExecRequest, Exit, Finished, GitReport,
    GitReports, Head, OutputMask, PatchReports, Split, StoppedBy, Streams,
};
use toolwright_sandbox::plan::Plan;

use super::credentials;
use super::end::End;
use super::environment::{self, Passage, Policy, Variables};
use super::hosts;
use super::launch::{Directory, Launch};
use super::live_output::{LiveOutput, LiveSink};
use super::masks::{self, MaskOptions};
use super::output::CommandOutput;
use super::session::{OpenDirectories, SessionOptions};
use crate::access::target::Target;
use crate::denials::Ended;
use crate::failure::{Unfinished, commands};
use crate::sidecar::{LazySidecar, SidecarRequest};
use crate::text;
use crate::voice::Door;

/// A command line and its conditions.
#[derive(Debug)]
pub struct CommandLine {
    /// For the shell's `-c`.
    pub line: String,
    /// The path of a bash; without it the line is for `sh`.
    pub bash: Option<String>,
    /// Which variables it sees.
    pub environment: Policy,
    /// What is masked of its output. `None`: nothing.
    pub mask: Option<Arc<MaskOptions>>,
    /// What it may do.
    pub options: SessionOptions,
    /// When the command and its children are killed.
    pub timeout: Duration,
    /// How much output is given back, of both streams together.
    pub head_bytes: usize,
    /// Where all of it goes when there is more.
    pub sidecar: SidecarRequest,
    /// Where its patches are reported, however it ends.
    pub patches: Option<Arc<PatchReports>>,
}

/// Runs a command line in a directory that was opened as `workdir`. Of a command that writes more than its
/// sidecar takes, the beginning and the end are kept. `live` has the output while the command runs.
pub fn run(
    workdir: &Target,
    command: &CommandLine,
    host: &Arc<Variables>,
    live: Option<&LiveOutput>,
    cancel: &Cancel,
) -> Result<CommandOutput, Unfinished> {
    let placed = place(workdir, command, host)?;
    let Placed { directory, .. } = &placed;
    let (program, args) = shell(command);
    let (git, facts) = (GitReports::default(), CommandFacts::default());
    let reports = Launch { git: Some(&git), ..launch(command, program, &args, &placed) };
    let launch = Launch { facts: Some(&facts), ..reports };
    let stop = AtomicBool::new(false);
    let stopped_by = StoppedBy { cancel, stop: &stop };
    let mut sidecar = LazySidecar::new(&command.sidecar);
    let mut split = Split::new(command.head_bytes, Some(&mut sidecar), &stop);
    let request =
        ExecRequest { max_output_bytes: 0, streams: Streams::Apart, ..launch.request(&stopped_by) };
    let ran = toolwright_exec::run_streaming(&request, &mut LiveSink { sink: &mut split, live });
    let head = split.into_head();
    let left_running = ran.as_ref().map_or(0, |finished| finished.left_running);
    let end = end(ran, stop.load(Ordering::Relaxed)).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, directory).into(),
    })?;
    Ok(output(command, &placed, head, end, left_running, (&git.take(), facts.get()), sidecar))
}

/// What a command line printed, as far as it fits, with what explains its end.
pub(super) fn output(
    command: &CommandLine,
    placed: &Placed,
    Head { stdout, stderr, truncated }: Head,
    end: End,
    left_running: u32,
    (git, facts): (&[GitReport], Facts),
    sidecar: LazySidecar<'_>,
) -> CommandOutput {
    let Placed { open, plan, directory, connections, variables, mask } = placed;
    let stdout = text::within(stdout, command.head_bytes);
    let stderr = text::within(stderr, command.head_bytes.saturating_sub(stdout.len()));
    let sidecar = sidecar.finish();
    let ended = Ended {
        starts_processes: command.options.starts_processes,
        end: &end,
        printed: &[&stderr, &stdout],
        plan,
        directory: &directory.path,
        connections: &[],
        door: Door::Session,
        command: ("sh", &["-c".to_owned(), command.line.clone()]),
        keeps_state: false,
        facts,
        variables: Some(variables),
    };
    let noted = hosts::noted(git, &ended, hosts::asked_for(connections.as_ref()));
    let mut noted = noted.with_masked(mask.as_ref());
    // What is open and not there yet is refused by nobody.
    let all = noted.denials.len();
    noted.denials.retain(|denial| !open.has_absent(Path::new(&denial.subject)));
    let hint = match end {
        End::Exited(Exit::Code(0)) => None,
        _ if noted.denials.len() < all => open.missing(),
        _ => noted.hint.take().or_else(|| open.missing()),
    };
    CommandOutput { stdout, stderr, truncated, sidecar, end, hint, left_running, noted }
}

/// Where a command line runs, and behind which plan.
pub(super) struct Placed {
    open: OpenDirectories,
    pub(super) plan: Plan,
    pub(super) directory: Directory,
    /// The hosts that it asks for.
    connections: Option<Arc<Connections>>,
    variables: Passage,
    /// What is masked of its output.
    mask: Option<Arc<OutputMask>>,
}

pub(super) fn place(
    workdir: &Target,
    command: &CommandLine,
    host: &Arc<Variables>,
) -> Result<Placed, Unfinished> {
    let open = OpenDirectories::find(&command.options.grants, &workdir.policy);
    let opened = workdir.file.directory_path();
    let place = command.options.place(opened, workdir.policy.workspace(), &open);
    let plan = command.options.plan(&open, &workdir.policy, &place.root, host)?;
    let directory = if place.cwd == opened {
        Directory::new(place.cwd, place.below, workdir.file.directory().as_fd())
    } else {
        Directory { opened: place.cwd.clone(), path: place.cwd, below: place.below }
    };
    let connections = hosts::of(&plan, command.options.names.as_ref())?;
    let passed = environment::of_shell(&command.environment, host, &directory.path);
    let passed = credentials::variables(command.options.credentials(), passed);
    let variables = Passage { host: Arc::clone(host), passed };
    let mask = masks::of_command(command.mask.as_ref(), command.options.credentials(), &variables);
    Ok(Placed { open, plan, directory, connections, variables, mask })
}

pub(super) fn launch<'a>(
    command: &'a CommandLine,
    program: &'a str,
    args: &'a [String],
    placed: &'a Placed,
) -> Launch<'a> {
    let Placed { directory, plan, connections, variables, mask, .. } = placed;
    Launch {
        program,
        args,
        directory,
        plan,
        required: command.options.required,
        isolated: false,
        variables: Arc::clone(&variables.passed),
        timeout: command.timeout,
        patches: command.patches.as_deref(),
        git: None,
        facts: None,
        connections: connections.as_ref(),
        mask: mask.as_ref(),
    }
}

/// A command that was stopped because its output had no more room was killed.
fn end(ran: Result<Finished, ExecError>, was_full: bool) -> Result<End, ExecError> {
    match ran {
        Ok(Finished { exit, .. }) => Ok(End::Exited(exit)),
        Err(ExecError::TimedOut { .. }) => Ok(End::TimedOut),
        Err(ExecError::Cancelled { .. }) if was_full => Ok(End::killed()),
        Err(error) => Err(error),
    }
}

/// The shell and its arguments. bash reads none of its own files first, and a line that begins with
/// `-` is no option.
pub(super) fn shell(command: &CommandLine) -> (&str, Vec<String>) {
    let (shell, options): (&str, &[&str]) = match command.bash.as_deref() {
        Some(bash) => (bash, &["--norc", "--noprofile", "-c", "--"]),
        None => ("sh", &["-c", "--"]),
    };
    let args = options.iter().copied().chain([command.line.as_str()]);
    (shell, args.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
