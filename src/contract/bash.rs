//! A command line through a shell, under a policy of its own.

use std::collections::HashMap;
use std::sync::Arc;

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::environment::{self, Variables};
use toolwright_core::command::live_output::LiveOutput as Live;
use toolwright_core::command::process;
use toolwright_core::command::session::SessionOptions;
use toolwright_core::command::shell::CommandLine;
use toolwright_core::sidecar;

use super::policy::ContractGrants;
use super::target::OpenedTarget;
use crate::call::{self, CancelHandle, Promised};
use crate::command::{CommandOutput, EnvironmentOptions};
use crate::cross::{Cross, cross};
use crate::kept_process::KeepOptions;
use crate::masks::MaskRequest;
use crate::patches::PatchReports;
use crate::sandbox::SandboxHosts;

/// A file to be made when there is something to put into it: all of an output that is cut.
#[napi(object)]
pub struct SidecarRequest {
    /// An absolute directory that is this user's alone.
    pub directory: String,
    /// A name that is free in it.
    pub name: String,
    /// What produces more than this is stopped, and the last line says so.
    pub limit_bytes: f64,
}

cross! { SidecarRequest => sidecar::SidecarRequest { directory, name, limit_bytes } }

/// What to run, and what it may do.
#[napi(object, object_to_js = false)]
pub struct ContractBashRequest {
    /// For the shell's `-c`.
    pub command: String,
    /// The path of a bash; without it the line is for `sh`.
    pub bash: Option<String>,
    /// Which variables it sees.
    pub environment: EnvironmentOptions,
    /// What is masked of its output. None: nothing.
    pub mask: Option<MaskRequest>,
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
    /// Reach these hosts by name, as far as the grants open them.
    pub names: Option<SandboxHosts>,
    /// `forked` or `strict`.
    #[napi(ts_type = "'forked' | 'strict'")]
    pub git: Option<String>,
    /// `private`, `none` or `host`.
    #[napi(ts_type = "'private' | 'none' | 'host'")]
    pub loopback: Option<String>,
    /// Refuse to run where a layer for files or processes is missing.
    pub required: Option<bool>,
    /// Whether the model has `process_start`.
    pub starts_processes: Option<bool>,
    /// When the command and its children are killed.
    pub timeout_ms: f64,
    /// How much output is given back, of both streams together.
    pub head_bytes: f64,
    /// Where all of it goes when there is more.
    pub sidecar: SidecarRequest,
}

impl ContractBashRequest {
    /// The command line, and the variables of the host. Must be called on the JavaScript thread, where no
    /// other code changes the environment meanwhile.
    pub(crate) fn line(self, patches: Option<&PatchReports>) -> (CommandLine, Arc<Variables>) {
        let host = environment::of_host(self.host_env, self.extra_env);
        let line = CommandLine {
            line: self.command,
            bash: self.bash,
            environment: self.environment.cross(),
            mask: self.mask.cross(),
            options: SessionOptions {
                grants: self.grants.cross(),
                deny_read: self.deny_read.cross(),
                deny_write: self.deny_write.cross(),
                git: self.git.cross(),
                names: self.names.cross(),
                loopback: self.loopback.cross(),
                required: self.required.cross(),
                starts_processes: self.starts_processes.cross(),
            },
            timeout: self.timeout_ms.cross(),
            head_bytes: self.head_bytes.cross(),
            sidecar: self.sidecar.cross(),
            patches: patches.map(PatchReports::shared),
        };
        (line, host)
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

/// Runs a command line in a directory that was opened as `workdir`. An exit code is no error, and neither
/// is a timeout. With `keep` the command goes on as a process at its timeout.
#[napi(catch_unwind, ts_return_type = "Promise<CommandOutput | Unfinished>")]
pub fn contract_bash(
    env: &Env,
    workdir: &OpenedTarget,
    request: ContractBashRequest,
    cancel: &CancelHandle,
    live: Option<&LiveOutput>,
    patches: Option<&PatchReports>,
    keep: Option<KeepOptions>,
) -> Result<Promised<CommandOutput>> {
    let options = keep.map(|keep| keep.background(env)).transpose()?;
    let (workdir, (command, host)) = (workdir.target(), request.line(patches));
    let shown = live.map(|live| Arc::clone(&live.0));
    call::command(env, cancel, move |cancel| {
        process::run_line(&*workdir?, &command, options.as_ref(), &host, shown.as_deref(), cancel)
    })
}
