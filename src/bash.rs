//! `bash`: an executable run with arguments.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use toolwright_exec::ExecEnv;
use toolwright_exec::ExecError;
use toolwright_exec::ExecRequest;
use toolwright_exec::Exit;
use toolwright_exec::Output;
use toolwright_fs::FsError;
use toolwright_fs::Root;

use crate::cancel::CancelHandle;
use crate::error;
use crate::error::NativeError;
use crate::job;
use crate::job::Outcome;
use crate::options;

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
    /// Its environment, but for `PWD` and `OLDPWD`. JavaScript's view of it: changes that a program
    /// makes to `process.env` reach the process's own environment in Node, and do not in Bun.
    pub env: HashMap<String, String>,
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
) -> Result<PromiseRaw<'env, BashOutcome>> {
    let cancel = cancel.flag();
    job::long(env, move || {
        let located = Root::open(Path::new(&root)).and_then(|root| root.locate(&request.cwd));
        let located = match located {
            Ok(located) if located.is_directory => located,
            Ok(_) => return refused(&FsError::NotADirectory { path: request.cwd }),
            Err(error) => return refused(&error),
        };
        let cwd = if located.relative.as_os_str().is_empty() {
            located.root.clone() // `join` would put a slash behind it
        } else {
            located.root.join(&located.relative)
        };
        let mut environment: Vec<(OsString, OsString)> = request
            .env
            .iter()
            .filter(|(name, _)| !["PWD", "OLDPWD"].contains(&name.as_str()))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        environment.push(("PWD".into(), cwd.clone().into_os_string()));
        let directory = working_directory(&located, &cwd);
        let run = toolwright_exec::run(&ExecRequest {
            cmd: &request.cmd,
            args: &request.args,
            cwd: &directory,
            env: ExecEnv::Exactly(environment),
            timeout: options::milliseconds(request.timeout_ms),
            max_output_bytes: options::size(request.limit_bytes),
            cancel: &cancel,
        });
        match run {
            Ok(finished) => match finished.exit {
                Exit::Code(0) => {
                    BashOutcome { output: Some(text(finished.output)), ..BashOutcome::default() }
                }
                exit => BashOutcome::failed(not_zero(&request, &exit, finished.output)),
            },
            Err(ExecError::Cancelled { .. }) => {
                BashOutcome { cancelled: true, ..BashOutcome::default() }
            }
            Err(error) => BashOutcome::failed(failed(&request, &directory, &cwd, error)),
        }
    })
}

/// The open directory itself where the system can say so, so that nothing can be swapped in.
fn working_directory(located: &toolwright_fs::Located, cwd: &Path) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    if cfg!(target_os = "linux") {
        format!("/proc/self/fd/{}", located.descriptor.as_raw_fd()).into()
    } else {
        cwd.to_path_buf()
    }
}

fn not_zero(request: &BashRequest, exit: &Exit, output: Output) -> NativeError {
    let summary = match exit {
        Exit::Code(code) => format!("Command failed with exit code {code}"),
        Exit::Signal { name, .. } => format!("Command was killed by {name}"),
    };
    let printed = text(output);
    // The output is what explains the failure, and a model sees nothing but the message.
    let place = format!("{summary}: `{}`", request.cmd);
    let mut native = NativeError::new("TOOL_COMMAND_FAILED", summary, &place, "");
    native.message = match printed.as_str() {
        "" => format!("{} It printed nothing.", native.message),
        printed => format!("{} Output:\n{printed}", native.message),
    };
    native = match exit {
        Exit::Code(code) => native.with("exitCode", *code),
        Exit::Signal { number, name } => {
            native.with("signal", name.to_string()).with("signalNumber", *number)
        }
    };
    native
        .with("cmd", request.cmd.as_str())
        .with("args", request.args.clone())
        .with("output", printed)
}

fn failed(request: &BashRequest, directory: &Path, cwd: &Path, error: ExecError) -> NativeError {
    let hint = error.hint();
    // What it was run in is a descriptor of this process; what the caller knows is its path.
    let said = error.to_string().replace(&*directory.to_string_lossy(), &cwd.to_string_lossy());
    let described = |native: NativeError| {
        native
            .with("command", request.cmd.as_str())
            .with("args", request.args.clone())
            .with("cwd", cwd.to_string_lossy().into_owned())
    };
    if let ExecError::TimedOut { output, timeout, .. } = error {
        let ms = timeout.as_millis();
        let summary = format!("Command timed out after {ms}ms");
        let place = format!("{summary}: `{}`", request.cmd);
        let mut native = NativeError::new("PROCESS_TIMEOUT", summary, &place, hint);
        let printed = text(output);
        if !printed.is_empty() {
            native.message = format!("{} Output until then:\n{printed}", native.message);
        }
        return described(native)
            .with("timeoutMs", u64::try_from(ms).unwrap_or(u64::MAX))
            .with("output", printed);
    }
    let summary = format!("Failed to spawn {}", request.cmd);
    let place = format!("{summary}: {said}");
    described(NativeError::new("PROCESS_FAILED", summary, &place, hint))
}

/// The working directory cannot be had.
fn refused(error: &FsError) -> BashOutcome {
    if let FsError::NotFound { path } = error {
        let place = format!("Directory not found: `{path}`");
        let hint = "Check `opts.cwd`, or leave it out to run in the root directory.";
        let native = NativeError::new(error.code(), "Directory not found".to_owned(), &place, hint);
        return BashOutcome::failed(native.with("path", path.as_str()));
    }
    let native = error::from_fs(error);
    BashOutcome { cancelled: native.is_none(), error: native, ..BashOutcome::default() }
}

fn text(output: Output) -> String {
    String::from_utf8(output.bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
