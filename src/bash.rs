//! `bash`: an executable run with arguments.

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::cancel::CancelHandle;
use crate::command;
use crate::environment::EnvironmentOptions;
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
) -> Result<Object<'env>> {
    let running = live::follow(env, cancel.for_command())?;
    let given = request.environment.of_host();
    job::long(env, move || command::run(&root, &request, given, running.cancel(), None))
}
