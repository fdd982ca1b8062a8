//! A program or a command line as a process that is kept running.

use std::path::PathBuf;
use std::sync::Arc;

use toolwright_exec::process::{LogLimits, Process, ProcessRequest, Stdio, unnamed_file};
use toolwright_exec::{Cancel, ExecError, ExecRequest, Streams};

use super::environment::Variables;
use super::program::{self, Program, ProgramSettings};
use super::shell::{self, CommandLine};
use crate::access::target::Target;
use crate::failure::{Unfinished, commands, files};

/// How a process is kept.
#[derive(Debug, Clone)]
pub struct Keeping {
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
        let streams = if self.is_stderr_apart { Streams::Apart } else { Streams::Joined };
        let stderr = if self.is_stderr_apart { self.limits()? } else { LogLimits::default() };
        let exec = ExecRequest { streams, ..exec };
        Ok(ProcessRequest { exec, stdio: self.stdio, stdout: self.limits()?, stderr })
    }
}

/// Starts a program of the tools. `changed` is called after each change, on other threads. The
/// cancellation ends the start; the process ends by its own, when it is killed, and with the result.
pub fn start_program(
    settings: &ProgramSettings,
    program: &Program,
    keeping: &Keeping,
    host: &Arc<Variables>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<Process, Unfinished> {
    let placed = program::place(settings, program, host)?;
    let launch = program::launch(settings, program, host, &placed.directory, &placed.plan);
    let request = keeping.request(launch.request(cancel))?;
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
    keeping: &Keeping,
    host: &Arc<Variables>,
    cancel: &Cancel,
    changed: impl Fn() + Send + Sync + 'static,
) -> Result<Process, Unfinished> {
    let placed = shell::place(workdir, command, host)?;
    let (program, args) = shell::shell(command);
    let launch = shell::launch(command, host, program, &args, &placed.directory, &placed.plan);
    let request = keeping.request(launch.request(cancel))?;
    Process::start(request, changed).map_err(|error| match error {
        ExecError::Cancelled { .. } => Unfinished::Cancelled,
        error => commands::line_not_run(&error, &command.line, &placed.directory).into(),
    })
}
