//! A command line through a shell, under a policy of its own.

use std::collections::HashMap;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::environment;
use toolwright_core::command::plan::LimitOptions;
use toolwright_core::command::session::SessionOptions;
use toolwright_core::command::shell::{self, CommandLine, End, ShellOutput};
use toolwright_core::failure::Unfinished;

use super::policy::ContractGrants;
use super::sidecar::{SidecarMade, SidecarRequest};
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::environment::EnvironmentOptions;
use crate::error::{NativeError, to_error};
use crate::job::Outcome;
use crate::options::{self, paths};
use crate::sandbox::loopback;
use crate::{job, running_commands};

/// What to run, and what it may do.
#[napi(object)]
#[derive(Debug)]
pub struct ContractBashRequest {
    /// For the shell's `-c`.
    pub command: String,
    /// The path of a bash; without it the line is for `sh`.
    pub bash: Option<String>,
    /// Which variables it sees.
    pub environment: EnvironmentOptions,
    /// The host's variables, where JavaScript has a view of its own.
    pub host_env: Option<HashMap<String, String>>,
    /// Variables that join those of the host.
    pub extra_env: Option<HashMap<String, String>>,
    /// Which files and hosts it reaches.
    pub grants: ContractGrants,
    /// Closed for it all the same.
    pub deny_read: Option<Vec<String>>,
    /// Not to be written all the same, if not the usual ones.
    pub deny_write: Option<Vec<String>>,
    /// `private`, `none` or `host`.
    #[napi(ts_type = "'private' | 'none' | 'host'")]
    pub loopback: Option<String>,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: Option<bool>,
    /// How many processes there may be at once; 0 for no limit.
    pub processes: Option<f64>,
    /// How much memory.
    pub memory_bytes: Option<f64>,
    /// How much processor time each process may use.
    pub cpu_seconds: Option<f64>,
    /// How long a file may become.
    pub file_size_bytes: Option<f64>,
    /// When the command and its children are killed.
    pub timeout_ms: f64,
    /// How much output is given back, of both streams together.
    pub head_bytes: f64,
    /// Where all of it goes when there is more.
    pub sidecar: Option<SidecarRequest>,
}

impl From<ContractBashRequest> for CommandLine {
    fn from(request: ContractBashRequest) -> Self {
        Self {
            line: request.command,
            bash: request.bash,
            environment: request.environment.into(),
            options: SessionOptions {
                grants: request.grants.into(),
                deny_read: paths(request.deny_read.unwrap_or_default()),
                deny_write: request.deny_write.map(paths),
                loopback: loopback(request.loopback.as_deref()),
                required: request.required.unwrap_or(false),
                limits: LimitOptions {
                    processes: request.processes.map(options::bytes),
                    memory_bytes: request.memory_bytes.map(options::bytes),
                    cpu_seconds: request.cpu_seconds.map(options::bytes),
                    file_size_bytes: request.file_size_bytes.map(options::bytes),
                },
            },
            timeout: options::milliseconds(request.timeout_ms),
            head_bytes: options::size(request.head_bytes),
            sidecar: request.sidecar.map(Into::into),
        }
    }
}

/// What became of a command.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ContractBashOutcome {
    /// What it wrote there, or the beginning.
    pub stdout: Option<String>,
    /// What it wrote there, or the beginning.
    pub stderr: Option<String>,
    /// None when it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its time was up.
    pub timed_out: bool,
    /// It wrote more than is given back.
    pub truncated: bool,
    /// Where all of it is, in the order of arrival.
    pub sidecar: Option<SidecarMade>,
    /// Why all of it is nowhere.
    pub sidecar_failed: Option<String>,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed when it ended.
    pub left_running: u32,
    /// How long it ran.
    pub duration_ms: Option<f64>,
    /// True when the call was cancelled; what was written until then is there.
    pub cancelled: bool,
    /// Why it was not run. An exit code is no error, and neither is a timeout.
    pub error: Option<NativeError>,
}

impl Outcome for ContractBashOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl From<ShellOutput> for ContractBashOutcome {
    fn from(output: ShellOutput) -> Self {
        let mut outcome = Self {
            stdout: Some(output.stdout),
            stderr: Some(output.stderr),
            truncated: output.truncated,
            hint: output.hint,
            left_running: output.left_running,
            duration_ms: Some(output.duration.as_secs_f64() * 1000.0),
            ..Self::default()
        };
        match output.sidecar {
            None => {}
            Some(Ok(file)) => outcome.sidecar = Some(file.into()),
            Some(Err(failure)) => outcome.sidecar_failed = Some(failure.message()),
        }
        match output.end {
            Ok(End::Exit(code)) => outcome.exit_code = Some(code),
            Ok(End::Signal(name)) => outcome.signal = Some(name),
            Ok(End::TimedOut) => outcome.timed_out = true,
            Ok(End::Cancelled) => outcome.cancelled = true,
            Err(failure) => outcome.error = Some(failure.into()),
        }
        outcome
    }
}

/// Runs a command line in a directory that was opened as `workdir`.
#[napi(catch_unwind, ts_return_type = "Promise<ContractBashOutcome>")]
pub fn contract_bash<'env>(
    env: &'env Env,
    workdir: &OpenedTarget,
    mut request: ContractBashRequest,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let host = environment::of_host(request.host_env.take(), request.extra_env.take());
    let (command, workdir) = (CommandLine::from(request), workdir.target());
    job::command(env, move || {
        let workdir = workdir.map_err(Unfinished::from);
        let ran =
            workdir.and_then(|workdir| shell::run(&workdir, &command, &host, running.cancel()));
        match ran {
            Ok(output) => output.into(),
            Err(unfinished) => {
                let error = to_error(unfinished);
                ContractBashOutcome { cancelled: error.is_none(), error, ..Default::default() }
            }
        }
    })
}
