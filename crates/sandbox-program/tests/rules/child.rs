//! Running a part of a test in a throw-away child.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// Set where a test runs in a process for itself.
const ALONE: &str = "TOOLWRIGHT_TEST_ALONE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Nobody,
}

/// Both users; none, with a notice, if the tests do not run as root.
///
/// Work of another user runs in a copy of this process, which is sound only if no other thread can
/// hold a lock. So the test first runs again, in a process of its own.
pub(crate) fn users() -> Vec<User> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root, to be root and nobody in turn");
        return Vec::new();
    }
    if std::env::var_os(ALONE).is_some() {
        return vec![User::Root, User::Nobody];
    }
    let thread = std::thread::current();
    let name = thread.name().expect("the name of the test");
    let again = Command::new(std::env::current_exe().expect("program"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, "")
        .output()
        .expect("the test again");
    let output = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success(), "{output}");
    let passed = String::from_utf8_lossy(&again.stdout).contains("1 passed");
    assert!(passed, "{name} was not run");
    eprint!("{output}");
    Vec::new()
}

/// Runs in a child; a panic there is one here.
pub(crate) fn in_child(run: impl FnOnce()) {
    let mut pipe = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: both are new and ours.
    let [mut reader, writer] = pipe.map(|fd| unsafe { fs::File::from_raw_fd(fd) });
    // SAFETY: the child runs the closure and ends without unwinding into the harness.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        drop(reader);
        std::panic::set_hook(Box::new(move |info| {
            let _ = writeln!(&writer, "{info}");
        }));
        let result = catch_unwind(AssertUnwindSafe(run));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(result.is_err())) }
    }
    drop(writer);
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("pipe");
    let mut status = 0;
    // SAFETY: room for the status.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "in the child: {output}");
}
