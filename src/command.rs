//! Programs of the tools: what `bash` and its stream share.

use std::collections::HashMap;
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::command::environment::{self, Variables};
use toolwright_core::command::program::{self, Ended, Program, ProgramSettings};
use toolwright_core::failure::Unfinished;
use toolwright_exec::{Cancel, Sink};

use crate::environment::EnvironmentOptions;
use crate::error::{NativeError, to_error};
use crate::grants::CommandGrants;
use crate::job::Outcome;
use crate::options;
use crate::sandbox::SandboxRequest;
use crate::text::Text;

/// Under what conditions commands run.
#[napi(object)]
#[derive(Debug)]
pub struct CommandOptions {
    /// Which variables they see.
    pub environment: EnvironmentOptions,
    /// What they may do.
    pub sandbox: SandboxRequest,
    /// The most output that is given back.
    pub limit_bytes: f64,
    /// When a command and its children are killed.
    pub timeout_ms: f64,
}

/// The same for any number of commands: reading some twenty options takes as long as handing a command
/// to its worker.
#[napi]
#[derive(Debug)]
pub struct CommandSettings(Arc<ProgramSettings>);

#[napi]
impl CommandSettings {
    /// Takes the options over as they are.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(options: CommandOptions, grants: &CommandGrants) -> Self {
        Self(Arc::new(ProgramSettings {
            root: Arc::clone(&grants.root),
            grants: Arc::clone(&grants.all),
            sandbox: options.sandbox.into(),
            environment: options.environment.into(),
            max_output_bytes: options::size(options.limit_bytes),
            timeout: options::milliseconds(options.timeout_ms),
        }))
    }
}

/// What to run.
#[napi(object)]
#[derive(Debug)]
pub struct Command {
    /// The executable: a name looked up in PATH, or a path.
    pub cmd: String,
    /// Its arguments. No shell sees them.
    pub args: Vec<String>,
    /// The directory to run in, below the root.
    pub cwd: String,
    /// The host's variables, where JavaScript has a view of its own: in Bun and in workers, changes
    /// that a program makes to `process.env` do not reach the process. Elsewhere the process's own
    /// are taken, which is much quicker.
    pub host_env: Option<HashMap<String, String>>,
    /// Variables that join those of the host.
    pub extra_env: Option<HashMap<String, String>>,
}

/// A command with everything it needs.
#[derive(Debug)]
pub(crate) struct BashRequest {
    settings: Arc<ProgramSettings>,
    program: Program,
    host: Arc<Variables>,
}

impl BashRequest {
    /// Must be called on the JavaScript thread, where no other code changes the environment meanwhile.
    pub(crate) fn new(settings: &CommandSettings, command: Command) -> Self {
        let Command { cmd, args, cwd, host_env, extra_env } = command;
        let host = environment::of_host(host_env, extra_env);
        Self { settings: Arc::clone(&settings.0), program: Program { cmd, args, cwd }, host }
    }

    /// Runs the command. With a sink, its output can be had meanwhile.
    pub(crate) fn run(&self, cancel: &Cancel, sink: Option<&mut dyn Sink>) -> BashOutcome {
        program::run(&self.settings, &self.program, &self.host, cancel, sink).into()
    }
}

/// What became of a `bash`.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct BashOutcome {
    /// What it printed, stdout and stderr in the order of arrival.
    #[napi(ts_type = "string")]
    pub output: Option<Text>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong, a non-zero exit included; `details.output` has what was printed.
    pub error: Option<NativeError>,
    /// How many processes that it had left running were killed when it ended; missing where it did not
    /// succeed.
    pub left_running: Option<u32>,
}

impl From<Result<Ended, Unfinished>> for BashOutcome {
    fn from(ended: Result<Ended, Unfinished>) -> Self {
        match ended {
            Ok(Ended::Success { output, left_running }) => Self {
                output: Some(Text(output)),
                left_running: Some(left_running),
                ..Self::default()
            },
            Ok(Ended::Cancelled { output }) => {
                Self { output: Some(Text(output)), cancelled: true, ..Self::default() }
            }
            Err(unfinished) => {
                let error = to_error(unfinished);
                Self { cancelled: error.is_none(), error, ..Self::default() }
            }
        }
    }
}

impl Outcome for BashOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}
