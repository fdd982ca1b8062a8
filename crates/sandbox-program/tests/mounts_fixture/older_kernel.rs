//! A kernel that lacks what came later.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the calls that Linux 5.12 and later have fail in a program and its children as they do before.
/// The filter keeps a program from getting another user's rights.
pub(super) fn pretend(command: &mut Command) {
    // SAFETY: it makes system calls, and nothing else.
    unsafe { command.pre_exec(hide_calls) };
}

fn hide_calls() -> io::Result<()> {
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: u16::try_from(code).expect("a code of 16 bits"),
        jt: 0,
        jf: 0,
        k,
    };
    let is = |number: libc::c_long| libc::sock_filter {
        jt: 0,
        jf: 1,
        ..statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            u32::try_from(number).expect("a number of 32 bits"),
        )
    };
    let missing = statement(libc::BPF_RET | libc::BPF_K, ERRNO | libc::ENOSYS.cast_unsigned());
    let mut filter = [
        // The number of the call.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        is(libc::SYS_mount_setattr),
        missing,
        // Landlock's first call, so that it is missing as well.
        is(libc::SYS_landlock_create_ruleset),
        missing,
        statement(libc::BPF_RET | libc::BPF_K, ALLOW),
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("a short filter"),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program and its filter live until the calls return.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
