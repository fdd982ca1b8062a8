//! What to run, and the checks that need no system call.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolwright_sandbox::plan::Plan;

use crate::cancel::CancelSource;
use crate::capture::Output;
use crate::command_facts::CommandFacts;
use crate::connections::Connections;
use crate::error::{ExecError, SpawnReason};
use crate::git_reports::GitReports;
use crate::missing::Missing;
use crate::output_mask::OutputMask;
use crate::patch_reports::PatchReports;

const NUL: &str = "holds a NUL byte";

/// One command to run.
#[derive(Debug)]
pub struct ExecRequest<'a> {
    /// The program: a path if it holds a slash (relative to `cwd`), otherwise a name looked up in
    /// the `PATH` the program itself will see.
    pub cmd: &'a str,
    /// Its arguments, passed on as they are.
    pub args: &'a [String],
    /// The directory to run in; may be `/proc/self/fd/N`.
    pub cwd: &'a Path,
    /// Its environment.
    pub env: ExecEnv,
    /// After this time the process group is killed.
    pub timeout: Duration,
    /// The captured output is never longer than this, and neither is each of two streams apart.
    pub max_output_bytes: usize,
    /// Whether the captured output is the text that a person would see at the end, without what moves the cursor. A
    /// sink gets all bytes.
    pub is_screen: bool,
    /// Set from another thread to kill the process group: an `AtomicBool`, or a
    /// [`Cancel`](crate::Cancel), which is noticed at once. Also in an `Arc`.
    pub cancel: &'a dyn CancelSource,
    /// Whether stderr comes in the order of arrival or by itself.
    pub streams: Streams,
    /// How it is confined. `None`: not at all.
    pub sandbox: Option<Sandbox<'a>>,
    /// Where the patches of a confined command are reported, if its words name the program for them.
    pub patches: Option<&'a PatchReports>,
    /// Where it is reported what a confined command has changed of git's configuration in vain.
    pub git: Option<&'a GitReports>,
    /// Where it is noted what the kernel has counted of refusals, however the command ends.
    pub facts: Option<&'a CommandFacts>,
    /// What decides about the hosts of a command whose plan names some, and where they are noted.
    pub connections: Option<&'a Arc<Connections>>,
    /// What is masked of its output before anybody keeps or sees it, and where that is counted.
    pub mask: Option<&'a Arc<OutputMask>>,
}

/// How a command is confined.
#[derive(Debug, Clone, Copy)]
pub struct Sandbox<'a> {
    /// The plan of the command.
    pub plan: &'a Plan,
    /// The directory to run in, below the plan's root; empty for the root itself. The request's `cwd`
    /// is the same directory as this process sees it.
    pub below: &'a Path,
    /// Whether it may not run where a layer for files or processes is missing either.
    pub required: bool,
    /// Whether nothing is shared with other commands of the plan.
    pub isolated: bool,
    /// Called before a command that nothing confines to its files although its plan does, with the
    /// reason. A host that does not require the layers would not learn of it otherwise.
    pub on_open_files: fn(&str),
}

/// What becomes of stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// stderr shares the pipe of stdout, so that both are kept in the order of arrival.
    #[default]
    Joined,
    /// It has a pipe of its own. What of one came before what of the other is not known.
    Apart,
}

/// Where the environment of the program comes from.
#[derive(Debug, Clone, Default)]
pub enum ExecEnv {
    /// That of the host process.
    #[default]
    Inherit,
    /// These variables and no others; of two with the same name the last one counts.
    Exactly(Arc<Vec<(OsString, OsString)>>),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> ExecRequest<'a> {
    /// Runs `cmd` here, with the environment of the host, for 60 seconds, with 200,000 bytes of
    /// output and without cancellation. Made for `ExecRequest { cwd, ..ExecRequest::new(cmd, args)
    /// }`.
    #[must_use]
    pub fn new(cmd: &'a str, args: &'a [String]) -> Self {
        Self {
            cmd,
            args,
            cwd: Path::new("."),
            env: ExecEnv::Inherit,
            timeout: Duration::from_secs(60),
            max_output_bytes: 200_000,
            is_screen: false,
            cancel: &NEVER,
            streams: Streams::Joined,
            sandbox: None,
            patches: None,
            git: None,
            facts: None,
            connections: None,
            mask: None,
        }
    }

    /// Refuses what no system call could express.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        let refuse = |what: String, problem: &'static str| {
            Err(ExecError::InvalidInput { program: self.cmd.to_owned(), what, problem })
        };
        if self.cmd.is_empty() {
            return refuse("cmd".to_owned(), "is empty");
        }
        if self.cmd.contains('\0') {
            return refuse("cmd".to_owned(), NUL);
        }
        if let Some(index) = self.args.iter().position(|arg| arg.contains('\0')) {
            return refuse(format!("args[{index}]"), NUL);
        }
        if self.cwd.as_os_str().as_bytes().contains(&0) {
            return refuse("cwd".to_owned(), NUL);
        }
        if let ExecEnv::Exactly(variables) = &self.env {
            for (name, value) in &**variables {
                let (bytes, what) = (name.as_bytes(), || format!("env {}", name.display()));
                if bytes.is_empty() || bytes.contains(&b'=') {
                    return refuse(what(), "has no valid name");
                }
                if bytes.contains(&0) || value.as_bytes().contains(&0) {
                    return refuse(what(), NUL);
                }
            }
        }
        Ok(())
    }
}

impl ExecError {
    pub(crate) fn not_started(
        request: &ExecRequest<'_>,
        reason: SpawnReason,
        source: io::Error,
    ) -> Self {
        let (program, cwd) = (request.cmd.to_owned(), request.cwd.to_owned());
        Self::Spawn { reason, program, cwd, source }
    }

    pub(crate) fn unconfined(request: &ExecRequest<'_>, missing: Missing) -> Self {
        Self::Unconfined { program: request.cmd.to_owned(), missing }
    }

    /// Of a command that was cancelled before it was started.
    pub(crate) fn cancelled_before(request: &ExecRequest<'_>) -> Self {
        let stderr = (request.streams == Streams::Apart).then(Output::default);
        let program = request.cmd.to_owned();
        Self::Cancelled { program, output: Output::default(), stderr }
    }

    /// Of a command whose time was up before it was started.
    pub(crate) fn timed_out_before(request: &ExecRequest<'_>) -> Self {
        let stderr = (request.streams == Streams::Apart).then(Output::default);
        let (program, timeout) = (request.cmd.to_owned(), request.timeout);
        Self::TimedOut { program, output: Output::default(), stderr, timeout }
    }
}
