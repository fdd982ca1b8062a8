//! Commands behind the kernel's layers, run by workers of the sandbox program.
//!
//! Each plan has a supervisor: a small process that has entered the namespaces and built the tree of
//! files. It makes workers, which run one command after the other. Both are kept for a while, because
//! making them takes several times as long as starting a command does, and both end with the host.

mod identity;
mod leader;
mod lease;
mod needed;
mod pool;
mod pools;
mod program;
mod supervisor;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::BTreeMap;
use std::io::PipeWriter;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

pub(crate) use leader::ConfinedLeader;
pub(crate) use lease::{Enforcement, probe, take_worker};
pub(crate) use pools::{release_directory, with_room};
use rustix::io::Errno;
use toolwright_sandbox::wire::{Request, frame_length, run_frame};

use crate::error::{ExecError, SpawnReason};
use crate::request::{ExecEnv, ExecRequest, Sandbox};

/// Starts the command. The leader reports how that went. `writers` holds the pipe for stdout, and
/// one for stderr if that is separate.
pub(crate) fn start(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    program: &Path,
    writers: Vec<PipeWriter>,
    deadline: Option<Instant>,
) -> Result<ConfinedLeader, ExecError> {
    let wanted = Request {
        program: program.as_os_str().as_bytes(),
        cwd: sandbox.below.as_os_str().as_bytes(),
        stderr_apart: writers.len() > 1,
    };
    let arguments = std::iter::once(request.cmd).chain(request.args.iter().map(String::as_str));
    let arguments = arguments.map(str::as_bytes);
    let frame = match &request.env {
        ExecEnv::Exactly(variables) => {
            let is_sorted = variables.is_sorted_by(|(one, _), (next, _)| one < next);
            let variables =
                variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            if is_sorted {
                run_frame(&wanted, arguments, variables)
            } else {
                // Of two with the same name the last one counts.
                run_frame(&wanted, arguments, variables.collect::<BTreeMap<_, _>>().into_iter())
            }
        }
        ExecEnv::Inherit => {
            let variables: Vec<_> = std::env::vars_os().collect();
            let variables =
                variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            run_frame(&wanted, arguments, variables)
        }
    };
    // The frame would be too long, far beyond what the system takes for arguments and environment.
    if frame.first_chunk().is_none_or(|header| frame_length(*header).is_err()) {
        return Err(ExecError::Spawn {
            reason: SpawnReason::TooLong,
            program: request.cmd.to_owned(),
            cwd: request.cwd.to_owned(),
            source: Errno::TOOBIG.into(),
        });
    }
    let worker = take_worker(sandbox, request, deadline)?;
    Ok(ConfinedLeader::start(worker, &frame, writers))
}
