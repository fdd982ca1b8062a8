//! Running a function in a throw-away child, to see what the system lets it do.
//!
//! The child shares our memory and we sleep while it lives, as with `vfork`, so that it costs next
//! to nothing whatever our size.

use std::ffi::{c_int, c_void};
use std::{io, ptr};

use rustix::io::Errno;

pub(crate) use super::system::last_error;

/// Enough for a few frames and for what the system library puts there.
const STACK: usize = 32 << 10;

struct Task<T> {
    run: fn(&mut T),
    with: T,
}

/// Runs `run` in a child process and gives back what it made of `with`. It must neither allocate nor
/// panic nor lock anything, and what it changes but `with` must be the child's own: its limits, its
/// privileges, its descriptors.
pub(crate) fn in_child<T: Copy>(with: T, run: fn(&mut T)) -> io::Result<T> {
    let mut task = Task { run, with };
    // Of words of 16 bytes, because processors want the stack aligned.
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    let task = &raw mut task;
    // SAFETY: the stack and the task outlive the child, since this thread sleeps until it is gone.
    let pid = unsafe { libc::clone(enter::<T>, top, flags, task.cast()) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    // It sends no signal when it ends, so that those who wait for any child do not meet it.
    // SAFETY: the null pointer is for a status that nobody asks for.
    while unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) } < 0
        && last_error() == Errno::INTR
    {}
    // The compiler does not know that somebody else wrote there.
    // SAFETY: it is a variable of ours, and the child is gone.
    Ok(unsafe { ptr::read_volatile(&raw const (*task).with) })
}

extern "C" fn enter<T>(task: *mut c_void) -> c_int {
    // SAFETY: it is what was given to `clone`, and who gave it is asleep.
    let task = unsafe { &mut *task.cast::<Task<T>>() };
    (task.run)(&mut task.with);
    0
}
