//! Commands behind the kernel's layers, run by workers of the sandbox program.
//!
//! Each plan has a supervisor: a small process that has entered the namespaces and built the tree of
//! files. It makes workers, which run one command after the other. Both are kept for a while, because
//! making them takes several times as long as starting a command does, and both end with the host.

mod answer;
mod gate;
mod git;
mod host_leads;
mod host_questions;
mod identity;
mod leader;
mod lease;
mod needed;
mod network;
mod pool;
mod pools;
mod program;
mod relays;
mod supervisor;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(crate) use git::obstacle;
pub(crate) use leader::ConfinedLeader;
use lease::take_worker;
pub(crate) use lease::{Enforcement, Lease, probe};
pub(crate) use pools::{end_fork, release_directory, with_room};
pub(crate) use program::start as start_program;
use rustix::io::Errno;
use toolwright_sandbox::plan::{APPLY_PATCH, PROGRAMS};
use toolwright_sandbox::wire::{Request, frame_length, run_frame};

use crate::error::{ExecError, SpawnReason};
use crate::request::{ExecEnv, ExecRequest, Sandbox, Streams};

/// Starts the command. The leader reports how that went. `writers` holds the pipe for stdout, one for
/// stderr if that is separate, and one for notes.
pub(crate) fn start(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    program: &Path,
    writers: Vec<PipeWriter>,
    deadline: Option<Instant>,
) -> Result<ConfinedLeader, ExecError> {
    let mut writers: Vec<OwnedFd> = writers.into_iter().map(OwnedFd::from).collect();
    let gate = open_gate(request)?;
    let has_gate = gate.is_some();
    writers.extend(gate);
    let command = Request {
        program: program.as_os_str().as_bytes(),
        cwd: sandbox.below.as_os_str().as_bytes(),
        stderr_apart: request.streams == Streams::Apart,
        has_notes: reports_patches(request),
        has_gate,
        ..Request::default()
    };
    let (worker, frame) = take_worker_for(&command, sandbox, request, deadline)?;
    Ok(ConfinedLeader::start(worker, &frame, writers))
}

/// The worker's end of a gate to the hosts that the plan names.
pub(crate) fn open_gate(request: &ExecRequest<'_>) -> Result<Option<OwnedFd>, ExecError> {
    let Some(connections) = request.connections else { return Ok(None) };
    let opened = with_room(|| gate::open(connections));
    let opened =
        opened.map_err(|error| ExecError::not_started(request, SpawnReason::Resources, error))?;
    Ok(Some(opened))
}

/// A worker, and what asks it for the command.
pub(crate) fn take_worker_for(
    command: &Request<'_>,
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    deadline: Option<Instant>,
) -> Result<(Lease, Vec<u8>), ExecError> {
    let worker = take_worker(sandbox, request, command.is_background, deadline)?;
    let has_programs = worker.worker().layers.mount.holds();
    if has_programs && names_program(request) {
        worker.make_programs();
    }
    match frame(request, command, has_programs) {
        Ok(frame) => Ok((worker, frame)),
        Err(error) => {
            let mut worker = worker;
            worker.release();
            Err(error)
        }
    }
}

/// What asks a worker for the command. `has_programs`: it sees the directory of our own programs.
fn frame(
    request: &ExecRequest<'_>,
    command: &Request<'_>,
    has_programs: bool,
) -> Result<Vec<u8>, ExecError> {
    let arguments = std::iter::once(request.cmd).chain(request.args.iter().map(String::as_str));
    let arguments = arguments.map(str::as_bytes);
    let variables = match &request.env {
        ExecEnv::Exactly(variables) => Arc::clone(variables),
        ExecEnv::Inherit => Arc::new(std::env::vars_os().collect()),
    };
    let is_ready = matches!(request.env, ExecEnv::Inherit)
        || variables.is_sorted_by(|(one, _), (next, _)| one < next);
    let path = has_programs.then(|| path_to_programs(&variables)).flatten();
    let variables = variables.iter().map(|(name, value)| {
        let value = path.as_ref().filter(|_| name == PATH).unwrap_or(value);
        (name.as_bytes(), value.as_bytes())
    });
    let frame = if is_ready {
        run_frame(command, arguments, variables)
    } else {
        // Of two with the same name the last one counts.
        run_frame(command, arguments, variables.collect::<BTreeMap<_, _>>().into_iter())
    };
    // The frame would be too long, far beyond what the system takes for arguments and environment.
    if frame.first_chunk().is_none_or(|header| frame_length(*header).is_err()) {
        let source = Errno::TOOBIG.into();
        return Err(ExecError::not_started(request, SpawnReason::TooLong, source));
    }
    Ok(frame)
}

const PATH: &str = "PATH";

/// Whether a command line names a program of ours, perhaps somewhere in a script.
fn names_program(request: &ExecRequest<'_>) -> bool {
    let mut words = std::iter::once(request.cmd).chain(request.args.iter().map(String::as_str));
    words.any(|word| word.contains(APPLY_PATCH))
}

/// Whether a command gets a pipe for notes on its patches.
pub(crate) fn reports_patches(request: &ExecRequest<'_>) -> bool {
    request.patches.is_some() && names_program(request)
}

/// The `PATH` of a command, with the directory of our own programs behind all others. A command without
/// a `PATH` gets none.
fn path_to_programs(variables: &[(OsString, OsString)]) -> Option<OsString> {
    let (_, path) = variables.iter().rfind(|(name, value)| name == PATH && !value.is_empty())?;
    let mut path = path.clone();
    path.push(":");
    path.push(PROGRAMS);
    Some(path)
}
