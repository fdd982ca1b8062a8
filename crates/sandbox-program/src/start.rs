//! Starting one command: what its process does until it executes the program.
//!
//! The process shares the worker's memory until then; see [`prefork`](crate::prefork).

use std::ffi::{c_char, c_int};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::{io, ptr};

use rustix::io::Errno;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::NOTES_DESCRIPTOR;

use crate::worker::Worker;
use crate::{errno, filter};

pub(crate) struct Start<'a> {
    /// The directory below the root, which it does not lead out of.
    pub(crate) cwd: *const c_char,
    pub(crate) program: *const c_char,
    pub(crate) arguments: *const *const c_char,
    pub(crate) variables: *const *const c_char,
    /// Without one, stdin is empty.
    pub(crate) stdin: Option<BorrowedFd<'a>>,
    /// Whether stdin is a terminal that is to be the command's.
    pub(crate) has_terminal: bool,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// Where the program `apply_patch` tells the host about patches.
    pub(crate) notes: Option<BorrowedFd<'a>>,
    /// By which the worker asks the host for names and connections.
    pub(crate) gate: Option<BorrowedFd<'a>>,
    /// Is closed by the execution of the program, and not before.
    pub(crate) executed: BorrowedFd<'a>,
}

type Failure = (FailedStep, i32);

/// Confines the process as far as no knowledge of the command is needed.
pub(crate) fn confine(worker: &Worker) -> Result<(), Failure> {
    let at = |step: FailedStep| move |error: io::Error| (step, errno::of(&error).raw_os_error());
    // SAFETY: system calls on no memory but a literal.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The signal does not come if the worker ended before the call above.
        if rustix::process::getppid() != Some(worker.pid) {
            libc::_exit(127);
        }
        // The file is opened anew, because a command's settings for an open file would stay with
        // the worker's.
        let stdin = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if libc::dup2(stdin, 0) < 0 {
            return Err((FailedStep::Other, errno::last().raw_os_error()));
        }
        libc::close(stdin);
    }
    worker.scheduling.apply_in_child().map_err(at(FailedStep::Other))?;
    worker.capabilities.apply_in_child().map_err(at(FailedStep::Capabilities))?;
    // The thread that files are made on has entered the rules, and this process has come from it.
    if worker.file_thread().is_none() {
        worker.rules.restrict_self().map_err(at(FailedStep::Landlock))?;
    }
    if let Some(brokered) = worker.brokered.as_ref().filter(|brokered| brokered.is_known_early()) {
        brokered.install(None).map_err(at(FailedStep::Broker))?;
    }
    Ok(())
}

/// Comes back only if something failed.
pub(crate) fn execute(worker: &Worker, start: &Start<'_>) -> Failure {
    // SAFETY: system calls on values that live until the program is executed.
    unsafe {
        if !enter(worker.root.as_raw_fd(), start.cwd) {
            return (FailedStep::Directory, errno::last().raw_os_error());
        }
        let ends = [(start.stdin, 0), (Some(start.stdout), 1), (Some(start.stderr), 2)];
        for (from, to) in ends {
            if from.is_some_and(|from| libc::dup2(from.as_raw_fd(), to) < 0) {
                return (FailedStep::Other, errno::last().raw_os_error());
            }
        }
        if let Err(failure) = begin_group(worker, start.has_terminal) {
            return failure;
        }
        if let Some(brokered) = &worker.brokered
            && !brokered.is_known_early()
            && let Err(error) = brokered.install(start.gate)
        {
            return (FailedStep::Broker, errno::of(&error).raw_os_error());
        }
        // Not sooner: nothing may be allocated from here on.
        if let Err(error) = worker.limits.apply_in_child() {
            return (FailedStep::Limits, errno::of(&error).raw_os_error());
        }
        // `execve` closes all of them too. Before Linux 5.9 that has to suffice.
        let open = in_order(start.executed.as_raw_fd(), pass_notes(start));
        for (first, last) in [(3, open.0 - 1), (open.0 + 1, open.1 - 1), (open.1 + 1, c_int::MAX)] {
            if first <= last
                && libc::syscall(libc::SYS_close_range, first, last, 0) != 0
                && errno::last() != Errno::NOSYS
            {
                return (FailedStep::Other, errno::last().raw_os_error());
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(start.program, start.arguments, start.variables);
        let errno = errno::last().raw_os_error();
        let there = errno == libc::ENOENT && libc::access(start.program, libc::F_OK) == 0;
        (if there { FailedStep::Interpreter } else { FailedStep::Execute }, errno)
    }
}

/// Gives the pipe for notes its number, and returns that. Without it there are no notes.
///
/// # Safety
///
/// Nothing but `executed` may be needed any more that is open under the number.
unsafe fn pass_notes(start: &Start<'_>) -> Option<c_int> {
    let notes = start.notes.filter(|_| start.executed.as_raw_fd() != NOTES_DESCRIPTOR)?;
    if notes.as_raw_fd() == NOTES_DESCRIPTOR {
        // SAFETY: a system call on no memory.
        return (unsafe { libc::fcntl(NOTES_DESCRIPTOR, libc::F_SETFD, 0) } == 0)
            .then_some(NOTES_DESCRIPTOR);
    }
    // SAFETY: the caller's promise.
    (unsafe { libc::dup2(notes.as_raw_fd(), NOTES_DESCRIPTOR) } == NOTES_DESCRIPTOR)
        .then_some(NOTES_DESCRIPTOR)
}

/// Both descriptors, the lower one first; twice the same if there is only one.
fn in_order(one: c_int, other: Option<c_int>) -> (c_int, c_int) {
    let other = other.unwrap_or(one);
    (one.min(other), one.max(other))
}

/// Begins the process group that the command is killed with.
///
/// # Safety
///
/// A terminal must be open as stdin if the command has one.
unsafe fn begin_group(worker: &Worker, has_terminal: bool) -> Result<(), Failure> {
    // SAFETY: system calls on no memory.
    unsafe {
        if !has_terminal {
            // In the supervisor's session, which has no terminal. With a session of its own, each command
            // would have as large a share of the processors as the host has.
            libc::setpgid(0, 0);
        } else if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
            return Err((FailedStep::Terminal, errno::last().raw_os_error()));
        }
    }
    if !worker.pin.is_empty() {
        // Keeps the command in its process group, where nothing else holds it together.
        filter::install(&worker.pin)
            .map_err(|error| (FailedStep::Seccomp, errno::of(&error).raw_os_error()))?;
    }
    Ok(())
}

/// Makes `path` below `root` the working directory, one step at a time. The host has resolved
/// links, so a link here is a new one, and is refused. (`openat2` would take one call, but the
/// filter cannot see its arguments.)
///
/// # Safety
///
/// `path` must end with a NUL.
unsafe fn enter(root: RawFd, mut path: *const c_char) -> bool {
    const MAX_NAME_BYTES: usize = 255;
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mut step = [0; MAX_NAME_BYTES + 1];
    // SAFETY: the caller's promise; a step ends with the NUL that is left at the end of its buffer.
    unsafe {
        if libc::fchdir(root) != 0 {
            return false;
        }
        while *path != 0 {
            let mut length = 0;
            while *path != 0 && *path.cast::<u8>() != b'/' {
                if length == MAX_NAME_BYTES {
                    *libc::__errno_location() = libc::ENAMETOOLONG;
                    return false;
                }
                step[length] = *path;
                length += 1;
                path = path.add(1);
            }
            step[length] = 0;
            if *path != 0 {
                path = path.add(1);
            }
            let opened = libc::openat(libc::AT_FDCWD, step.as_ptr(), flags);
            if opened < 0 || libc::fchdir(opened) != 0 {
                return false;
            }
            // The descriptors go with all others.
        }
        true
    }
}
