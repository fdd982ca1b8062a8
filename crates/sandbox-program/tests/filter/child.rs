//! Throw-away children that install a filter and report the answers of the kernel.

use std::io::{Read, pipe};
use std::os::fd::{AsRawFd, IntoRawFd};

use libc::{c_int, c_long};
use toolwright_sandbox_program::filter::{Program, install};

/// A user without any right.
pub(crate) const NOBODY: u32 = 65534;

/// How the child is set up.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// Installed one after the other.
    pub(crate) filters: &'a [&'a Program],
    /// The user that the child becomes first.
    pub(crate) user: Option<u32>,
}

/// What became of the child.
#[derive(Debug)]
pub(crate) struct Report {
    /// What `work` returned.
    pub(crate) answers: Vec<i64>,
    /// The signal it was killed with.
    pub(crate) signal: Option<c_int>,
}

/// Runs `work` in a child. A failure before it gives an empty report.
pub(crate) fn in_child(setup: Setup, work: impl FnOnce() -> Vec<i64>) -> Report {
    let (mut reader, writer) = pipe().unwrap();
    // SAFETY: the child uses plain calls, memory of its own and the allocator, which libc makes safe
    // to use after a fork, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork");
    if pid == 0 {
        if prepare(setup) {
            let bytes: Vec<u8> = work().into_iter().flat_map(i64::to_ne_bytes).collect();
            // SAFETY: writes memory that lives.
            unsafe { libc::write(writer.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        }
        // SAFETY: ends the child without running what belongs to the test.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    let (words, _) = bytes.as_chunks();
    Report {
        answers: words.iter().map(|word| i64::from_ne_bytes(*word)).collect(),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
    }
}

fn prepare(Setup { filters, user }: Setup) -> bool {
    if let Some(user) = user {
        // SAFETY: the calls change only the identity of this child, and touch no memory.
        let became = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(user, user, user) == 0
                && libc::setresuid(user, user, user) == 0
        };
        if !became {
            return false;
        }
    }
    // SAFETY: a plain call.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    filters.iter().all(|filter| install(filter).is_ok())
}

/// Makes a call; an error is its negative number.
pub(crate) fn call(number: c_long, args: [c_long; 6]) -> i64 {
    // SAFETY: callers pass addresses that are null, invalid or of memory that lives.
    let result =
        unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) };
    if result == -1 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    } else {
        result
    }
}

/// The first arguments; the others are zero.
pub(crate) fn args<const N: usize>(first: [c_long; N]) -> [c_long; 6] {
    std::array::from_fn(|place| first.get(place).copied().unwrap_or(0))
}

/// The users of the tests: root and, from root, nobody; otherwise the current user alone.
pub(crate) fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(NOBODY)] } else { vec![None] }
}

/// Whether the answers of the kernel distinguish a filter from a missing privilege.
pub(crate) fn is_root() -> bool {
    // SAFETY: a plain call.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("not root: what needs another user or privileges is left out");
    }
    root
}

/// Closes the result of a call, if it is a descriptor.
pub(crate) fn close(fd: i64) {
    if let Ok(fd @ 3..) = c_int::try_from(fd) {
        // SAFETY: the child made it and uses it nowhere else.
        unsafe { libc::close(fd) };
    }
}

/// A descriptor as an argument; it stays open until the child ends.
pub(crate) fn leaked(fd: impl IntoRawFd) -> c_long {
    c_long::from(fd.into_raw_fd())
}
