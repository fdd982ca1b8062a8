//! The kernel itself: its settings, and the doors to it that have let others in before.

use crate::arguments::Arguments;
use crate::descriptors::filled;
use crate::outcome::{Done, Outcome, attacks, system_call};

attacks! {
    bpf_map, userfaultfd, ports, reboot_key, host_name, domain_name, clock_error, clock_error_of,
    accounting, accounting_end, kernel_log,
}

fn bpf_map(_: &Arguments) -> Outcome {
    const MAP_CREATE: i32 = 0;
    // An array of one value of eight bytes.
    let attributes = [2_u32, 4, 8, 1, 0, 0, 0, 0];
    let fd = system_call!(SYS_bpf, MAP_CREATE, &attributes, size_of_val(&attributes))?;
    Ok(format!("descriptor {fd}"))
}

/// Faults of the own process, which stop the kernel in the middle of a copy.
fn userfaultfd(_: &Arguments) -> Outcome {
    const USER_MODE_ONLY: i32 = 1;
    let fd = system_call!(SYS_userfaultfd, USER_MODE_ONLY)?;
    Ok(format!("descriptor {fd}"))
}

/// A harmless port of the machine: the one that delays.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn ports(_: &Arguments) -> Outcome {
    system_call!(SYS_ioperm, 0x80, 1, 1).done()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
fn ports(_: &Arguments) -> Outcome {
    Err(crate::outcome::Refused::without_effect("ioperm"))
}

/// What Ctrl-Alt-Del does: restart at once (1), or send a signal (0).
fn reboot_key(arguments: &Arguments) -> Outcome {
    const AT_ONCE: u32 = 0x89ab_cdef;
    let command = if arguments.text(0)? == "1" { AT_ONCE } else { 0 };
    system_call!(SYS_reboot, 0xfee1_dead_u32, 0x2812_1969, command, 0).done()
}

fn host_name(arguments: &Arguments) -> Outcome {
    let name = arguments.text(0)?;
    system_call!(SYS_sethostname, name, name.len()).done()
}

fn domain_name(arguments: &Arguments) -> Outcome {
    let name = arguments.text(0)?;
    system_call!(SYS_setdomainname, name, name.len()).done()
}

/// The error of the clock, in microseconds: a value that no real clock has.
fn clock_error(arguments: &Arguments) -> Outcome {
    // SAFETY: all fields may be zero.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    clock.modes = libc::ADJ_ESTERROR;
    clock.esterror = arguments.number(0)?;
    system_call!(SYS_adjtimex, &raw mut clock).done()
}

fn clock_error_of(_: &Arguments) -> Outcome {
    // SAFETY: all fields may be zero.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    system_call!(SYS_adjtimex, &raw mut clock)?;
    Ok(format!("<{}>", clock.esterror))
}

/// Lets the kernel write a record of every process that ends to a file.
fn accounting(arguments: &Arguments) -> Outcome {
    let path = arguments.path(0)?;
    system_call!(SYS_acct, &path).done()
}

fn accounting_end(_: &Arguments) -> Outcome {
    system_call!(SYS_acct, 0).done()
}

fn kernel_log(_: &Arguments) -> Outcome {
    const READ_ALL: i32 = 3;
    filled(|place, length| system_call!(SYS_syslog, READ_ALL, place, length))
}
