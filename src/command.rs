//! `bash`: an executable run with arguments.

use std::collections::HashMap;
use std::sync::Arc;

use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::environment::{self, Filter, Policy, Variables};
use toolwright_core::command::program::{self, Ended, Program, ProgramSettings};
use toolwright_exec::{Cancel, Sink};

use crate::cancel::CancelHandle;
use crate::grants::CommandGrants;
use crate::job::Promised;
use crate::outcome::Outcome;
use crate::patch_reports::PatchReports;
use crate::sandbox::SandboxRequest;
use crate::text::Text;
use crate::{job, options, running_commands};

/// Which variables a command sees.
#[napi(object)]
pub struct EnvironmentOptions {
    /// Pass all of them, whatever they hold.
    pub inherit: bool,
    /// Names that are passed although they look like a secret; `*` stands for any characters.
    pub allow: Vec<String>,
    /// Variables that are added, or that get another value.
    pub set: HashMap<String, String>,
    /// Leave proxies out as well.
    pub network_blocked: bool,
}

impl From<EnvironmentOptions> for Policy {
    fn from(options: EnvironmentOptions) -> Self {
        let EnvironmentOptions { inherit, allow, set, network_blocked } = options;
        if inherit {
            return Self::Inherit;
        }
        let set = set.into_iter().map(|(name, value)| (name.into(), value.into()));
        let mut set: Variables = set.collect();
        set.sort();
        Self::Filtered(Filter { allow, set, network_blocked })
    }
}

/// Under what conditions commands run.
#[napi(object)]
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
pub struct CommandSettings(Arc<ProgramSettings>);

#[napi]
impl CommandSettings {
    /// Takes the options over as they are.
    #[napi(constructor, catch_unwind)]
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

impl CommandSettings {
    pub(crate) fn shared(&self) -> Arc<ProgramSettings> {
        Arc::clone(&self.0)
    }
}

/// What to run.
#[napi(object)]
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
pub(crate) struct BashRequest {
    pub(crate) settings: Arc<ProgramSettings>,
    pub(crate) program: Program,
    pub(crate) host: Arc<Variables>,
}

impl BashRequest {
    /// Must be called on the JavaScript thread, where no other code changes the environment meanwhile.
    pub(crate) fn new(
        settings: &CommandSettings,
        command: Command,
        patches: Option<&PatchReports>,
    ) -> Self {
        let Command { cmd, args, cwd, host_env, extra_env } = command;
        let host = environment::of_host(host_env, extra_env);
        let program = Program { cmd, args, cwd, patches: patches.map(PatchReports::shared) };
        Self { settings: Arc::clone(&settings.0), program, host }
    }

    /// Runs the command. With a sink, its output can be had meanwhile.
    pub(crate) fn run(
        &self,
        cancel: &Cancel,
        sink: Option<&mut dyn Sink>,
    ) -> Outcome<FinishedCommand> {
        match program::run(&self.settings, &self.program, &self.host, cancel, sink) {
            Ok(Ended::Success { output, left_running, git_notes }) => {
                Outcome::done(FinishedCommand { output: Text(output), left_running, git_notes })
            }
            Ok(Ended::Cancelled { output }) => Outcome::cancelled(Some(Text(output))),
            Err(unfinished) => Err(unfinished).into(),
        }
    }
}

/// What became of a command that succeeded.
#[napi(object, object_from_js = false)]
pub struct FinishedCommand {
    /// What it printed, stdout and stderr in the order of arrival.
    #[napi(ts_type = "string")]
    pub output: Text,
    /// How many processes that it had left running were killed when it ended.
    pub left_running: u32,
    /// What of its changes to git's configuration stayed in the sandbox, for a model.
    pub git_notes: Vec<String>,
}

/// Runs a command in a directory below the root. After a non-zero exit, `details.output` of the error has
/// what was printed.
#[napi(catch_unwind, ts_return_type = "Promise<FinishedCommand | Unfinished>")]
pub fn bash(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
) -> Result<Promised<FinishedCommand>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let request = BashRequest::new(settings, command, patches);
    Ok(job::command(move || request.run(running.cancel(), None)))
}
