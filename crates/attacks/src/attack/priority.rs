//! The scheduling and the limits of another process.

use crate::outcome::{Attack, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("prlimit", |arguments| change("prlimit", arguments.number(0)?)),
    ("setpriority", |arguments| change("setpriority", arguments.number(0)?)),
    ("affinity", |arguments| change("affinity", arguments.number(0)?)),
    ("io-priority", |arguments| change("io-priority", arguments.number(0)?)),
    ("scheduler", |arguments| change("scheduler", arguments.number(0)?)),
];

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
    let what = libc::RLIMIT_NOFILE;
    system_call!("prlimit64", libc::SYS_prlimit64, pid, what, limits.as_ptr(), 0)?;
    Ok(String::new())
}

fn setpriority(pid: i32) -> Outcome {
    system_call!("setpriority", libc::SYS_setpriority, libc::PRIO_PROCESS, pid, 17)?;
    Ok(String::new())
}

/// To the first processor alone.
fn affinity(pid: i32) -> Outcome {
    let mask = 1_u64;
    system_call!("sched_setaffinity", libc::SYS_sched_setaffinity, pid, 8, &raw const mask)?;
    Ok(String::new())
}

/// To the idle class.
fn io_priority(pid: i32) -> Outcome {
    system_call!("ioprio_set", libc::SYS_ioprio_set, 1, pid, 3 << 13)?;
    Ok(String::new())
}

/// To batch work.
fn scheduler(pid: i32) -> Outcome {
    let parameter = 0_i32;
    let (number, batch) = (libc::SYS_sched_setscheduler, libc::SCHED_BATCH);
    system_call!("sched_setscheduler", number, pid, batch, &raw const parameter)?;
    Ok(String::new())
}

/// To what runs when nothing else does.
fn attributes(pid: i32) -> Outcome {
    // The size, the policy, and nothing else.
    let attributes = [48_u32, libc::SCHED_IDLE as u32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let number = libc::SYS_sched_setattr;
    system_call!("sched_setattr", number, pid, attributes.as_ptr(), 0)?;
    Ok(String::new())
}
