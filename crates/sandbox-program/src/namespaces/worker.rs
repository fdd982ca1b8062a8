//! Making workers.

use std::ffi::c_int;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use toolwright_sandbox::layers::{Layer, Layers, is_shortage};

use crate::{errno, mounts};

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

/// How long one waits before it is tried again, where the system was out of processes or memory.
const PAUSES_MS: [u64; 4] = [2, 5, 15, 30];

/// Forks a worker. The first time it finds out whether there can be process namespaces and records
/// it in `layers.pid`: where `/proc` is masked, the system refuses to mount a new one.
///
/// That the system is out of processes or memory is no finding. It is tried again a few times, and
/// then the error is that of this call alone.
pub fn make_worker(layers: &mut Layers) -> io::Result<Forked> {
    match layers.pid {
        Layer::Holds => {
            let forked = fork(OWN_NAMESPACES)?;
            if matches!(forked, Forked::Child) && mounts::worker_proc().is_err() {
                // Its namespace ends with it, and the supervisor sees it end.
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

/// Makes the first worker, which reports whether it could be set up. `None` means that there are no
/// process namespaces.
fn first(layers: &mut Layers) -> Result<Option<Forked>, Errno> {
    let mut pauses = PAUSES_MS.into_iter();
    loop {
        match try_first()? {
            Ok(forked) => {
                layers.pid = Layer::Holds;
                return Ok(Some(forked));
            }
            Err(errno) if is_shortage(errno.raw_os_error()) => match pauses.next() {
                Some(pause) => sleep(Duration::from_millis(pause)),
                None => return Err(errno),
            },
            Err(errno) => {
                layers.pid = Layer::Refused(errno.raw_os_error());
                return Ok(None);
            }
        }
    }
}

/// The inner error is that of the worker, the outer one the supervisor's own.
fn try_first() -> Result<Result<Forked, Errno>, Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let forked = match fork(OWN_NAMESPACES) {
        Ok(forked) => forked,
        Err(errno) => return Ok(Err(errno)),
    };
    let Forked::Parent(pid) = forked else {
        drop(reader);
        let failed = mounts::worker_proc().err().map_or(0, |error| error.errno);
        let reported = write(&writer, &failed.to_ne_bytes());
        if failed != 0 || reported.is_err() {
            end();
        }
        return Ok(Ok(forked));
    };
    drop(writer);
    let mut word = [0; size_of::<c_int>()];
    let length = retry_on_intr(|| read(&reader, &mut word))?;
    let failed = (length == word.len()).then(|| c_int::from_ne_bytes(word));
    if failed == Some(0) {
        return Ok(Ok(forked));
    }
    let ended = retry_on_intr(|| waitpid(Pid::from_raw(pid), WaitOptions::empty()));
    Ok(Err(match failed {
        Some(errno) => Errno::from_raw_os_error(errno),
        // A worker that ended without a report was killed, by a filter around this program or for
        // want of memory.
        None => match ended.ok().flatten().and_then(|(_, status)| status.terminating_signal()) {
            Some(libc::SIGKILL) => Errno::NOMEM,
            _ => Errno::PERM,
        },
    }))
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
        _ => Err(errno::last()),
    }
}

/// Ends a worker that cannot be set up, without running the handlers of the supervisor.
fn end() -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { libc::_exit(1) }
}
