//! The filter as the kernel takes it.

use std::io;

use crate::calls::{Denial, When};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const FAIL: u32 = 0x0005_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const KIND: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

fn statement(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

/// Continues if the test holds, and skips `otherwise` statements if not.
fn test(code: u16, k: u32, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: otherwise, k }
}

/// The first denial that fits decides. Calls of other architectures are let through: the programs
/// under test do not make them.
pub(crate) fn program(denials: &[Denial]) -> Vec<libc::sock_filter> {
    let mut program = vec![
        statement(LOAD, KIND),
        libc::sock_filter { code: JUMP_EQUAL, jt: 1, jf: 0, k: ARCHITECTURE },
        statement(RETURN, ALLOW),
    ];
    for Denial { number, when, errno } in denials {
        let number = u32::try_from(*number).unwrap_or(u32::MAX);
        let fail = statement(RETURN, FAIL | errno.unsigned_abs());
        program.push(statement(LOAD, NUMBER));
        match when {
            When::Always => program.extend([test(JUMP_EQUAL, number, 1), fail]),
            When::Is(value) => program.extend(with_argument(number, JUMP_EQUAL, *value, fail)),
            When::Has(bits) => program.extend(with_argument(number, JUMP_BITS, *bits, fail)),
        }
    }
    program.push(statement(RETURN, ALLOW));
    program
}

fn with_argument(
    number: u32,
    code: u16,
    value: u32,
    fail: libc::sock_filter,
) -> [libc::sock_filter; 4] {
    [test(JUMP_EQUAL, number, 3), statement(LOAD, FIRST_ARGUMENT), test(code, value, 1), fail]
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// For this process and everything it starts, for good.
pub(crate) fn install(filter: &[libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program lives until the call returns, by which time the kernel has copied it.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check(libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
            0,
            0,
        ))
    }
}

/// Without the groups and rights of the user before.
pub(crate) fn become_user(user: u32) -> io::Result<()> {
    // SAFETY: the list of groups is empty; the other calls take numbers.
    unsafe {
        check(libc::setgroups(0, std::ptr::null()))?;
        check(libc::setresgid(user, user, user))?;
        check(libc::setresuid(user, user, user))
    }
}
