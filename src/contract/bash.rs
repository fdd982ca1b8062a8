//! A command line through a shell, under a policy of its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::access::policy::Policy;
use toolwright_core::access::target::Target;
use toolwright_core::sidecar::{self, LazySidecar};
use toolwright_core::text;
use toolwright_core::voice::refusals::{Ending, explain, explain_line};
use toolwright_core::voice::{self, Door};
use toolwright_exec::{
    Cancel, ExecEnv, ExecError, ExecRequest, Exit, Finished, Head, Sandbox, Split, StoppedBy,
    Streams,
};
use toolwright_sandbox::plan::{Granted, Plan};
use toolwright_sandbox::policy::Resolved;

use super::file_error;
use super::policy::ContractGrants;
use super::sidecar::{SidecarMade, SidecarRequest};
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::environment::{EnvironmentOptions, Variables};
use crate::error::NativeError;
use crate::job::Outcome;
use crate::sandbox::SandboxRequest;
use crate::{environment, grants, job, options, running_commands, sandbox};

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
    pub given: Option<HashMap<String, String>>,
    /// Variables that join those of the host.
    pub also: Option<HashMap<String, String>>,
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

/// Runs a command line in a directory that was opened as `workdir`.
#[napi(catch_unwind, ts_return_type = "Promise<ContractBashOutcome>")]
pub fn contract_bash<'env>(
    env: &'env Env,
    workdir: &OpenedTarget,
    mut request: ContractBashRequest,
    cancel: &CancelHandle,
) -> Result<Object<'env>> {
    let running = running_commands::register(env, cancel.for_command())?;
    let host = environment::of_host(request.given.take(), request.also.take());
    let opened = workdir.target();
    job::command(env, move || match opened {
        Ok(opened) => run(&opened, &request, host, running.cancel()),
        Err(closed) => ContractBashOutcome::failed(closed.into()),
    })
}

fn run(
    opened: &Target,
    request: &ContractBashRequest,
    host: Arc<Variables>,
    cancel: &Cancel,
) -> ContractBashOutcome {
    let mut cwd = opened.file.directory_path();
    let (mut root, mut below) = root_of(&opened.policy, cwd);
    let mut directory = directory_of(opened, cwd);
    let open = Open::now(&request.grants);
    // What is closed to it cannot be where it runs either.
    if !(request.grants.reads_all || open.is_near(cwd)) {
        (cwd, root, below) = (Path::new("/"), PathBuf::from("/"), PathBuf::new());
        directory.clone_from(&root);
    }
    let plan = match plan(request, &open, &opened.policy, &root, &host) {
        Ok(plan) => plan,
        Err(error) => return ContractBashOutcome::failed(error),
    };
    sandbox::tell_of_home(&plan);
    let (shell, args) = shell_of(request);
    let stop = AtomicBool::new(false);
    let sidecar = request.sidecar.clone().map(sidecar::SidecarRequest::from);
    let mut lazy = sidecar.as_ref().map(LazySidecar::new);
    let overflow = lazy.as_mut().map(|lazy| lazy as &mut dyn toolwright_exec::Overflow);
    let limit = options::size(request.head_bytes);
    let mut split = Split::new(limit, overflow, &stop);
    let exec = ExecRequest {
        cwd: &directory,
        sandbox: Some(Sandbox {
            plan: &plan,
            below: &below,
            required: request.required.unwrap_or(false),
            isolated: false,
        }),
        env: ExecEnv::Exactly(environment::of_shell(&request.environment, host, cwd)),
        timeout: options::milliseconds(request.timeout_ms),
        max_output_bytes: 0,
        streams: Streams::Apart,
        cancel: &StoppedBy { cancel, stop: &stop },
        ..ExecRequest::new(shell, &args)
    };
    let started = Instant::now();
    let ran = toolwright_exec::run_streaming(&exec, &mut split);
    let duration = started.elapsed();
    let Head { stdout, stderr, truncated } = split.into_head();
    let stdout = text::within(stdout, limit);
    let stderr = text::within(stderr, limit.saturating_sub(stdout.len()));
    let mut outcome = ContractBashOutcome {
        truncated,
        duration_ms: Some(duration.as_secs_f64() * 1000.0),
        ..ContractBashOutcome::default()
    };
    if let Ok(finished) = &ran {
        outcome.left_running = finished.left_running;
    }
    match ran {
        Ok(Finished { exit: Exit::Code(code), .. }) => outcome.exit_code = Some(code),
        Ok(Finished { exit: Exit::Signal { name, .. }, .. }) => {
            outcome.signal = Some(name.to_string());
        }
        Err(ExecError::TimedOut { .. }) => outcome.timed_out = true,
        Err(ExecError::Cancelled { .. }) if stop.load(Ordering::Relaxed) => {
            outcome.signal = Some("SIGKILL".to_owned());
        }
        Err(ExecError::Cancelled { .. }) => outcome.cancelled = true,
        Err(error) => outcome.error = Some(failed(request, &directory, cwd, &error)),
    }
    match lazy.and_then(LazySidecar::finish) {
        None => {}
        Some(Ok(file)) => outcome.sidecar = Some(file.into()),
        Some(Err(failure)) => outcome.sidecar_failed = Some(failure.message()),
    }
    if outcome.exit_code != Some(0) {
        let explain = |printed: &str| explain(printed, &plan, Door::Session);
        let seen = explain(&stderr).or_else(|| explain(&stdout));
        outcome.hint = seen.or_else(|| network(&request.command, &outcome, &plan));
        outcome.hint = outcome.hint.take().or_else(|| open.missing());
    }
    (outcome.stdout, outcome.stderr) = (Some(stdout), Some(stderr));
    outcome
}

/// What the blocked network has to do with the end of a command.
fn network(line: &str, outcome: &ContractBashOutcome, plan: &Plan) -> Option<String> {
    let code = outcome.exit_code.map(Ending::Code);
    let ending = if outcome.timed_out { Ending::TimedOut } else { code? };
    explain_line(line, ending, plan, Door::Session)
}

/// What reads the line, and its arguments. No file of bash's own is read before it, and a line that
/// begins with a `-` is no option.
fn shell_of(request: &ContractBashRequest) -> (&str, Vec<String>) {
    let (shell, options): (&str, &[&str]) = match request.bash.as_deref() {
        Some(bash) => (bash, &["--norc", "--noprofile", "-c", "--"]),
        None => ("sh", &["-c", "--"]),
    };
    let args = options.iter().copied().chain([request.command.as_str()]);
    (shell, args.map(str::to_owned).collect())
}

/// The root of the workspace around a directory, and the way to it from there.
fn root_of(policy: &Policy, cwd: &Path) -> (PathBuf, PathBuf) {
    let around = policy
        .workspace()
        .iter()
        .find_map(|root| cwd.strip_prefix(root).ok().map(|below| (root.clone(), below.to_owned())));
    around.unwrap_or_else(|| (cwd.to_owned(), PathBuf::new()))
}

/// What of the granted directories is there.
struct Open {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    absent: Vec<PathBuf>,
}

impl Open {
    /// A pattern names a real place: one that a link has come to stand in is not granted.
    fn now(grants: &ContractGrants) -> Self {
        let mut absent = Vec::new();
        let mut there = |paths: &[String]| -> Vec<PathBuf> {
            let (there, others) = paths.iter().map(PathBuf::from).partition(|path: &PathBuf| {
                path.is_dir() && std::fs::canonicalize(path).is_ok_and(|real| real == *path)
            });
            absent.extend::<Vec<PathBuf>>(others);
            there
        };
        let (readable, writable) = (there(&grants.readable), there(&grants.writable));
        absent.sort_unstable();
        absent.dedup();
        Self { readable, writable, absent }
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.readable.iter().chain(&self.writable)
    }

    /// Whether something at a directory, below it or around it is open.
    fn is_near(&self, cwd: &Path) -> bool {
        self.all().any(|path| cwd.starts_with(path) || path.starts_with(cwd))
    }

    /// What a command may have looked for in vain.
    fn missing(&self) -> Option<String> {
        let (first, more) = self.absent.split_first()?;
        let more =
            if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
        Some(format!(
            "The capabilities open `{}`{more} to commands, and no such directory is there. It is open to the next command once it has been made, for example by writing a file in it.",
            first.display(),
        ))
    }
}

fn plan(
    request: &ContractBashRequest,
    open: &Open,
    policy: &Policy,
    root: &Path,
    host: &Variables,
) -> std::result::Result<Plan, NativeError> {
    let grants = &request.grants;
    let granted = policy.check_directories().map_err(|error| {
        file_error::told(&error).unwrap_or_else(|| NativeError::from_panic(&"cancelled"))
    })?;
    let denied: Vec<PathBuf> = request.deny_read.iter().flatten().map(PathBuf::from).collect();
    let home = sandbox::home_of(host);
    let resolved = Resolved {
        root: root.to_owned(),
        given_root: root.to_owned(),
        writable: Vec::new(),
        readable: open.readable.clone(),
        links: Vec::new(),
        closed: policy.closed_names().now(&denied, root, home.as_deref()),
        granted: Vec::new(),
    };
    let sandbox = SandboxRequest {
        network: grants.network,
        loopback: request.loopback.clone(),
        full_files: None,
        system_only: Some(!grants.reads_all),
        writable_roots: None,
        readable: Some(grants.readable.clone()),
        deny_write: request.deny_write.clone(),
        isolated: None,
        required: request.required,
        processes: request.processes,
        memory_bytes: request.memory_bytes,
        cpu_seconds: request.cpu_seconds,
        file_size_bytes: request.file_size_bytes,
    };
    let mut plan =
        sandbox.plan(root, &resolved, host).map_err(|error| sandbox::bad_option(&error))?;
    // The root is no more than what is granted of it.
    plan.writable.clone_from(&open.writable);
    if !grants.reads_all {
        let granted = |place: &Path| open.all().any(|root| place.starts_with(root));
        let ungranted: Vec<PathBuf> = policy
            .workspace()
            .iter()
            .chain(policy.other_directories())
            .filter(|place| !granted(place) && place.is_dir())
            .cloned()
            .collect();
        plan.closed.extend(ungranted);
    }
    // What a command has no part in is not held for it.
    plan.granted = granted;
    plan.granted.retain(|Granted { path, .. }| open.all().any(|open| path.starts_with(open)));
    for paths in [&mut plan.writable, &mut plan.closed] {
        paths.sort_unstable();
        paths.dedup();
    }
    Ok(plan)
}

/// The open directory itself where the system can say so, so that nothing can be swapped in.
fn directory_of(opened: &Target, cwd: &Path) -> PathBuf {
    use std::os::fd::AsRawFd;
    if cfg!(target_os = "linux") {
        format!("/proc/self/fd/{}", opened.file.directory().as_raw_fd()).into()
    } else {
        cwd.to_owned()
    }
}

fn failed(
    request: &ContractBashRequest,
    directory: &Path,
    cwd: &Path,
    error: &ExecError,
) -> NativeError {
    let hint = voice::commands::hint(error, Door::Session);
    // What it was run in is a descriptor of this process; what the caller knows is its path.
    let said = error.to_string().replace(&*directory.to_string_lossy(), &cwd.to_string_lossy());
    if let ExecError::Unconfined { missing, .. } = error {
        let summary = "Cannot confine the command".to_owned();
        let place = format!("{summary}: {}", voice::commands::missing(missing));
        return NativeError::new("TOOL_SANDBOX_UNAVAILABLE", summary, &place, &hint)
            .with("layer", missing.layer)
            .with("reason", missing.reason.as_str());
    }
    if let ExecError::GrantChanged { what, .. } = error {
        return grants::changed_meanwhile(what, &hint);
    }
    let summary = "The command could not be run".to_owned();
    let place = format!("{summary}: {said}");
    NativeError::new("PROCESS_FAILED", summary, &place, &hint)
        .with("command", request.command.as_str())
        .with("started", matches!(error, ExecError::Lost { .. }))
}
