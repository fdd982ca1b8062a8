//! The part of a command's filter that sends calls on names to the broker.

use toolwright_sandbox::plan::Files;

use super::call::{RENAMES, waiting};
use crate::filter::arguments::SET_ID;
use crate::filter::assembler::{Assembler, At, Test, low};
use crate::filter::{FilterPlan, Rules, calls, priority, reported};

/// Which calls on names wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingNames {
    /// None.
    Nothing,
    /// Those that rename.
    Renames,
    /// All that make, rename or remove an entry, but for the removal of files.
    Everything,
}

/// What the filter of a command has to know about the broker of its names.
#[derive(Debug, Clone, Copy)]
pub struct FileRules {
    /// The number of the broker's thread, which commands must not change.
    pub thread: u32,
    /// Whether calls wait. If not, only what the worker needs for them is closed.
    pub waits: bool,
    /// Which of those on names do.
    pub names: WaitingNames,
    /// What the filter of the worker was made of. It leaves open what is closed here.
    pub plan: FilterPlan,
    /// Whether the filter of the worker leaves `openat2` open for the broker alone.
    pub closes_openat2: bool,
    /// Whether calls that may make a file or write to one wait too.
    pub opens: bool,
}

impl FileRules {
    pub(in crate::broker) fn add(self, asm: &mut Assembler, rules: &mut Rules) {
        let (ask, allow) = (asm.ask(), asm.allow());
        if self.waits {
            for &call in calls::RIGHTS {
                rules.add(call, ask);
            }
        }
        // No unix sockets where nobody looks at what they connect to.
        let plan = FilterPlan { brokers_files: self.waits, ..self.plan };
        reported::add(asm, rules, plan, self.waits);
        if plan.files == Files::Confined {
            let held = if self.waits { ask } else { asm.refuse(libc::EPERM) };
            for &(call, argument) in calls::CHMODS {
                let tested = asm.branch(Test::AnyBit, SET_ID, held, allow);
                rules.add(call, asm.load(low(argument), tested));
            }
        }
        let names = if self.waits { self.names } else { WaitingNames::Nothing };
        if self.waits && names != WaitingNames::Everything {
            for &(call, argument) in calls::NODES {
                let tested = asm.branch(Test::AnyBit, DEVICE, ask, allow);
                rules.add(call, asm.load(low(argument), tested));
            }
        }
        if names == WaitingNames::Renames {
            for call in RENAMES {
                rules.add(call, ask);
            }
        }
        if names == WaitingNames::Everything {
            for call in waiting() {
                rules.add(call, ask);
            }
            let directory = asm.branch(Test::AnyBit, libc::AT_REMOVEDIR.unsigned_abs(), ask, allow);
            rules.add(calls::UNLINKAT, asm.load(low(2), directory));
        }
        if names == WaitingNames::Everything && self.opens {
            for call in [calls::CREAT, calls::TRUNCATE] {
                rules.add(call, ask);
            }
            for &(call, mode) in calls::OPENS {
                rules.add(call, opening(asm, mode - 1));
            }
        }
        if self.closes_openat2 {
            rules.add(calls::OPENAT2, asm.refuse(libc::ENOSYS));
        }
        let by_first = calls::SCHEDULING.iter().chain(&[calls::PRLIMIT64]).map(|call| (*call, 0));
        let by_second = [calls::SETPRIORITY, calls::IOPRIO_SET].map(|call| (call, 1));
        for (call, whom) in by_first.chain(by_second) {
            let otherwise = if self.waits { priority::raised(asm, call) } else { allow };
            let tested = self.on_thread(asm, whom, otherwise);
            rules.add(call, tested);
        }
    }

    /// Refuses a call on the broker's thread.
    fn on_thread(self, asm: &mut Assembler, argument: u32, otherwise: At) -> At {
        let refuse = asm.refuse(libc::EPERM);
        let tested = asm.branch(Test::Equal, self.thread, refuse, otherwise);
        asm.load(low(argument), tested)
    }
}

/// A bit that devices have, and of all else only links, which are made by another call.
const DEVICE: u32 = libc::S_IFCHR;

/// What makes no name and writes to no file that has one is left to the kernel.
const NAMELESS: u32 =
    libc::O_PATH.unsigned_abs() | (libc::O_TMPFILE & !libc::O_DIRECTORY).unsigned_abs();
const WRITES: u32 = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC).unsigned_abs();

/// Has a call wait that may make a file or write to one.
fn opening(asm: &mut Assembler, flags: u32) -> At {
    let (ask, allow) = (asm.ask(), asm.allow());
    let writes = asm.branch(Test::AnyBit, WRITES, ask, allow);
    let named = asm.branch(Test::AnyBit, NAMELESS, allow, writes);
    asm.load(low(flags), named)
}

#[cfg(test)]
mod tests {
    use libc::{ENOSYS, EPERM};

    use super::*;
    use crate::broker::program::program_of_on;
    use toolwright_sandbox::plan::Network;

    use crate::filter::Architecture;
    use crate::filter::specification::Answer::{Allow, Ask, Errno};
    use crate::filter::specification::{BOTH, Request, run};

    const RULES: FileRules = FileRules {
        thread: 7,
        waits: true,
        names: WaitingNames::Everything,
        plan: PLAN,
        closes_openat2: true,
        opens: false,
    };

    const PLAN: FilterPlan = FilterPlan {
        network: Network::Open,
        files: Files::Full,
        own_net: false,
        own_ipc: true,
        own_pids: true,
        brokers_files: true,
        traces: false,
    };

    /// What the filter of the worker leaves to this one has tests of its own.
    fn is_reported(arch: Architecture, number: u32) -> bool {
        let others = [calls::SOCKET, calls::SOCKETPAIR, calls::CLONE, calls::UNSHARE];
        let all = calls::REPORTED.iter().map(|(call, ..)| *call).chain(others);
        all.into_iter().any(|call| call.number(arch) == Some(number))
    }

    #[test]
    fn every_number_is_answered_as_specified() {
        for arch in BOTH {
            let rules = FileRules { opens: false, ..RULES };
            let program = program_of_on(arch, None, Some(rules)).expect("short enough");
            assert!(program.len() <= 150, "{}", program.len());
            let (asks, removes, first, second): (&[u32], u32, &[u32], &[u32]) = match arch {
                Architecture::X86_64 => (
                    &[
                        82, 83, 84, 86, 88, 95, 105, 106, 113, 114, 116, 117, 119, 122, 123, 126,
                        133, 258, 259, 264, 265, 266, 316,
                    ],
                    263,
                    &[142, 144, 203, 302, 314],
                    &[141, 251],
                ),
                Architecture::Aarch64 => {
                    let asks = &[
                        33, 34, 36, 37, 38, 91, 143, 144, 145, 146, 147, 149, 151, 152, 159, 166,
                        276,
                    ];
                    (asks, 35, &[118, 119, 122, 261, 274], &[140, 30])
                }
            };
            let reads = if arch == Architecture::X86_64 { 310 } else { 270 };
            // It may raise a priority, which is in memory.
            let attributes = if arch == Architecture::X86_64 { 314 } else { 274 };
            for number in (0..600).filter(|number| !is_reported(arch, *number)) {
                for args in [[0; 6], [7, 0, 0x200, 0, 0, 0], [0, 7, 0x400, 0, 0, 0]] {
                    let request = Request { arch: arch.audit_number(), number, args };
                    let expected =
                        if asks.contains(&number) || number == removes && args[2] == 0x200 {
                            Ask
                        } else if first.contains(&number) && args[0] == 7
                            || second.contains(&number) && args[1] == 7
                            || number == 438
                            || number == reads
                        {
                            Errno(EPERM)
                        } else if number == attributes {
                            Ask
                        } else if number == 437 || number >= 470 {
                            Errno(ENOSYS)
                        } else {
                            Allow
                        };
                    assert_eq!(run(&program, &request).0, expected, "{arch:?} {request:?}");
                }
            }
        }
    }

    #[test]
    fn renames_wait_alone_where_only_they_are_to() {
        for arch in BOTH {
            let rules = FileRules { names: WaitingNames::Renames, ..RULES };
            let program = program_of_on(arch, None, Some(rules)).expect("short enough");
            let answer = |call: calls::Call| {
                let number = call.number(arch)?;
                Some(run(&program, &Request { arch: arch.audit_number(), number, args: [0; 6] }).0)
            };
            for call in waiting() {
                let expected = if RENAMES.contains(&call) { Ask } else { Allow };
                assert!(answer(call).is_none_or(|it| it == expected), "{arch:?} {call:?}");
            }
        }
    }

    /// The flags of a call are in a register, so nothing that could make a name or write to a named file passes.
    #[test]
    fn what_could_write_waits() {
        for arch in BOTH {
            let program = |opens| {
                let rules = FileRules { opens, ..RULES };
                program_of_on(arch, None, Some(rules)).expect("short enough")
            };
            let (plain, strict) = (program(false), program(true));
            assert!(strict.len() <= 170, "{}", strict.len());
            let (open, openat, others): (Option<u32>, u32, &[u32]) = match arch {
                Architecture::X86_64 => (Some(2), 257, &[85, 76]),
                Architecture::Aarch64 => (None, 56, &[45]),
            };
            let mut flags = vec![0, u32::MAX];
            for one in 0..32 {
                flags.extend((0..32).map(|other| 1_u32 << one | 1 << other));
            }
            let opens = open.map(|number| (number, 1)).into_iter().chain([(openat, 2)]);
            for (number, argument) in opens {
                for flags in flags.iter().copied() {
                    let mut args = [u64::MAX; 6];
                    args[argument] = u64::from(flags) | 1 << 40;
                    let request = Request { arch: arch.audit_number(), number, args };
                    let is_nameless = flags & (0o10_000_000 | 0o20_000_000) != 0;
                    let writes = flags & (0o3 | 0o100 | 0o1000) != 0;
                    let expected = if writes && !is_nameless { Ask } else { Allow };
                    assert_eq!(run(&strict, &request).0, expected, "{arch:?} {request:?}");
                    assert_eq!(run(&plain, &request).0, Allow, "{arch:?} {request:?}");
                }
            }
            for &number in others {
                let request = Request { arch: arch.audit_number(), number, args: [0; 6] };
                assert_eq!(run(&strict, &request).0, Ask, "{arch:?} {request:?}");
                assert_eq!(run(&plain, &request).0, Allow, "{arch:?} {request:?}");
            }
        }
    }

    /// Own sockets and modes wait, or what the worker's filter leaves open for them is closed.
    #[test]
    fn sockets_and_modes_wait_or_are_closed() {
        use crate::broker::program::Connections::Own;
        for arch in BOTH {
            let [connect, listen, socket, limit, mkdir] = match arch {
                Architecture::X86_64 => [42, 50, 41, 54, 83],
                Architecture::Aarch64 => [203, 201, 198, 208, 34],
            };
            let modes: &[(u32, usize)] = match arch {
                Architecture::X86_64 => &[(90, 1), (91, 1), (268, 2), (452, 2)],
                Architecture::Aarch64 => &[(52, 1), (53, 2), (452, 2)],
            };
            for (waits, listens) in [(true, true), (true, false), (false, false)] {
                let plan = FilterPlan {
                    network: Network::PrivateLoopback,
                    files: Files::Confined,
                    own_net: true,
                    ..PLAN
                };
                let rules = FileRules { waits, names: WaitingNames::Nothing, plan, ..RULES };
                let own = waits.then_some(Own { listens });
                let program = program_of_on(arch, own, Some(rules)).expect("short enough");
                let answer = |number, args| {
                    run(&program, &Request { arch: arch.audit_number(), number, args }).0
                };
                let ask_if = |asks| if asks { Ask } else { Allow };
                assert_eq!(answer(connect, [0; 6]), ask_if(waits));
                assert_eq!(answer(listen, [0; 6]), ask_if(listens));
                assert_eq!(answer(mkdir, [0; 6]), Allow);
                let unix = if waits { Allow } else { Errno(libc::EACCES) };
                assert_eq!(answer(socket, [1, 1, 0, 0, 0, 0]), unix);
                assert_eq!(answer(socket, [2, 1, 0, 0, 0, 0]), Allow);
                for option in [21, 67] {
                    assert_eq!(answer(limit, [3, 1, option, 0, 0, 0]), ask_if(waits));
                    assert_eq!(answer(limit, [3, 6, option, 0, 0, 0]), Allow);
                }
                let held = if waits { Ask } else { Errno(EPERM) };
                for &(number, argument) in modes {
                    for (mode, expected) in
                        [(0o755, Allow), (0o2755, held), (0o3777, held), (0o4755, held)]
                    {
                        let mut args = [!0o6000; 6];
                        args[argument] = mode;
                        assert_eq!(answer(number, args), expected, "{arch:?} {number}");
                    }
                }
            }
        }
    }
}
