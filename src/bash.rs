//! `bash`: an executable run with arguments.

use std::collections::HashMap;
use std::ffi::OsString;

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::cancel::CancelHandle;
use crate::command;
use crate::error::NativeError;
use crate::job;
use crate::job::Outcome;
use crate::live;

/// What to run, and within which limits.
#[napi(object)]
#[derive(Debug)]
pub struct BashRequest {
    /// The executable: a name looked up in PATH, or a path.
    pub cmd: String,
    /// Its arguments. No shell sees them.
    pub args: Vec<String>,
    /// The directory to run in, below the root.
    pub cwd: String,
    /// Which variables it sees.
    pub environment: EnvironmentOptions,
    /// The most output that is given back.
    pub limit_bytes: f64,
    /// When the command and its children are killed.
    pub timeout_ms: f64,
}

/// Which variables a command sees.
#[napi(object)]
#[derive(Debug)]
pub struct EnvironmentOptions {
    /// The host's variables, where JavaScript has a view of its own: in Bun and in workers, changes
    /// that a program makes to `process.env` do not reach the process. Elsewhere the process's own
    /// are taken, which is much quicker.
    pub given: Option<HashMap<String, String>>,
    /// Variables that join those of the host.
    pub also: HashMap<String, String>,
    /// Pass all of them, whatever they hold.
    pub inherit: bool,
    /// Names that are passed although they look like a secret; `*` stands for any characters.
    pub allow: Vec<String>,
    /// Variables that are added or given another value.
    pub set: HashMap<String, String>,
    /// Leave proxies out as well.
    pub network_blocked: bool,
}

impl EnvironmentOptions {
    /// What the host has. Called on the JavaScript thread, where nobody changes it meanwhile.
    pub(crate) fn of_host(&self) -> Vec<(OsString, OsString)> {
        let pairs = |variables: &HashMap<String, String>| {
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>()
        };
        let mut host = match &self.given {
            Some(given) => pairs(given),
            None => std::env::vars_os().collect(),
        };
        host.retain(|(name, _)| name.to_str().is_none_or(|name| !self.also.contains_key(name)));
        host.extend(pairs(&self.also));
        host
    }
}

/// What became of a `bash`.
#[napi(object)]
#[derive(Debug, Default)]
pub struct BashOutcome {
    /// What it printed, stdout and stderr in the order of arrival.
    pub output: Option<String>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong, a non-zero exit included; `details.output` has what was printed.
    pub error: Option<NativeError>,
}

impl Outcome for BashOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Runs a command in a directory below `root` (absolute).
#[napi(catch_unwind, ts_return_type = "Promise<BashOutcome>")]
pub fn bash<'env>(
    env: &'env Env,
    root: String,
    request: BashRequest,
    cancel: &CancelHandle,
) -> Result<PromiseRaw<'env, BashOutcome>> {
    let running = live::follow(env, cancel.for_command())?;
    let given = request.environment.of_host();
    job::long(env, move || command::run(&root, &request, given, running.cancel(), None))
}
