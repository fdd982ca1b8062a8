//! What the scheduler and the limits make of another process.

use crate::{
    arguments::Arguments,
    outcome::{Attack, Outcome, system_call},
};

pub(crate) const ATTACKS: &[Attack] = &[
    ("prlimit", prlimit),
    ("setpriority", setpriority),
    ("affinity", affinity),
    ("io-priority", io_priority),
    ("scheduler", scheduler),
];

/// The number of open files that a process may have, to 77.
fn prlimit(arguments: &Arguments) -> Outcome {
    let limits = [77_u64, 77];
    let (pid, what) = (arguments.number::<i32>(0)?, libc::RLIMIT_NOFILE);
    system_call!("prlimit64", libc::SYS_prlimit64, pid, what, limits.as_ptr(), 0)?;
    Ok(String::new())
}

fn setpriority(arguments: &Arguments) -> Outcome {
    let pid = arguments.number::<i32>(0)?;
    system_call!("setpriority", libc::SYS_setpriority, libc::PRIO_PROCESS, pid, 17)?;
    Ok(String::new())
}

/// To the first processor alone.
fn affinity(arguments: &Arguments) -> Outcome {
    let mask = 1_u64;
    let pid = arguments.number::<i32>(0)?;
    system_call!("sched_setaffinity", libc::SYS_sched_setaffinity, pid, 8, &raw const mask)?;
    Ok(String::new())
}

/// To the idle class.
fn io_priority(arguments: &Arguments) -> Outcome {
    system_call!("ioprio_set", libc::SYS_ioprio_set, 1, arguments.number::<i32>(0)?, 3 << 13)?;
    Ok(String::new())
}

/// To batch work.
fn scheduler(arguments: &Arguments) -> Outcome {
    let parameter = 0_i32;
    let (pid, batch) = (arguments.number::<i32>(0)?, libc::SCHED_BATCH);
    let number = libc::SYS_sched_setscheduler;
    system_call!("sched_setscheduler", number, pid, batch, &raw const parameter)?;
    Ok(String::new())
}
