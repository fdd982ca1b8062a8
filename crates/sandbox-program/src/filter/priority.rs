//! Calls by which a process would be scheduled before others.
//!
//! The kernel refuses them to commands, which have no rights of the host, and the worker hears of it, so that a command
//! that fails of it can be told why. Nothing depends on what it hears: the kernel makes the call, or refuses it.

use super::assembler::{Assembler, At, Test, low};
use super::{Architecture, calls};

/// A niceness below zero.
const NEGATIVE: u32 = 1 << 31;
/// The first and the last value of the class `IOPRIO_CLASS_RT`, and the one after it.
const IO_REAL_TIME: u32 = 1 << 13;
const IO_BEST_EFFORT: u32 = 2 << 13;
/// `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE`, and each with `SCHED_RESET_ON_FORK`.
const REAL_TIME: [u32; 6] = [1, 2, 6, 0x4000_0001, 0x4000_0002, 0x4000_0006];

/// Sends a call that may raise a priority to the broker, and lets others pass.
pub(crate) fn raised(asm: &mut Assembler, call: calls::Call) -> At {
    let (ask, allow) = (asm.ask(), asm.allow());
    if call == calls::SETPRIORITY {
        let tested = asm.branch(Test::AnyBit, NEGATIVE, ask, allow);
        asm.load(low(2), tested)
    } else if call == calls::IOPRIO_SET {
        let below = asm.branch(Test::AtLeast, IO_BEST_EFFORT, allow, ask);
        let tested = asm.branch(Test::AtLeast, IO_REAL_TIME, below, allow);
        asm.load(low(2), tested)
    } else if call == calls::SCHED_SETSCHEDULER {
        let tested = asm.any_of(&REAL_TIME, ask, allow);
        asm.load(low(1), tested)
    } else if call == calls::SCHED_SETATTR {
        // What it says is in memory.
        ask
    } else {
        allow
    }
}

/// Whether a call that waits is one of these.
pub(crate) fn is_raised(number: u32) -> bool {
    let all =
        [calls::SETPRIORITY, calls::IOPRIO_SET, calls::SCHED_SETSCHEDULER, calls::SCHED_SETATTR];
    all.into_iter().any(|call| call.number(Architecture::OURS) == Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{FileRules, WaitingNames, program_of_on};
    use crate::filter::specification::Answer::{Allow, Ask};
    use crate::filter::specification::{BOTH, Request, plans, run};

    /// What raises a priority waits, and what lowers one does not.
    #[test]
    fn what_raises_a_priority_waits() {
        let minus = |niceness: u64| niceness.wrapping_neg() & 0xFFFF_FFFF;
        for arch in BOTH {
            let [nice, io, scheduler] = match arch {
                Architecture::X86_64 => [141, 251, 144],
                Architecture::Aarch64 => [140, 30, 119],
            };
            let cases = [
                (nice, [0, 0, minus(1), 0, 0, 0], Ask),
                (nice, [0, 0, minus(20), 0, 0, 0], Ask),
                (nice, [0, 0, 0, 0, 0, 0], Allow),
                (nice, [0, 0, 19, 0, 0, 0], Allow),
                (io, [1, 0, 0x2000, 0, 0, 0], Ask),
                (io, [1, 0, 0x2007, 0, 0, 0], Ask),
                (io, [1, 0, 0, 0, 0, 0], Allow),
                (io, [1, 0, 0x4004, 0, 0, 0], Allow),
                (io, [1, 0, 0x6000, 0, 0, 0], Allow),
                (scheduler, [0, 1, 0, 0, 0, 0], Ask),
                (scheduler, [0, 0x4000_0002, 0, 0, 0, 0], Ask),
                (scheduler, [0, 0, 0, 0, 0, 0], Allow),
                (scheduler, [0, 3, 0, 0, 0, 0], Allow),
                (scheduler, [0, 5, 0, 0, 0, 0], Allow),
            ];
            let plan = plans().into_iter().find(|plan| plan.brokers_files).expect("one");
            let rules = FileRules {
                thread: 7,
                waits: true,
                names: WaitingNames::Everything,
                plan,
                closes_openat2: true,
                opens: false,
            };
            let command = program_of_on(arch, None, Some(rules)).expect("short enough");
            for (number, args, expected) in cases {
                let request = Request { arch: arch.audit_number(), number, args };
                assert_eq!(run(&command, &request).0, expected, "{arch:?} {request:?}");
            }
        }
    }
}
