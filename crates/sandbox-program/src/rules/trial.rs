//! Running a function in a throw-away child, to see what the system lets it do.
//!
//! The child shares the memory of this process, which sleeps meanwhile, as with `vfork`. So it
//! costs next to nothing, whatever the size of this process.

use std::ffi::{c_int, c_void};
use std::{io, ptr};

use rustix::io::Errno;

use crate::errno;

/// Enough for a few frames, and for the C library.
const STACK: usize = 32 << 10;

struct Task<T> {
    run: fn(&mut T),
    with: T,
}

/// Runs `run` in a child process, and returns `with` as the child left it. The function must not
/// allocate, panic or lock, and may change only `with` and what belongs to the child: its limits,
/// its privileges, its descriptors.
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
    // The child sends no signal when it ends, so that a wait for any child does not return it.
    // SAFETY: a null pointer asks for no status, so the call writes nothing.
    while unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) } < 0
        && errno::last() == Errno::INTR
    {}
    // Volatile, because the compiler does not know that the child wrote there.
    // SAFETY: `task` is a local of this function, and the child has ended.
    Ok(unsafe { ptr::read_volatile(&raw const (*task).with) })
}

extern "C" fn enter<T>(task: *mut c_void) -> c_int {
    // SAFETY: the pointer is the one passed to `clone`, whose caller sleeps.
    let task = unsafe { &mut *task.cast::<Task<T>>() };
    (task.run)(&mut task.with);
    0
}
