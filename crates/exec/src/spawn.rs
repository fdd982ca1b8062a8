//! Starts the command.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use toolwright_sandbox::plan::{APPLY_PATCH, PROGRAMS};
use toolwright_sandbox::step::FailedStep;

use crate::classify::{classify, classify_confined, is_bad_cwd};
#[cfg(target_os = "linux")]
use crate::confined;
use crate::error::{ExecError, SpawnReason};
use crate::leader::ChildLeader;
use crate::lookup::{Lookup, lookup};
use crate::missing::Missing;
#[cfg(target_os = "linux")]
use crate::patch_reports::NotesPipe;
use crate::request::{ExecEnv, ExecRequest, Sandbox, Streams};
use crate::running_command::RunningCommand;

/// A program that was just written may for a moment still be open for writing: in another child of
/// the host, between its start and its `exec`. Tried again after these pauses.
pub(crate) const BUSY_PAUSES: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
    Duration::from_millis(30),
    Duration::from_millis(50),
];

/// A started command and the reading ends of its pipes. The host holds no writing end.
pub(crate) struct Spawned {
    pub(crate) running: RunningCommand,
    /// The file that is executed.
    pub(crate) program: PathBuf,
    pub(crate) output: PipeReader,
    /// Where stderr has a pipe of its own.
    pub(crate) stderr: Option<PipeReader>,
    /// Receives the reports of its patches.
    #[cfg(target_os = "linux")]
    pub(crate) notes: Option<NotesPipe>,
}

pub(crate) fn spawn(
    request: &ExecRequest<'_>,
    deadline: Option<Instant>,
) -> Result<Spawned, ExecError> {
    let program = find_program(request)?;
    if let Some(sandbox) = &request.sandbox {
        return confine(sandbox, request, program, deadline);
    }
    let mut pauses = BUSY_PAUSES.iter();
    loop {
        let error = match launch(request, &program, None) {
            Ok(spawned) => return Ok(spawned),
            Err(error) => error,
        };
        match pauses.next() {
            Some(pause) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(*pause);
            }
            _ => {
                let reason = classify(&error, &program, request.cwd);
                return Err(ExecError::not_started(request, reason, error));
            }
        }
    }
}

/// The file that the request names.
pub(crate) fn find_program(request: &ExecRequest<'_>) -> Result<PathBuf, ExecError> {
    let missing = |reason: SpawnReason, errno: Errno| {
        // A relative entry of PATH is looked up in the directory, so that comes first.
        let reason = if is_bad_cwd(request.cwd) { SpawnReason::BadCwd } else { reason };
        ExecError::not_started(request, reason, errno.into())
    };
    let plan = request.sandbox.as_ref().map(|sandbox| sandbox.plan);
    match lookup(request.cmd, &request.env, request.cwd, plan) {
        Lookup::Program(program) => Ok(program),
        // The command finds it where this process has nothing.
        Lookup::Nowhere if is_ours(request) => Ok(Path::new(PROGRAMS).join(request.cmd)),
        Lookup::Nowhere => Err(missing(SpawnReason::NotFound, Errno::NOENT)),
        Lookup::NotExecutable => Err(missing(SpawnReason::NotExecutable, Errno::ACCESS)),
    }
}

/// Whether the sandbox has a program of this name for its commands.
fn is_ours(request: &ExecRequest<'_>) -> bool {
    cfg!(target_os = "linux") && request.sandbox.is_some() && request.cmd == APPLY_PATCH
}

/// Starts a child with only what the standard library does by `posix_spawn`. The child enters the
/// directory before it executes the program, so a relative program is resolved from there.
///
/// `wrapped` is the program that runs it, with its own arguments, and the temporary directory.
fn launch(
    request: &ExecRequest<'_>,
    program: &Path,
    wrapped: Option<(&[OsString], &Path)>,
) -> io::Result<Spawned> {
    let (output, stdout) = io::pipe()?;
    let (stderr, stderr_writer) = match pipe_of_stderr(request)? {
        Some((reader, writer)) => (Some(reader), writer),
        None => (None, stdout.try_clone()?),
    };
    let mut command;
    if let Some(([first, others @ ..], _)) = wrapped {
        command = Command::new(first);
        command.args(others).arg(program);
    } else {
        command = Command::new(program);
        command.arg0(request.cmd);
    }
    command
        .args(request.args)
        .current_dir(request.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr_writer);
    if let ExecEnv::Exactly(variables) = &request.env {
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    }
    if let Some((_, temporary)) = wrapped {
        command.env("TMPDIR", temporary);
    }
    let child = command.spawn()?;
    // With `command` the host's writers close here; one left open would hide the end of the stream.
    drop(command);
    let running = RunningCommand::Child(ChildLeader::new(child));
    Ok(Spawned {
        running,
        program: program.to_owned(),
        output,
        stderr,
        #[cfg(target_os = "linux")]
        notes: None,
    })
}

fn pipe_of_stderr(request: &ExecRequest<'_>) -> io::Result<Option<(PipeReader, PipeWriter)>> {
    match request.streams {
        Streams::Joined => Ok(None),
        Streams::Apart => io::pipe().map(Some),
    }
}

/// Has a worker start the command behind the kernel's layers. Whether that succeeds is known later.
#[cfg(target_os = "linux")]
fn confine(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    program: PathBuf,
    deadline: Option<Instant>,
) -> Result<Spawned, ExecError> {
    let has_notes = confined::reports_patches(request);
    let pipes = confined::with_room(|| {
        let notes = has_notes.then(NotesPipe::open).transpose()?;
        Ok((io::pipe()?, pipe_of_stderr(request)?, notes))
    });
    let ((output, stdout), stderr, notes) =
        pipes.map_err(|error| ExecError::not_started(request, SpawnReason::Resources, error))?;
    let (stderr, stderr_writer) = stderr.unzip();
    let (notes, notes_writer) = notes.unzip();
    let writers = [Some(stdout), stderr_writer, notes_writer].into_iter().flatten().collect();
    let leader = confined::start(sandbox, request, &program, writers, deadline)?;
    Ok(Spawned {
        running: RunningCommand::Confined(Box::new(leader)),
        program,
        output,
        stderr,
        notes,
    })
}

/// The same by the system's own program for it.
#[cfg(target_os = "macos")]
fn confine(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    program: PathBuf,
    _deadline: Option<Instant>,
) -> Result<Spawned, ExecError> {
    use crate::missing::Requirement;
    use toolwright_sandbox::plan::Network;
    use toolwright_sandbox::seatbelt;
    let unconfined = |error: io::Error| {
        ExecError::unconfined(request, Missing::step(FailedStep::Mounts, error.to_string()))
    };
    let lacking = |layer, requirement| {
        let reason = "there is none on this system".to_owned();
        Err(ExecError::unconfined(request, Missing { layer, requirement, reason }))
    };
    if sandbox.plan.network == Network::Names {
        return lacking("a network namespace", Requirement::NamedHosts);
    }
    if sandbox.plan.is_git_strict {
        return lacking("the broker of opened files", Requirement::StrictGit);
    }
    if !Path::new(seatbelt::PROGRAM).exists() {
        return Err(unconfined(io::ErrorKind::NotFound.into()));
    }
    let temporary = crate::temporary::private().map_err(unconfined)?;
    let mut before = vec![OsString::from(seatbelt::PROGRAM)];
    before.extend(seatbelt::arguments(sandbox.plan, temporary));
    launch(request, &program, Some((&before, temporary))).map_err(|error| {
        let reason = classify(&error, Path::new(seatbelt::PROGRAM), request.cwd);
        ExecError::not_started(request, reason, error)
    })
}

/// Why a command that was given to a worker did not run.
pub(crate) fn not_started(
    request: &ExecRequest<'_>,
    program: &Path,
    step: FailedStep,
    errno: i32,
) -> ExecError {
    let source = io::Error::from_raw_os_error(errno);
    let reason = match step {
        FailedStep::Directory => SpawnReason::BadCwd,
        FailedStep::Fork => SpawnReason::Resources,
        FailedStep::Execute | FailedStep::Interpreter => {
            let is_seen = step == FailedStep::Interpreter;
            match &request.sandbox {
                Some(sandbox) => {
                    classify_confined(&source, program, request.cwd, sandbox.plan, is_seen)
                }
                None => classify(&source, program, request.cwd),
            }
        }
        step => {
            return ExecError::unconfined(request, Missing::step(step, source.to_string()));
        }
    };
    ExecError::not_started(request, reason, source)
}
