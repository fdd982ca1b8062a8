//! A command line through a shell, under a policy of its own.

use std::collections::HashMap;
use std::sync::Arc;

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::environment;
use toolwright_core::command::live_output::LiveOutput as Live;
use toolwright_core::command::plan::Loopback;
use toolwright_core::command::session::SessionOptions;
use toolwright_core::command::shell::{self, CommandLine, End, ShellOutput};
use toolwright_core::failure::Unfinished;

use super::path_text;
use super::policy::ContractGrants;
use super::sidecar::SidecarRequest;
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::command::EnvironmentOptions;
use crate::job::{self, Promised};
use crate::options::{self, paths};
use crate::outcome::Outcome;
use crate::patch_reports::PatchReports;
use crate::running_commands;

/// What to run, and what it may do.
#[napi(object)]
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
    /// When the command and its children are killed.
    pub timeout_ms: f64,
    /// How much output is given back, of both streams together.
    pub head_bytes: f64,
    /// Where all of it goes when there is more.
    pub sidecar: SidecarRequest,
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
                loopback: Loopback::named(request.loopback.as_deref()),
                required: request.required.unwrap_or(false),
            },
            timeout: options::milliseconds(request.timeout_ms),
            head_bytes: options::size(request.head_bytes),
            sidecar: request.sidecar.into(),
            patches: None,
        }
    }
}

/// What became of a command.
#[napi(object, object_from_js = false)]
pub struct ContractBashOutput {
    /// What it wrote there, or the beginning.
    pub stdout: String,
    /// What it wrote there, or the beginning.
    pub stderr: String,
    /// None when it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its time was up.
    pub timed_out: bool,
    /// It wrote more than is given back.
    pub truncated: bool,
    /// The file with all of it, in the order of arrival.
    pub sidecar: Option<String>,
    /// Why all of it is nowhere.
    pub sidecar_failed: Option<String>,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed when it ended.
    pub left_running: u32,
    /// What of its changes to git's configuration stayed in the sandbox, for a model.
    pub git_notes: Vec<String>,
}

impl From<ShellOutput> for ContractBashOutput {
    fn from(output: ShellOutput) -> Self {
        let ShellOutput { stdout, stderr, truncated, hint, left_running, git_notes, .. } = output;
        let (sidecar, sidecar_failed) = match output.sidecar.transpose() {
            Ok(file) => (file.as_deref().map(path_text), None),
            Err(failure) => (None, Some(failure.message())),
        };
        let timed_out = output.end == End::TimedOut;
        let (exit_code, signal) = match output.end {
            End::Exit(code) => (Some(code), None),
            End::Signal(name) => (None, Some(name)),
            End::TimedOut => (None, None),
        };
        Self {
            stdout,
            stderr,
            exit_code,
            signal,
            timed_out,
            truncated,
            sidecar,
            sidecar_failed,
            hint,
            left_running,
            git_notes,
        }
    }
}

/// What a command has printed since the last look at it. A slow reader misses the oldest text.
#[napi]
#[derive(Default)]
pub struct LiveOutput(Arc<Live>);

#[napi]
impl LiveOutput {
    /// For one command.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the new text, stdout and stderr in the order of arrival.
    #[napi(catch_unwind)]
    pub fn take(&self) -> String {
        self.0.take()
    }
}

impl LiveOutput {
    pub(crate) fn shared(&self) -> Arc<Live> {
        Arc::clone(&self.0)
    }
}

/// Runs a command line in a directory that was opened as `workdir`. An exit code is no error, and neither
/// is a timeout.
#[napi(catch_unwind, ts_return_type = "Promise<ContractBashOutput | Unfinished>")]
pub fn contract_bash(
    env: &Env,
    workdir: &OpenedTarget,
    mut request: ContractBashRequest,
    cancel: &CancelHandle,
    live: Option<&LiveOutput>,
    patches: Option<&PatchReports>,
) -> Result<Promised<ContractBashOutput>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let host = environment::of_host(request.host_env.take(), request.extra_env.take());
    let command =
        CommandLine { patches: patches.map(PatchReports::shared), ..CommandLine::from(request) };
    let workdir = workdir.target();
    let live = live.map(LiveOutput::shared);
    Ok(job::command(move || {
        let workdir = workdir.map_err(Unfinished::from);
        let ran = workdir.and_then(|workdir| {
            shell::run(&workdir, &command, &host, live.as_deref(), running.cancel())
        });
        Outcome::from(ran.map(ContractBashOutput::from))
    }))
}
