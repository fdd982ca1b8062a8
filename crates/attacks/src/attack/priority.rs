//! The scheduling and the limits of another process.

use crate::outcome::{Done, Outcome, Refused, attacks, system_call};

attacks! {
    prlimit = |arguments| change("prlimit", arguments.number(0)?),
    setpriority = |arguments| change("setpriority", arguments.number(0)?),
    affinity = |arguments| change("affinity", arguments.number(0)?),
    io_priority = |arguments| change("io-priority", arguments.number(0)?),
    scheduler = |arguments| change("scheduler", arguments.number(0)?),
}

/// Changes a process, in the way that is called so.
pub(crate) fn change(how: &str, pid: i32) -> Outcome {
    match how {
        "prlimit" => prlimit(pid),
        "setpriority" => setpriority(pid),
        "affinity" => affinity(pid),
        "io-priority" => io_priority(pid),
        "scheduler" => scheduler(pid),
        "attributes" => attributes(pid),
        _ => Err(Refused::without_effect("arguments")),
    }
}

/// The number of open files that a process may have, to 77.
fn prlimit(pid: i32) -> Outcome {
    let limits = [77_u64, 77];
    system_call!(SYS_prlimit64, pid, libc::RLIMIT_NOFILE, &limits, 0).done()
}

fn setpriority(pid: i32) -> Outcome {
    system_call!(SYS_setpriority, libc::PRIO_PROCESS, pid, 17).done()
}

/// To the first processor alone.
fn affinity(pid: i32) -> Outcome {
    let mask = 1_u64;
    system_call!(SYS_sched_setaffinity, pid, 8, &raw const mask).done()
}

/// To the idle class.
fn io_priority(pid: i32) -> Outcome {
    system_call!(SYS_ioprio_set, 1, pid, 3 << 13).done()
}

/// To batch work.
fn scheduler(pid: i32) -> Outcome {
    let parameter = 0_i32;
    system_call!(SYS_sched_setscheduler, pid, libc::SCHED_BATCH, &raw const parameter).done()
}

/// To what runs when nothing else does.
fn attributes(pid: i32) -> Outcome {
    // The size, the policy, and nothing else.
    let attributes = [48_u32, libc::SCHED_IDLE as u32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    system_call!(SYS_sched_setattr, pid, &attributes, 0).done()
}
