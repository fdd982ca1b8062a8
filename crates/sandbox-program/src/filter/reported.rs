//! Calls that are refused to commands, and that a worker which answers calls is told of.
//!
//! A command fails in words of its own, which say little of why. So where there is a worker that answers, these calls wait
//! for it, and it refuses them with the same error. A filter that refuses outranks one that waits, so
//! the filter of that worker leaves them open, and the filter of each command closes them. The worker has no rights that
//! the kernel wants for them.

use libc::{EACCES, EAFNOSUPPORT, EPERM};
use rustix::io::Errno;
use toolwright_sandbox::background::CallKind;

use super::assembler::{Assembler, At};
use super::{Architecture, FilterPlan, Rules, arguments, calls, sockets};

/// Adds the calls. `reports`: they wait.
pub(crate) fn add(asm: &mut Assembler, rules: &mut Rules, plan: FilterPlan, reports: bool) {
    let refusal =
        |asm: &mut Assembler, errno| -> At { if reports { asm.ask() } else { asm.refuse(errno) } };
    for &(call, errno, _) in calls::REPORTED {
        rules.add(call, refusal(asm, errno));
    }
    let refused = refusal(asm, EPERM);
    rules.add(calls::CLONE, arguments::clone(asm, refused));
    rules.add(calls::UNSHARE, arguments::unshare(asm, refused));
    let closed = sockets::Closed { kind: refusal(asm, EACCES), family: refusal(asm, EAFNOSUPPORT) };
    rules.add(calls::SOCKETPAIR, sockets::socketpair(asm, plan, closed));
    rules.add(calls::SOCKET, sockets::socket(asm, plan, closed));
}

/// The error of a call that waits here, and what it is for. `None`: it is another one.
pub(crate) fn answer(number: u32, arguments: &[u64; 6]) -> Option<(Errno, Option<CallKind>)> {
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(number);
    if is(calls::SOCKET) || is(calls::SOCKETPAIR) {
        return Some(socket(arguments));
    }
    if is(calls::CLONE) || is(calls::UNSHARE) {
        return Some((Errno::PERM, Some(CallKind::Namespace)));
    }
    let (_, errno, kind) = calls::REPORTED.iter().find(|(call, ..)| is(*call))?;
    Some((Errno::from_raw_os_error(*errno), Some(*kind)))
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel takes an int")]
fn socket(arguments: &[u64; 6]) -> (Errno, Option<CallKind>) {
    let [family, kind] = [arguments[0] as i32, arguments[1] as i32 & 0xF];
    match family {
        libc::AF_UNIX => (Errno::ACCESS, Some(CallKind::Datagram)),
        // A network without these is blocked as a whole.
        libc::AF_INET | libc::AF_INET6 if matches!(kind, libc::SOCK_STREAM | libc::SOCK_DGRAM) => {
            (Errno::ACCESS, None)
        }
        libc::AF_INET | libc::AF_INET6 => (Errno::ACCESS, Some(CallKind::RawSocket)),
        libc::AF_PACKET => (Errno::AFNOSUPPORT, Some(CallKind::RawSocket)),
        _ => (Errno::AFNOSUPPORT, Some(CallKind::OtherSocket)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{FileRules, WaitingNames, program_of_on};
    use crate::filter::specification::Answer::{Allow, Ask, Errno as Refused};
    use crate::filter::specification::{BOTH, Request, plans, run};
    use crate::filter::worker_filter_on;

    /// What is looked at of each call: nothing, everything, and what is refused or opened by an argument.
    const ARGUMENTS: [[u64; 6]; 12] = [
        [0; 6],
        [u64::MAX; 6],
        [1, 1, 0, 0, 0, 0],
        [1, 2, 0, 0, 0, 0],
        [2, 3, 1, 0, 0, 0],
        [2, 1, 0, 0, 0, 0],
        [17, 3, 0, 0, 0, 0],
        [38, 5, 0, 0, 0, 0],
        [16, 3, 12, 0, 0, 0],
        [0x1000_0000, 0, 0, 0, 0, 0],
        [0, 0o4755, 0o2755, 0, 0, 0],
        [0, 0o2755, 0o4755, 0o100, 0, 0],
    ];

    /// A worker that answers calls leaves some open. Nothing of that is open to its commands, and no error differs.
    #[test]
    fn what_a_worker_leaves_open_is_closed_to_commands() {
        for arch in BOTH {
            let unix = [calls::SOCKET, calls::SOCKETPAIR].map(|call| call.number(arch));
            let modes: Vec<_> = calls::CHMODS.iter().map(|(call, _)| call.number(arch)).collect();
            for plan in plans().into_iter().filter(|plan| plan.brokers_files) {
                let bare = FilterPlan { brokers_files: false, ..plan };
                let [bare, worker] =
                    [bare, plan].map(|plan| worker_filter_on(arch, plan).expect("short enough"));
                for waits in [false, true] {
                    let rules = FileRules {
                        thread: 7,
                        waits,
                        names: WaitingNames::Nothing,
                        plan,
                        closes_openat2: true,
                        opens: false,
                    };
                    let command = program_of_on(arch, None, Some(rules)).expect("short enough");
                    for (number, args) in
                        (0..480).flat_map(|number| ARGUMENTS.map(|args| (number, args)))
                    {
                        let request = Request { arch: arch.audit_number(), number, args };
                        let refused = run(&bare, &request).0;
                        let Refused(errno) = refused else { continue };
                        let answer = match run(&worker, &request).0 {
                            Allow => run(&command, &request).0,
                            answer => answer,
                        };
                        let is = |known: &[Option<u32>]| known.contains(&Some(number));
                        let opens_unix = waits && is(&unix) && args[0] == 1 && args[1] == 1;
                        match answer {
                            Allow => assert!(opens_unix, "{plan:?} {request:?}"),
                            Ask if is(&modes) => assert!(waits, "{plan:?} {request:?}"),
                            Ask => {
                                assert!(waits, "{plan:?} {request:?}");
                                if arch == Architecture::OURS {
                                    let known = super::answer(number, &args).map(|known| known.0);
                                    let expected = Errno::from_raw_os_error(errno);
                                    assert_eq!(known, Some(expected), "{plan:?} {request:?}");
                                }
                            }
                            answer => assert_eq!(answer, refused, "{plan:?} {request:?}"),
                        }
                    }
                }
            }
        }
    }

    /// What commands do in a row does not wait.
    #[test]
    fn what_is_open_does_not_wait() {
        for plan in plans().into_iter().filter(|plan| plan.brokers_files) {
            let rules = FileRules {
                thread: 7,
                waits: true,
                names: WaitingNames::Nothing,
                plan,
                closes_openat2: true,
                opens: false,
            };
            let arch = Architecture::X86_64;
            let command = program_of_on(arch, None, Some(rules)).expect("short enough");
            let answer = |number, args| {
                run(&command, &Request { arch: arch.audit_number(), number, args }).0
            };
            assert_eq!(answer(41, [1, 1, 0, 0, 0, 0]), Allow, "{plan:?}");
            assert_eq!(answer(53, [1, 1, 0, 0, 0, 0]), Allow, "{plan:?}");
            // A thread and a process.
            for flags in [0x3D_0F00, 0x4111, 17] {
                assert_eq!(answer(56, [flags, 0, 0, 0, 0, 0]), Allow, "{plan:?}");
            }
        }
    }
}
