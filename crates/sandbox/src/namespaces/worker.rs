//! Making workers.

use std::{ffi::c_int, io};

use rustix::{
    io::{Errno, read, retry_on_intr, write},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, WaitOptions, waitpid},
};

use crate::{
    layers::{Layer, Layers},
    mounts,
};

/// On which side of the fork the caller finds itself.
#[derive(Debug)]
pub enum Forked {
    /// The supervisor, which gets the worker's number.
    Parent(i32),
    /// The worker: where `layers.pid` holds, the first process of its own process namespace, with
    /// its own mounts and a `/proc` of that namespace.
    Child,
}

const OWN_NAMESPACES: c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS;

/// Forks a worker. The first time it finds out whether there can be process namespaces and records
/// it in `layers.pid`: where `/proc` is masked, the system refuses to mount a new one.
pub fn make_worker(layers: &mut Layers) -> io::Result<Forked> {
    match layers.pid {
        Layer::Holds => {
            let forked = fork(OWN_NAMESPACES)?;
            if matches!(forked, Forked::Child) && mounts::worker_proc().is_err() {
                // Its namespace goes with it; the supervisor sees it end.
                end();
            }
            Ok(forked)
        }
        Layer::Refused(_) => Ok(fork(0)?),
        Layer::Unused => match first(layers)? {
            Some(forked) => Ok(forked),
            None => Ok(fork(0)?),
        },
    }
}

/// The first worker says whether it could be set up. `None`: there are no process namespaces.
fn first(layers: &mut Layers) -> Result<Option<Forked>, Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let forked = match fork(OWN_NAMESPACES) {
        Ok(forked) => forked,
        Err(errno) => {
            layers.pid = Layer::Refused(errno.raw_os_error());
            return Ok(None);
        }
    };
    let Forked::Parent(pid) = forked else {
        drop(reader);
        let failed = mounts::worker_proc().err().map_or(0, |error| error.errno);
        let told = write(&writer, &failed.to_ne_bytes());
        if failed != 0 || told.is_err() {
            end();
        }
        layers.pid = Layer::Holds;
        return Ok(Some(forked));
    };
    drop(writer);
    let mut word = [0; size_of::<c_int>()];
    let length = retry_on_intr(|| read(&reader, &mut word))?;
    // One that ended without a word was killed.
    let failed = if length == word.len() { c_int::from_ne_bytes(word) } else { libc::EPERM };
    if failed == 0 {
        layers.pid = Layer::Holds;
        return Ok(Some(forked));
    }
    layers.pid = Layer::Refused(failed);
    let _ = retry_on_intr(|| waitpid(Pid::from_raw(pid), WaitOptions::empty()));
    Ok(None)
}

fn fork(namespaces: c_int) -> Result<Forked, Errno> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    let none = 0_usize;
    // SAFETY: without a stack and without shared memory this is a fork, which is made by a process
    // with a single thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(pid) if pid > 0 => Ok(Forked::Parent(pid)),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::AGAIN)),
    }
}

/// Ends a worker that cannot be set up, without running what the supervisor has registered.
fn end() -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { libc::_exit(1) }
}
