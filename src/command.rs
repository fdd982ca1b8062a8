//! One command, from a request to its outcome: what `bash` and its stream share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi_derive::napi;
use toolwright_core::failure::files;
use toolwright_core::voice::refusals::{Ending, explain, explain_program};
use toolwright_core::voice::{self, Door};
use toolwright_exec::{
    Cancel, ExecEnv, ExecError, ExecRequest, Exit, Finished, Output, Sandbox, Sink,
};
use toolwright_fs::{FsError, Granted, Located};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::policy::{GrantError, Grants};

use crate::environment::EnvironmentOptions;
use crate::error::NativeError;
use crate::grants::CommandGrants;
use crate::job::Outcome;
use crate::sandbox::SandboxRequest;
use crate::text::Text;
use crate::{environment, error, grants, options, sandbox};

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

/// The same, taken over once for any number of commands: reading some twenty options takes as long
/// as handing a command to its worker.
#[napi]
#[derive(Debug)]
pub struct CommandSettings {
    options: Arc<CommandOptions>,
    root: Arc<Granted>,
    grants: Arc<Grants>,
}

#[napi]
impl CommandSettings {
    /// Takes the options over as they are.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(options: CommandOptions, grants: &CommandGrants) -> Self {
        let (root, grants) = (Arc::clone(&grants.root), Arc::clone(&grants.all));
        Self { options: Arc::new(options), root, grants }
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
    pub given: Option<HashMap<String, String>>,
    /// Variables that join those of the host.
    pub also: Option<HashMap<String, String>>,
}

/// A command with everything it needs.
#[derive(Debug)]
pub(crate) struct BashRequest {
    command: Command,
    options: Arc<CommandOptions>,
    root: Arc<Granted>,
    grants: Arc<Grants>,
    /// The host's variables.
    host: Arc<environment::Variables>,
}

impl BashRequest {
    /// Called on the JavaScript thread, where nobody changes the environment meanwhile.
    pub(crate) fn new(settings: &CommandSettings, mut command: Command) -> Self {
        let host = environment::of_host(command.given.take(), command.also.take());
        let CommandSettings { options, root, grants } = settings;
        let (options, root, grants) = (Arc::clone(options), Arc::clone(root), Arc::clone(grants));
        Self { command, options, root, grants, host }
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
    /// end by itself.
    pub left_running: Option<u32>,
}

impl Outcome for BashOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Runs a command; with a sink, its output can be had meanwhile.
pub(crate) fn run(
    request: BashRequest,
    cancel: &Cancel,
    sink: Option<&mut dyn Sink>,
) -> BashOutcome {
    let BashRequest { command, options, root, grants, host } = request;
    let located = root.open().and_then(|root| root.locate(&command.cwd));
    let located = match located {
        Ok(located) if located.is_directory => located,
        Ok(_) => return refused(&FsError::NotADirectory { path: command.cwd }),
        Err(error) => return refused(&error),
    };
    let cwd = if located.relative.as_os_str().is_empty() {
        located.root.clone() // `join` would put a slash behind it
    } else {
        located.root.join(&located.relative)
    };
    let directory = working_directory(&located, &cwd);
    let resolved = match grants.resolve() {
        Ok(resolved) => resolved,
        Err(error) => return ungranted(&error),
    };
    let plan = match options.sandbox.plan(&located.root, &resolved, &host) {
        Ok(plan) => plan,
        Err(error) => return BashOutcome::failed(sandbox::bad_option(&error)),
    };
    sandbox::tell_of_home(&plan);
    let exec = ExecRequest {
        cwd: &directory,
        sandbox: Some(Sandbox {
            plan: &plan,
            below: &located.relative,
            required: options.sandbox.required.unwrap_or(false),
            isolated: options.sandbox.isolated.unwrap_or(false),
        }),
        env: ExecEnv::Exactly(environment::of_command(&options.environment, host, &cwd)),
        timeout: options::milliseconds(options.timeout_ms),
        max_output_bytes: options::size(options.limit_bytes),
        cancel,
        ..ExecRequest::new(&command.cmd, &command.args)
    };
    let limit = exec.max_output_bytes;
    let ran = match sink {
        Some(sink) => toolwright_exec::run_streaming(&exec, sink),
        None => toolwright_exec::run(&exec),
    };
    match ran {
        Ok(Finished { exit: Exit::Code(0), output, left_running, .. }) => BashOutcome {
            output: Some(Text(text(output, limit))),
            left_running: Some(left_running),
            ..BashOutcome::default()
        },
        Ok(Finished { exit, output, left_running, .. }) => {
            let error = Some(not_zero(&command, &plan, &exit, text(output, limit)));
            BashOutcome { error, left_running: Some(left_running), ..BashOutcome::default() }
        }
        Err(ExecError::Cancelled { output, .. }) => BashOutcome {
            output: Some(Text(text(output, limit))),
            cancelled: true,
            ..BashOutcome::default()
        },
        Err(error) => BashOutcome::failed(failed(&command, &plan, limit, &directory, &cwd, error)),
    }
}

/// The open directory itself where the system can say so, so that nothing can be swapped in.
fn working_directory(located: &Located, cwd: &Path) -> PathBuf {
    use std::os::fd::AsRawFd;
    if cfg!(target_os = "linux") {
        format!("/proc/self/fd/{}", located.descriptor.as_raw_fd()).into()
    } else {
        cwd.to_path_buf()
    }
}

fn not_zero(command: &Command, plan: &Plan, exit: &Exit, printed: String) -> NativeError {
    let summary = match exit {
        Exit::Code(code) => format!("Command failed with exit code {code}"),
        Exit::Signal { name, .. } => format!("Command was killed by {name}"),
    };
    // The output is what explains the failure, and a model sees nothing but the message.
    let place = format!("{summary}: `{}`", command.cmd);
    let mut native = NativeError::new("TOOL_COMMAND_FAILED", summary, &place, "");
    native.message = match printed.as_str() {
        "" => format!("{} It printed nothing.", native.message),
        printed => format!("{} Output:\n{printed}", native.message),
    };
    let unsaid = || match exit {
        Exit::Code(code) => network(command, plan, Ending::Code(*code)),
        Exit::Signal { .. } => None,
    };
    if let Some(hint) = explain(&printed, plan, Door::Tools).or_else(unsaid) {
        native.message = format!("{}\n{hint}", native.message.trim_end());
        native.hint = hint;
    }
    native = match exit {
        Exit::Code(code) => native.with("exitCode", *code),
        Exit::Signal { number, name } => {
            native.with("signal", name.to_string()).with("signalNumber", *number)
        }
    };
    native
        .with("cmd", command.cmd.as_str())
        .with("args", command.args.clone())
        .with("output", printed)
}

fn network(command: &Command, plan: &Plan, ending: Ending) -> Option<String> {
    explain_program(&command.cmd, &command.args, ending, plan, Door::Tools)
}

fn failed(
    command: &Command,
    plan: &Plan,
    limit: usize,
    directory: &Path,
    cwd: &Path,
    error: ExecError,
) -> NativeError {
    let hint = voice::commands::hint(&error, Door::Tools).into_owned();
    // What it was run in is a descriptor of this process; what the caller knows is its path.
    let said = error.to_string().replace(&*directory.to_string_lossy(), &cwd.to_string_lossy());
    let described = |native: NativeError| {
        native
            .with("command", command.cmd.as_str())
            .with("args", command.args.clone())
            .with("cwd", cwd.to_string_lossy().into_owned())
    };
    if let ExecError::TimedOut { output, timeout, .. } = error {
        let ms = timeout.as_millis();
        let summary = format!("Command timed out after {ms}ms");
        let place = format!("{summary}: `{}`", command.cmd);
        let waited = network(command, plan, Ending::TimedOut);
        let hint = waited
            .map_or(hint, |waited| format!("The command and its children were killed. {waited}"));
        let mut native = NativeError::new("PROCESS_TIMEOUT", summary, &place, &hint);
        let printed = text(output, limit);
        if !printed.is_empty() {
            native.message = format!("{} Output until then:\n{printed}", native.message);
        }
        return described(native)
            .with("timeoutMs", u64::try_from(ms).unwrap_or(u64::MAX))
            .with("output", printed);
    }
    if let ExecError::Unconfined { missing, .. } = &error {
        let summary = format!("Cannot confine {}", command.cmd);
        let place = format!("{summary}: {}", voice::commands::missing(missing));
        return described(NativeError::new("TOOL_SANDBOX_UNAVAILABLE", summary, &place, &hint))
            .with("layer", missing.layer)
            .with("reason", missing.reason.as_str());
    }
    if let ExecError::GrantChanged { what, .. } = &error {
        return described(grants::changed_meanwhile(what, &hint));
    }
    let summary = format!("Failed to spawn {}", command.cmd);
    let place = format!("{summary}: {said}");
    let started = matches!(error, ExecError::Lost { .. });
    described(NativeError::new("PROCESS_FAILED", summary, &place, &hint)).with("started", started)
}

/// A grant cannot be used.
fn ungranted(error: &GrantError) -> BashOutcome {
    let native = grants::refused(error);
    BashOutcome { cancelled: native.is_none(), error: native, ..BashOutcome::default() }
}

/// The working directory cannot be had.
fn refused(error: &FsError) -> BashOutcome {
    let hint = "Check `opts.cwd`, or leave it out to run in the root directory.";
    let native = error::to_error(files::working_directory(error, hint));
    BashOutcome { cancelled: native.is_none(), error: native, ..BashOutcome::default() }
}

/// Within the limit also after decoding, in which a byte that is not UTF-8 becomes three.
fn text(output: Output, limit: usize) -> String {
    toolwright_core::text::within(output.bytes, limit)
}
