//! Processes in the state of a command whose limits are set.

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use toolwright_sandbox_program::limits::Prepared;

/// Runs as a command does: in a child that has the limits.
pub(crate) fn command(prepared: &Prepared, run: fn() -> u64) -> WaitStatus {
    let expendable = prepared.expendable();
    // SAFETY: this process has one thread, and the child ends without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        std::mem::forget(expendable);
        prepared.apply_in_child().expect("limits");
        let code = std::panic::catch_unwind(run).unwrap_or(u64::MAX);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::try_from(code).unwrap_or(-1)) }
    }
    drop(expendable);
    let pid = Pid::from_raw(pid).expect("a child");
    waitpid(Some(pid), WaitOptions::empty()).expect("the child").expect("its end").1
}
