//! Starting one command from a worker.
//!
//! The child shares the worker's memory until it executes the program, so that nothing is copied and
//! its failure is told by writing to a variable. In return it must not allocate, lock or panic.

use std::{
    ffi::{c_char, c_int, c_void},
    io,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    ptr,
    sync::atomic::{AtomicI32, AtomicU8, Ordering},
};

use rustix::process::Pid;
use toolwright_sandbox::{
    broker::install_in_child, limits, namespaces, rules::Ruleset, step::FailedStep,
};

use crate::worker::Brokered;

/// What a command is started with.
pub(crate) struct Start<'a> {
    /// The directory that `cwd` is looked up in, and does not lead out of.
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) cwd: *const c_char,
    pub(crate) program: *const c_char,
    pub(crate) arguments: *const *const c_char,
    pub(crate) variables: *const *const c_char,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    pub(crate) rules: &'a Ruleset,
    pub(crate) limits: &'a limits::Prepared,
    pub(crate) capabilities: &'a namespaces::Kept,
    /// Keeps the command in its process group, where nothing else holds it together.
    pub(crate) pin: &'a [libc::sock_filter],
    /// Makes some of its calls wait for the worker.
    pub(crate) brokered: Option<&'a Brokered>,
}

struct Shared<'a> {
    start: &'a Start<'a>,
    step: AtomicU8,
    errno: AtomicI32,
}

/// Where the child runs until it executes the program.
pub(crate) struct Stack(*mut c_void);

const STACK: usize = 64 << 10;

impl Stack {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a new mapping that nothing else knows of.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                STACK,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(start)) }
    }
}

/// Starts the command. The worker sleeps until it has been executed or has failed.
pub(crate) fn start(start: &Start<'_>, stack: &Stack) -> Result<Pid, (FailedStep, i32)> {
    let shared = Shared { start, step: AtomicU8::new(u8::MAX), errno: AtomicI32::new(0) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is mapped, as long as said, and used by one child at a time, because the
    // worker sleeps until the child has left it. `shared` outlives the child's use of it likewise.
    let pid = unsafe {
        let top = stack.0.byte_add(STACK);
        libc::clone(in_child, top, flags, ptr::from_ref(&shared).cast_mut().cast())
    };
    let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
        return Err((FailedStep::Fork, last_errno()));
    };
    match shared.step.load(Ordering::Acquire) {
        u8::MAX => Ok(pid),
        step => {
            // It has ended by now, with nothing done.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            Err((FailedStep::from_number(step), shared.errno.load(Ordering::Acquire)))
        }
    }
}

extern "C" fn in_child(shared: *mut c_void) -> c_int {
    // SAFETY: `start` passes this, and sleeps meanwhile.
    let shared: &Shared<'_> = unsafe { &*shared.cast_const().cast() };
    let (step, errno) = prepare(shared.start);
    shared.errno.store(errno, Ordering::Release);
    shared.step.store(step.number(), Ordering::Release);
    // SAFETY: ends this process, and runs nothing of what the worker has registered for its end.
    unsafe { libc::_exit(127) }
}

/// Comes back only if something failed.
fn prepare(start: &Start<'_>) -> (FailedStep, i32) {
    // SAFETY: system calls on values that live until the program is executed; none allocates.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
        if !enter(start.root.as_raw_fd(), start.cwd) {
            return (FailedStep::Directory, last_errno());
        }
        // Opened anew: what a command sets for its open files would stay with the worker's.
        let stdin = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        for (from, to) in [(stdin, 0), (start.stdout.as_raw_fd(), 1), (start.stderr.as_raw_fd(), 2)]
        {
            if libc::dup2(from, to) < 0 {
                return (FailedStep::Other, last_errno());
            }
        }
        if let Err(error) = start.limits.apply_in_child() {
            return (FailedStep::Limits, errno_of(&error));
        }
        if let Err(error) = start.capabilities.apply_in_child() {
            return (FailedStep::Capabilities, errno_of(&error));
        }
        if let Err(error) = start.rules.restrict_self() {
            return (FailedStep::Landlock, errno_of(&error));
        }
        if !start.pin.is_empty()
            && let Err(error) = toolwright_sandbox::filter::install(start.pin)
        {
            return (FailedStep::Seccomp, errno_of(&error));
        }
        if let Some(brokered) = start.brokered
            && let Err(error) = install_in_child(&brokered.program, brokered.channel.child_end())
        {
            return (FailedStep::Broker, errno_of(&error));
        }
        // All of them are closed by `execve` too; before Linux 5.9 that has to do.
        if libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0) != 0
            && last_errno() != libc::ENOSYS
        {
            return (FailedStep::Other, last_errno());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(start.program, start.arguments, start.variables);
        let errno = last_errno();
        let there = errno == libc::ENOENT && libc::access(start.program, libc::F_OK) == 0;
        (if there { FailedStep::Interpreter } else { FailedStep::Execute }, errno)
    }
}

/// Makes `path` below `root` the working directory, one step after the other. The host has resolved
/// links, so one that is met now has been put there since, and is refused. (`openat2` would do it in
/// one call, if the filter could look at what it is asked.)
///
/// # Safety
/// `path` ends with a NUL.
unsafe fn enter(root: RawFd, mut path: *const c_char) -> bool {
    const LONGEST: usize = 255;
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mut step = [0; LONGEST + 1];
    // SAFETY: the caller's promise; a step ends with the NUL that is left at the end of its buffer.
    unsafe {
        if libc::fchdir(root) != 0 {
            return false;
        }
        while *path != 0 {
            let mut length = 0;
            while *path != 0 && *path.cast::<u8>() != b'/' {
                if length == LONGEST {
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

fn last_errno() -> i32 {
    // SAFETY: the location belongs to this thread, or to the worker that sleeps.
    unsafe { *libc::__errno_location() }
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EINVAL)
}
