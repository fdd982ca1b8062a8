//! A program with arguments, which no shell sees: `bash` of the tools.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::process::Facts;
use toolwright_exec::{
    Cancel, CommandFacts, Connections, ExecError, ExecRequest, Exit, Finished, GitReport,
    GitReports, Output, OutputMask, PatchReports, Sink,
};
use toolwright_fs::{DirectoryGrant, FileLocation, FsError, FsErrorKind};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::Grants;

use super::credentials;
use super::end::End;
use super::environment::{self, Passage, Policy, Variables};
use super::hosts;
use super::launch::{Directory, Launch, joined};
use super::masks::{self, MaskOptions};
use super::output::Noted;
use super::plan::SandboxOptions;
use crate::denials::Ended;
use crate::failure::{Failure, Unfinished, commands, files};
use crate::text;
use crate::voice::Door;
use crate::voice::commands::WORKING_DIRECTORY;

/// Under what conditions programs run.
#[derive(Debug)]
pub struct ProgramSettings {
    /// The root directory.
    pub root: Arc<DirectoryGrant>,
    /// What is granted besides.
    pub grants: Arc<Grants>,
    /// What they may do.
    pub sandbox: SandboxOptions,
    /// Which variables they see.
    pub environment: Policy,
    /// What is masked of their output. `None`: nothing.
    pub mask: Option<Arc<MaskOptions>>,
    /// The most output that is given back.
    pub max_output_bytes: usize,
    /// When a program and its children are killed.
    pub timeout: Duration,
    /// Whether the caller has `process_start`, which keeps a program running.
    pub starts_processes: bool,
}

/// What to run.
#[derive(Debug)]
pub struct Program {
    /// The executable: a name looked up in PATH, or a path.
    pub cmd: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory to run in, below the root.
    pub cwd: String,
    /// Where its patches are reported, however it ends.
    pub patches: Option<Arc<PatchReports>>,
}

/// A program that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Succeeded {
    /// What it printed, stdout and stderr in the order of arrival.
    pub output: String,
    /// How many processes that it had left running were killed.
    pub left_running: u32,
    /// What the sandbox has noted of it.
    pub noted: Noted,
}

/// Runs a program. With a sink, its output can be had meanwhile. One that is cancelled is
/// [`Unfinished::Stopped`] with its output.
pub fn run(
    settings: &ProgramSettings,
    program: &Program,
    host: &Arc<Variables>,
    cancel: &Cancel,
    sink: Option<&mut dyn Sink>,
) -> Result<Succeeded, Unfinished> {
    let placed = place(settings, program, host)?;
    let (git, facts) = (GitReports::default(), CommandFacts::default());
    let reports = Launch { git: Some(&git), ..launch(settings, program, &placed) };
    let launch = Launch { facts: Some(&facts), ..reports };
    let limit = settings.max_output_bytes;
    let request =
        ExecRequest { max_output_bytes: limit, is_screen: true, ..launch.request(cancel) };
    let ran = match sink {
        Some(sink) => toolwright_exec::run_streaming(&request, sink),
        None => toolwright_exec::run(&request),
    };
    let text = |output: Output| text::within(output.bytes, limit);
    match ran {
        Ok(Finished { exit, output, left_running, .. }) => Ok({
            let noted = (&*git.take(), facts.get());
            concluded(program, exit, text(output), left_running, noted, &placed)?
        }),
        Err(ExecError::Cancelled { output, .. }) => {
            Err(Unfinished::Stopped { output: text(output) })
        }
        Err(error) => Err(failed(error, program, &placed, facts.get(), text).into()),
    }
}

/// What the end of a program is: success, or a failure that shows what it printed.
pub(super) fn concluded(
    program: &Program,
    exit: Exit,
    output: String,
    left_running: u32,
    reports: (&[GitReport], Facts),
    placed: &Placed,
) -> Result<Succeeded, Failure> {
    let end = End::Exited(exit);
    let noted = placed.noted(program, reports, &end, &output);
    match end {
        End::Exited(Exit::Code(0)) => Ok(Succeeded { output, left_running, noted }),
        end => Err(commands::exited(program, &end, output, &noted)),
    }
}

/// Where a program runs, and behind which plan.
pub(super) struct Placed {
    pub(super) directory: Directory,
    pub(super) plan: Plan,
    /// The hosts that it asks for.
    pub(super) connections: Option<Arc<Connections>>,
    pub(super) variables: Passage,
    /// What is masked of its output.
    pub(super) mask: Option<Arc<OutputMask>>,
    starts_processes: bool,
    /// Keeps the directory open, which is named by its descriptor.
    _location: FileLocation,
}

impl Placed {
    /// What the sandbox has noted of it.
    fn noted(
        &self,
        program: &Program,
        (git, facts): (&[GitReport], Facts),
        end: &End,
        output: &str,
    ) -> Noted {
        let ended = Ended {
            starts_processes: self.starts_processes,
            end,
            printed: &[output],
            plan: &self.plan,
            directory: &self.directory.path,
            connections: &[],
            door: Door::Tools,
            command: (&program.cmd, &program.args),
            keeps_state: false,
            facts,
            variables: Some(&self.variables),
        };
        hosts::noted(git, &ended, hosts::asked_for(self.connections.as_ref()))
            .with_masked(self.mask.as_ref())
    }
}

pub(super) fn place(
    settings: &ProgramSettings,
    program: &Program,
    host: &Arc<Variables>,
) -> Result<Placed, Unfinished> {
    let location = locate(settings, &program.cwd)
        .map_err(|error| files::working_directory(&error, WORKING_DIRECTORY))?;
    let FileLocation { root, relative, descriptor, .. } = &location;
    let directory = Directory::new(joined(root, relative), relative.clone(), descriptor.as_fd());
    let plan = settings.sandbox.plan(root, &settings.grants.resolve()?, host);
    let connections = hosts::of(&plan, settings.sandbox.names.as_ref())?;
    let passed = environment::of_command(&settings.environment, host, &directory.path);
    let passed = credentials::variables(settings.sandbox.credentials(), passed);
    let variables = Passage { host: Arc::clone(host), passed };
    let starts_processes = settings.starts_processes;
    let mask =
        masks::of_command(settings.mask.as_ref(), settings.sandbox.credentials(), &variables);
    Ok(Placed {
        directory,
        plan,
        connections,
        variables,
        mask,
        starts_processes,
        _location: location,
    })
}

pub(super) fn launch<'a>(
    settings: &ProgramSettings,
    program: &'a Program,
    placed: &'a Placed,
) -> Launch<'a> {
    let Placed { directory, plan, connections, variables, mask, .. } = placed;
    Launch {
        program: &program.cmd,
        args: &program.args,
        directory,
        plan,
        required: settings.sandbox.required,
        isolated: settings.sandbox.isolated,
        variables: Arc::clone(&variables.passed),
        timeout: settings.timeout,
        patches: program.patches.as_deref(),
        git: None,
        facts: None,
        connections: connections.as_ref(),
        mask: mask.as_ref(),
    }
}

/// A program that could not be started.
pub(super) fn failed_start(error: ExecError, program: &Program, placed: &Placed) -> Failure {
    failed(error, program, placed, Facts::default(), |_| String::new())
}

fn failed(
    error: ExecError,
    program: &Program,
    placed: &Placed,
    facts: Facts,
    text: impl FnOnce(Output) -> String,
) -> Failure {
    let Placed { directory, .. } = placed;
    let failure = match error {
        ExecError::TimedOut { output, timeout, .. } => {
            let output = text(output);
            let noted = placed.noted(program, (&[], facts), &End::TimedOut, &output);
            commands::timed_out(program, timeout, output, &noted)
        }
        error => commands::program_not_run(&error, program, directory),
    };
    let cwd = directory.path.to_string_lossy().into_owned();
    failure.with("command", &*program.cmd).with("args", program.args.clone()).with("cwd", cwd)
}

pub(super) fn locate(settings: &ProgramSettings, cwd: &str) -> Result<FileLocation, FsError> {
    let located = settings.root.open()?.locate(cwd)?;
    if located.is_directory {
        return Ok(located);
    }
    Err(FsErrorKind::NotADirectory.at(cwd))
}
