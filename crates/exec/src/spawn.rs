//! Starts the command.

use std::{
    io::{self, PipeReader},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use rustix::io::Errno;

use crate::{
    classify::{classify, is_bad_cwd},
    error::{ExecError, SpawnReason},
    leader::Leader,
    lookup::{Lookup, lookup},
    request::{ExecEnv, ExecRequest},
};

/// A started command and the end of its pipe, to which the host holds no writer.
pub(crate) fn spawn(request: &ExecRequest<'_>) -> Result<(Leader, PipeReader), ExecError> {
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
    launch(request, &program)
        .map_err(|error| failed(classify(&error, &program, request.cwd), error))
}

/// Only what the standard library does with `posix_spawn`. The directory is entered in the child
/// before the program is executed, so a relative program is meant from there.
fn launch(request: &ExecRequest<'_>, program: &Path) -> io::Result<(Leader, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command
        .arg0(request.cmd)
        .args(request.args)
        .current_dir(request.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    if let ExecEnv::Exactly(variables) = &request.env {
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    }
    let child = command.spawn()?;
    // With `command` the host's writers close here; one left open would hide the end of the stream.
    drop(command);
    Ok((Leader::new(child), reader))
}
