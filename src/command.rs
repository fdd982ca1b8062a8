//! `bash`: an executable run with arguments.
#![expect(clippy::needless_pass_by_value, reason = "napi hands buffers over so")]

use std::collections::HashMap;
use std::sync::Arc;

use napi::bindgen_prelude::Buffer;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::command::capture::{self, CaptureTerms};
use toolwright_core::command::environment::{self, Policy, Variables};
use toolwright_core::command::output;
use toolwright_core::command::output_stream::{Event, OutputStream};
use toolwright_core::command::process::{self, CommandOutcome};
use toolwright_core::command::program::{self, Program, ProgramSettings, Succeeded};
use toolwright_exec::screen;

use crate::call::{self, Awaited, CancelHandle, Outcome, Promised};
use crate::command_notes::{HostConnection, SandboxDenial};
use crate::cross::{Cross, cross, float};
use crate::grants::CommandGrants;
use crate::kept_process::{KeepOptions, KeptProcess};
use crate::masks::{MaskRequest, MaskedSecret};
use crate::patches::PatchReports;
use crate::running;
use crate::sandbox::SandboxRequest;
use crate::text::Text;

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

impl Cross<Policy> for EnvironmentOptions {
    fn cross(self) -> Policy {
        let Self { inherit, allow, set, network_blocked } = self;
        if inherit {
            return Policy::Inherit;
        }
        let mut set: Variables = set.cross();
        set.sort();
        Policy::filtered(allow, set, network_blocked)
    }
}

/// Under what conditions commands run.
#[napi(object, object_to_js = false)]
pub struct CommandOptions {
    /// Which variables they see.
    pub environment: EnvironmentOptions,
    /// What is masked of their output. None: nothing.
    pub mask: Option<MaskRequest>,
    /// What they may do.
    pub sandbox: SandboxRequest,
    /// The most output that is given back.
    pub limit_bytes: f64,
    /// When a command and its children are killed.
    pub timeout_ms: f64,
    /// Whether the model has `process_start`.
    pub starts_processes: Option<bool>,
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
            sandbox: options.sandbox.cross(),
            environment: options.environment.cross(),
            mask: options.mask.cross(),
            max_output_bytes: options.limit_bytes.cross(),
            timeout: options.timeout_ms.cross(),
            starts_processes: options.starts_processes.cross(),
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

impl Command {
    /// The program, and the variables of the host. Must be called on the JavaScript thread, where no other
    /// code changes the environment meanwhile.
    pub(crate) fn program(self, patches: Option<&PatchReports>) -> (Program, Arc<Variables>) {
        let Self { cmd, args, cwd, host_env, extra_env } = self;
        let patches = patches.map(PatchReports::shared);
        (Program { cmd, args, cwd, patches }, environment::of_host(host_env, extra_env))
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
    /// What the sandbox kept from it, for a model: changes to git directories, and hosts.
    pub notes: Vec<String>,
    /// The hosts that it asked for.
    pub connections: Vec<HostConnection>,
    /// What the sandbox refused.
    pub denials: Vec<SandboxDenial>,
    /// The secrets that are masked in the output.
    pub masked: Vec<MaskedSecret>,
    /// The process as which it goes on after its timeout; the output is what it printed until then.
    pub process: Option<KeptProcess>,
}

impl Cross<FinishedCommand> for CommandOutcome<Succeeded> {
    fn cross(self) -> FinishedCommand {
        FinishedCommand { process: self.process.cross(), ..self.output.cross() }
    }
}

impl Cross<FinishedCommand> for Succeeded {
    fn cross(self) -> FinishedCommand {
        let Self { output, left_running, noted } = self;
        let output::Noted { notes, connections, denials, masked, .. } = noted;
        let (connections, denials) = (connections.cross(), denials.cross());
        FinishedCommand {
            output: Text(output),
            left_running,
            notes,
            connections,
            denials,
            masked: masked.cross(),
            process: None,
        }
    }
}

/// Runs a command in a directory below the root. After a non-zero exit, `details.output` of the error has
/// what was printed. With `keep` it goes on as a process at its timeout.
#[napi(catch_unwind, ts_return_type = "Promise<FinishedCommand | Unfinished>")]
pub fn bash(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
    keep: Option<KeepOptions>,
) -> Result<Promised<FinishedCommand>> {
    let options = keep.map(|keep| keep.background(env)).transpose()?;
    let (settings, (program, host)) = (settings.shared(), command.program(patches));
    call::command(env, cancel, move |cancel| {
        process::run_program(&settings, &program, options.as_ref(), &host, cancel)
    })
}

/// The terms of one program.
#[napi(object)]
pub struct CommandTerms {
    /// When it and its children are killed.
    pub timeout_ms: f64,
    /// The most bytes of each stream.
    pub stream_bytes: f64,
    /// Whether each is the text that a person would see at the end, and not every byte.
    pub is_screen: bool,
    /// Variables that join those of the policy.
    pub variables: Option<HashMap<String, String>>,
    /// The line that the model has sent, where the arguments are a script around it.
    pub line: Option<String>,
}

cross! { CommandTerms => CaptureTerms { timeout: timeout_ms, stream_bytes, is_screen, variables, line } }

/// The text that a person would see of an output at the end.
#[napi(catch_unwind)]
pub fn screen_text(bytes: Buffer) -> String {
    String::from_utf8_lossy(&screen::text(&bytes)).into_owned()
}

/// What a command printed, and how it ended.
#[napi(object, object_from_js = false)]
pub struct CommandOutput {
    /// What it wrote there, as far as it is given back.
    pub stdout: String,
    /// What it wrote there, as far as it is given back.
    pub stderr: String,
    /// None when it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Its number.
    pub signal_number: Option<i32>,
    /// Its time was up.
    pub timed_out: bool,
    /// It wrote more than is given back.
    pub truncated: bool,
    /// The file with all of it, in the order of arrival.
    pub sidecar: Option<String>,
    /// How many bytes are missing in that file, before its end.
    pub sidecar_left_out: f64,
    /// Why all of it is nowhere.
    pub sidecar_failed: Option<String>,
    /// What the sandbox seems to have refused.
    pub hint: Option<String>,
    /// How many processes that it had left running were killed when it ended.
    pub left_running: u32,
    /// What the sandbox kept from it, for a model: changes to git directories, and hosts.
    pub notes: Vec<String>,
    /// The hosts that it asked for.
    pub connections: Vec<HostConnection>,
    /// What the sandbox refused.
    pub denials: Vec<SandboxDenial>,
    /// The secrets that are masked in the output.
    pub masked: Vec<MaskedSecret>,
    /// The process as which it goes on after its timeout.
    pub process: Option<KeptProcess>,
}

impl Cross<CommandOutput> for output::CommandOutput {
    fn cross(self) -> CommandOutput {
        let Self { stdout, stderr, truncated, sidecar, end, hint, left_running, noted } = self;
        let output::Noted { notes, connections, denials, masked, .. } = noted;
        let (sidecar, sidecar_failed) = match sidecar.transpose() {
            Ok(file) => (file, None),
            Err(failure) => (None, Some(failure.message())),
        };
        let sidecar_left_out = sidecar.as_ref().map_or(0.0, |file| float(file.left_out));
        let sidecar = sidecar.map(|file| file.path).cross();
        let (exit_code, (signal_number, signal)) = (end.code(), end.signal());
        CommandOutput {
            stdout,
            stderr,
            exit_code,
            signal,
            signal_number,
            timed_out: end.is_timeout(),
            truncated,
            sidecar,
            sidecar_left_out,
            sidecar_failed,
            hint,
            left_running,
            notes,
            connections: connections.cross(),
            denials: denials.cross(),
            masked: masked.cross(),
            process: None,
        }
    }
}

impl Cross<CommandOutput> for CommandOutcome<output::CommandOutput> {
    fn cross(self) -> CommandOutput {
        CommandOutput { process: self.process.cross(), ..self.output.cross() }
    }
}

/// Runs a command in a directory below the root. Neither an exit code nor a timeout is an error.
#[napi(catch_unwind, ts_return_type = "Promise<CommandOutput | Unfinished>")]
pub fn run_captured(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    terms: CommandTerms,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
) -> Result<Promised<CommandOutput>> {
    let (settings, (program, host)) = (settings.shared(), command.program(patches));
    let terms = terms.cross();
    call::command(env, cancel, move |cancel| {
        capture::run(&settings, &program, &host, &terms, cancel)
    })
}

/// What has happened since the last event.
#[napi(object, object_from_js = false)]
pub struct BashEvent {
    /// New text, stdout and stderr in the order of arrival.
    pub text: String,
    /// True once there is more output than fits: no more text comes, and the outcome has the
    /// beginning and the end.
    pub cut: bool,
    /// How the command ended; the last event has it.
    #[napi(ts_type = "FinishedCommand | Unfinished")]
    pub outcome: Option<Outcome<FinishedCommand>>,
}

cross! { Event => BashEvent { text, cut, outcome } }

/// A running command. It is stopped when this is collected.
#[napi]
pub struct BashStream(OutputStream);

/// Starts a command in a directory below the root.
#[napi(catch_unwind)]
pub fn bash_stream(
    env: &Env,
    settings: &CommandSettings,
    command: Command,
    cancel: &CancelHandle,
    patches: Option<&PatchReports>,
) -> Result<BashStream> {
    let cancel = cancel.for_command();
    let running = running::command(env, Arc::clone(&cancel))?;
    let (settings, (program, host)) = (settings.shared(), command.program(patches));
    let (stream, work) = OutputStream::new(&program.cmd.clone(), &cancel, move |sink| {
        program::run(&settings, &program, &host, running.cancel(), Some(sink))
    });
    call::detached_command(work);
    Ok(BashStream(stream))
}

#[napi]
impl BashStream {
    /// Waits for the next event. The event with the outcome is the last: another call never settles.
    #[napi(catch_unwind, ts_return_type = "Promise<BashEvent>")]
    pub fn next(&self) -> Awaited<BashEvent> {
        call::awaited(self.0.next())
    }
}
