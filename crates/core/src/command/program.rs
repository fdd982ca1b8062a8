//! A program with arguments, which no shell sees: `bash` of the tools.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use toolwright_exec::{Cancel, ExecError, ExecRequest, Exit, Finished, Output, Sink};
use toolwright_fs::{FsError, Granted, Located};
use toolwright_sandbox::policy::Grants;

use super::environment::{self, Policy, Variables};
use super::launch::{Directory, Launch, joined};
use super::plan::SandboxOptions;
use crate::failure::{Failure, Unfinished, commands, files};
use crate::text;
use crate::voice::commands::WORKING_DIRECTORY;

/// Under what conditions programs run.
#[derive(Debug)]
pub struct ProgramSettings {
    /// The root directory.
    pub root: Arc<Granted>,
    /// What is granted besides.
    pub grants: Arc<Grants>,
    /// What they may do.
    pub sandbox: SandboxOptions,
    /// Which variables they see.
    pub environment: Policy,
    /// The most output that is given back.
    pub max_output_bytes: usize,
    /// When a program and its children are killed.
    pub timeout: Duration,
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
}

/// How a program ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With code 0.
    Success {
        /// What it printed, stdout and stderr in the order of arrival.
        output: String,
        /// How many processes that it had left running were killed.
        left_running: u32,
    },
    /// By a cancellation.
    Cancelled {
        /// What it had printed until then.
        output: String,
    },
}

/// Runs a program. With a sink, its output can be had meanwhile.
pub fn run(
    settings: &ProgramSettings,
    program: &Program,
    host: &Arc<Variables>,
    cancel: &Cancel,
    sink: Option<&mut dyn Sink>,
) -> Result<Ended, Unfinished> {
    let located = locate(settings, &program.cwd)
        .map_err(|error| files::working_directory(&error, WORKING_DIRECTORY))?;
    let Located { root, relative, descriptor, .. } = located;
    let directory = Directory::new(joined(&root, &relative), relative, descriptor.as_fd());
    let plan = settings.sandbox.plan(&root, &settings.grants.resolve()?, host)?;
    let launch = Launch {
        program: &program.cmd,
        args: &program.args,
        directory: &directory,
        plan: &plan,
        required: settings.sandbox.required,
        isolated: settings.sandbox.isolated,
        variables: environment::of_command(&settings.environment, host, &directory.path),
        timeout: settings.timeout,
    };
    let limit = settings.max_output_bytes;
    let request = ExecRequest { max_output_bytes: limit, ..launch.request(cancel) };
    let ran = match sink {
        Some(sink) => toolwright_exec::run_streaming(&request, sink),
        None => toolwright_exec::run(&request),
    };
    let text = |output: Output| text::within(output.bytes, limit);
    match ran {
        Ok(Finished { exit: Exit::Code(0), output, left_running, .. }) => {
            Ok(Ended::Success { output: text(output), left_running })
        }
        Ok(Finished { exit, output, .. }) => {
            Err(commands::exited(program, &exit, text(output), &plan).into())
        }
        Err(ExecError::Cancelled { output, .. }) => Ok(Ended::Cancelled { output: text(output) }),
        Err(error) => Err(failed(error, program, &directory, &plan, text).into()),
    }
}

fn failed(
    error: ExecError,
    program: &Program,
    directory: &Directory,
    plan: &toolwright_sandbox::plan::Plan,
    text: impl FnOnce(Output) -> String,
) -> Failure {
    let failure = match error {
        ExecError::TimedOut { output, timeout, .. } => {
            commands::timed_out(program, timeout, text(output), plan)
        }
        error => commands::program_not_run(&error, program, directory),
    };
    let cwd = directory.path.to_string_lossy().into_owned();
    failure.with("command", &*program.cmd).with("args", program.args.clone()).with("cwd", cwd)
}

fn locate(settings: &ProgramSettings, cwd: &str) -> Result<Located, FsError> {
    let located = settings.root.open()?.locate(cwd)?;
    if located.is_directory {
        return Ok(located);
    }
    Err(FsError::NotADirectory { path: cwd.to_owned() })
}
