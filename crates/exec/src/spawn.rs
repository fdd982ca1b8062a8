//! Starts the command.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::io::Errno;

use crate::{
    classify::{classify, is_bad_cwd},
    error::{ExecError, SpawnReason},
    leader::Leader,
    lookup::{Lookup, lookup},
    request::{ExecEnv, ExecRequest, Streams},
    start_permit::StartPermit,
};

/// A program that was just written may for a moment still be open for writing: in another child of
/// the host, between its start and its `exec`. Tried again after these pauses.
const BUSY_PAUSES: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
    Duration::from_millis(30),
    Duration::from_millis(50),
];

/// A started command and the ends of its pipes, to which the host holds no writer.
pub(crate) struct Spawned {
    pub(crate) leader: Leader,
    pub(crate) output: PipeReader,
    /// Where stderr has a pipe of its own.
    pub(crate) stderr: Option<PipeReader>,
}

pub(crate) fn spawn(request: &ExecRequest<'_>) -> Result<Spawned, ExecError> {
    let failed = |reason: SpawnReason, source: io::Error| ExecError::Spawn {
        reason,
        program: request.cmd.to_owned(),
        cwd: request.cwd.to_owned(),
        source,
    };
    let missing = |reason: SpawnReason, errno: Errno| {
        // A relative entry of PATH is looked up in the directory, so that comes first.
        let reason = if is_bad_cwd(request.cwd) { SpawnReason::BadCwd } else { reason };
        failed(reason, errno.into())
    };
    let program = match lookup(request.cmd, &request.env, request.cwd) {
        Lookup::Program(program) => program,
        Lookup::Nowhere => return Err(missing(SpawnReason::NotFound, Errno::NOENT)),
        Lookup::NotExecutable => return Err(missing(SpawnReason::NotExecutable, Errno::ACCESS)),
    };
    let mut pauses = BUSY_PAUSES.iter();
    loop {
        let permit = StartPermit::wait(request.cancel);
        let launched = launch(request, &program);
        drop(permit);
        let error = match launched {
            Ok(spawned) => return Ok(spawned),
            Err(error) => error,
        };
        match pauses.next() {
            Some(pause) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(*pause);
            }
            _ => return Err(failed(classify(&error, &program, request.cwd), error)),
        }
    }
}

/// Only what the standard library does with `posix_spawn`. The directory is entered in the child
/// before the program is executed, so a relative program is meant from there.
fn launch(request: &ExecRequest<'_>, program: &Path) -> io::Result<Spawned> {
    let (output, stdout) = io::pipe()?;
    let (stderr, stderr_writer): (Option<PipeReader>, PipeWriter) = match request.streams {
        Streams::Joined => (None, stdout.try_clone()?),
        Streams::Apart => {
            let (reader, writer) = io::pipe()?;
            (Some(reader), writer)
        }
    };
    let mut command = Command::new(program);
    command
        .arg0(request.cmd)
        .args(request.args)
        .current_dir(request.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr_writer);
    if let ExecEnv::Exactly(variables) = &request.env {
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    }
    let child = command.spawn()?;
    // With `command` the host's writers close here; one left open would hide the end of the stream.
    drop(command);
    Ok(Spawned { leader: Leader::new(child), output, stderr })
}
