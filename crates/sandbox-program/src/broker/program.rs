//! The filter that sends a command's calls to the broker.

use super::files::FileRules;
use crate::filter::assembler::{Assembler, At, Exception, Test, low};
use crate::filter::{Architecture, FilterTooLong, Program, Rules, calls};

/// Sends data with the first packet, to an address no one has looked at.
const MSG_FASTOPEN: u32 = libc::MSG_FASTOPEN.unsigned_abs();

/// Options of sockets that are refused: sharing a port with a server of the host
/// (`SO_REUSEPORT`), and leaving by another interface than the route's (`SO_BINDTODEVICE`,
/// `SO_MARK`, `SO_BINDTOIFINDEX`).
const REFUSED_OF_SOCKETS: [u32; 4] = [15, 25, 36, 62];
/// The limit for sending, `SO_SNDTIMEO` in its two forms. It also limits how long `connect` waits,
/// which the broker relies on.
const LIMIT: [u32; 2] = [21, 67];
/// `SO_INQ`; no later one was looked at.
const LAST_OF_SOCKETS: u32 = 84;

/// `IP_TOS`, `IP_TTL`, `IP_MTU_DISCOVER`, `IP_RECVERR`, `IP_BIND_ADDRESS_NO_PORT`. Not `IP_OPTIONS`:
/// with a source route, a connection to 127.0.0.1 goes to another machine first.
const OF_IP: [(u32, u32); 3] = [(1, 2), (10, 11), (24, 24)];
/// `IPV6_UNICAST_HOPS`, `IPV6_MTU_DISCOVER`, `IPV6_RECVERR`, `IPV6_V6ONLY`, `IPV6_TCLASS`. Not
/// `IPV6_RTHDR`, for the same reason.
const OF_IPV6: [(u32, u32); 4] = [(16, 16), (23, 23), (25, 26), (67, 67)];
/// From `TCP_NODELAY` to `TCP_WINDOW_CLAMP`, `TCP_QUICKACK`, `TCP_CONGESTION`, `TCP_USER_TIMEOUT`,
/// `TCP_NOTSENT_LOWAT`. Not fast open, repair and upper layer protocols.
const OF_TCP: [(u32, u32); 4] = [(1, 10), (12, 13), (18, 18), (25, 25)];

/// The filter for [`install_in_child`](super::install_in_child).
///
/// `connect`, `bind`, `listen` and setting `SO_SNDTIMEO` wait for the broker. Whatever else could send a packet past it is
/// refused: fast open, source routes, other interfaces; so are the calls that
/// [`worker_filter`](crate::filter::worker_filter) leaves open for the broker's own use.
pub fn program() -> Result<Program, FilterTooLong> {
    program_of(Some(Connections::Loopback), None)
}

/// Which connections wait for the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// Those to the loopback interface of the host.
    Loopback,
    /// Those to a command's own unix sockets, and all others as they are.
    Own {
        /// Whether `listen` waits too, where names of sockets may be of the host's network.
        listens: bool,
    },
    /// Those to hosts by name. The sockets of the command are those of a private network, of all kinds, but for those
    /// that the host has connected. Options that would lead their packets elsewhere are refused, and the others are
    /// open.
    Names,
}

/// The filter of a command whose connections, whose calls on names, or both wait for the broker. A process can have
/// one such filter.
pub fn program_of(
    connections: Option<Connections>,
    files: Option<FileRules>,
) -> Result<Program, FilterTooLong> {
    program_of_on(Architecture::OURS, connections, files)
}

#[cfg(test)]
fn program_on(arch: Architecture) -> Result<Program, FilterTooLong> {
    program_of_on(arch, Some(Connections::Loopback), None)
}

pub(crate) fn program_of_on(
    arch: Architecture,
    connections: Option<Connections>,
    files: Option<FileRules>,
) -> Result<Program, FilterTooLong> {
    let mut asm = Assembler::default();
    let mut rules = Rules::new(arch);
    rules.add(calls::PIDFD_GETFD, asm.refuse(libc::EPERM));
    if !files.is_some_and(|files| files.plan.traces) {
        rules.add(calls::PROCESS_VM_READV, asm.refuse(libc::EPERM));
    }
    if let Some(files) = files {
        files.add(&mut asm, &mut rules);
    }
    match connections {
        None => {}
        Some(Connections::Own { listens }) => add_own(&mut asm, &mut rules, listens),
        Some(Connections::Loopback) => add_connections(&mut asm, &mut rules, setsockopt),
        Some(Connections::Names) => add_connections(&mut asm, &mut rules, setsockopt_of_names),
    }
    rules.finish(asm)
}

/// The limit for sending too: by it the broker keeps from waiting.
fn add_own(asm: &mut Assembler, rules: &mut Rules, listens: bool) {
    let (ask, allow) = (asm.ask(), asm.allow());
    rules.add(calls::CONNECT, ask);
    if listens {
        rules.add(calls::LISTEN, ask);
    }
    let of_sockets = asm.any_of(&LIMIT, ask, allow);
    let of_sockets = asm.load(low(2), of_sockets);
    let level = asm.branch(Test::Equal, libc::SOL_SOCKET.unsigned_abs(), of_sockets, allow);
    rules.add(calls::SETSOCKOPT, asm.load(low(1), level));
}

fn add_connections(asm: &mut Assembler, rules: &mut Rules, setsockopt: fn(&mut Assembler) -> At) {
    for call in [calls::CONNECT, calls::BIND, calls::LISTEN] {
        rules.add(call, asm.ask());
    }
    for (call, flags) in [(calls::SENDTO, 3), (calls::SENDMSG, 2), (calls::SENDMMSG, 3)] {
        rules.add(call, send(asm, flags));
    }
    rules.add(calls::SETSOCKOPT, setsockopt(asm));
}

/// Options of sockets that are refused to a command with hosts by name: leaving by another interface.
const REFUSED_OF_SOCKETS_OF_NAMES: [u32; 3] = [25, 36, 62];
/// `IP_OPTIONS`.
const REFUSED_OF_IP: [u32; 1] = [4];
/// Headers of IPv6 that name other machines, in their old and new numbers.
const REFUSED_OF_IPV6: [u32; 8] = [3, 4, 5, 6, 54, 55, 57, 59];

fn setsockopt_of_names(asm: &mut Assembler) -> At {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::ENOPROTOOPT));
    let ask = asm.ask();
    let of_sockets = asm.any_of(&REFUSED_OF_SOCKETS_OF_NAMES, refuse, allow);
    let of_sockets = asm.any_of(&LIMIT, ask, of_sockets);
    let of_sockets = asm.load(low(2), of_sockets);
    let of_ip = asm.any_of(&REFUSED_OF_IP, refuse, allow);
    let of_ip = asm.load(low(2), of_ip);
    let of_ipv6 = asm.any_of(&REFUSED_OF_IPV6, refuse, allow);
    let of_ipv6 = asm.load(low(2), of_ipv6);
    let open: Vec<_> =
        OF_TCP.iter().map(|&(first, last)| Exception { first, last, to: allow }).collect();
    let of_tcp = asm.search(&open, 0, refuse);
    let of_tcp = asm.load(low(2), of_tcp);
    // Those of netlink and of UDP concern the private network alone.
    let mut level = allow;
    for (number, options) in [
        (libc::IPPROTO_IPV6, of_ipv6),
        (libc::IPPROTO_IP, of_ip),
        (libc::IPPROTO_TCP, of_tcp),
        (libc::SOL_SOCKET, of_sockets),
    ] {
        level = asm.branch(Test::Equal, number.unsigned_abs(), options, level);
    }
    asm.load(low(1), level)
}

fn send(asm: &mut Assembler, flags: u32) -> At {
    // The kernel's answer where fast open is off. Clients then connect first.
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EOPNOTSUPP));
    let fast_open = asm.branch(Test::AnyBit, MSG_FASTOPEN, refuse, allow);
    asm.load(low(flags), fast_open)
}

fn setsockopt(asm: &mut Assembler) -> At {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::ENOPROTOOPT));
    let known = asm.branch(Test::Above, LAST_OF_SOCKETS, refuse, allow);
    let of_sockets = asm.any_of(&REFUSED_OF_SOCKETS, refuse, known);
    let ask = asm.ask();
    let of_sockets = asm.any_of(&LIMIT, ask, of_sockets);
    let of_sockets = asm.load(low(2), of_sockets);
    let mut level = refuse;
    let protocols = [
        (libc::IPPROTO_IPV6, &OF_IPV6[..]),
        (libc::IPPROTO_IP, &OF_IP),
        (libc::IPPROTO_TCP, &OF_TCP),
    ];
    let mut levels = Vec::new();
    for (number, open) in protocols {
        let open: Vec<_> =
            open.iter().map(|&(first, last)| Exception { first, last, to: allow }).collect();
        let options = asm.search(&open, 0, refuse);
        levels.push((number.unsigned_abs(), asm.load(low(2), options)));
    }
    levels.push((libc::SOL_SOCKET.unsigned_abs(), of_sockets));
    for (number, options) in levels {
        level = asm.branch(Test::Equal, number, options, level);
    }
    asm.load(low(1), level)
}

#[cfg(test)]
mod tests {
    use libc::{ENOPROTOOPT, ENOSYS, EOPNOTSUPP, EPERM};
    use proptest::prelude::*;

    use super::*;
    use crate::filter::specification::Answer::{self, Allow, Ask, Errno};
    use crate::filter::specification::{BOTH, Request, arg, int, run};

    /// The specification of the program. The calls are those of x86-64 and aarch64.
    fn expected(arch: Architecture, request: &Request) -> Answer {
        let [_, second, third, fourth, ..] = request.args;
        let is = |x86_64, aarch64| {
            request.number == if arch == Architecture::X86_64 { x86_64 } else { aarch64 }
        };
        let fast_open = |flags| int(flags) & libc::MSG_FASTOPEN != 0;
        let (connect, bind, listen) = (is(42, 203), is(49, 200), is(50, 201));
        let (sends_fourth, sends_third) = (is(44, 206) || is(307, 269), is(46, 211));
        if connect || bind || listen {
            Ask
        } else if is(310, 270) || request.number == 438 {
            Errno(EPERM)
        } else if sends_fourth {
            if fast_open(fourth) { Errno(EOPNOTSUPP) } else { Allow }
        } else if sends_third {
            if fast_open(third) { Errno(EOPNOTSUPP) } else { Allow }
        } else if is(54, 208) {
            setsockopt(int(second), int(third))
        } else if request.number >= 470 {
            Errno(ENOSYS)
        } else {
            Allow
        }
    }

    fn setsockopt(level: i32, option: i32) -> Answer {
        match (level, option) {
            (libc::SOL_SOCKET, 21 | 67) => Ask,
            (libc::SOL_SOCKET, 15 | 25 | 36 | 62) => Errno(ENOPROTOOPT),
            (libc::SOL_SOCKET, 0..=84)
            | (libc::IPPROTO_IP, 1 | 2 | 10 | 11 | 24)
            | (libc::IPPROTO_IPV6, 16 | 23 | 25 | 26 | 67)
            | (libc::IPPROTO_TCP, 1..=10 | 12 | 13 | 18 | 25) => Allow,
            _ => Errno(ENOPROTOOPT),
        }
    }

    fn request(arch: Architecture, number: u32, args: [u64; 6]) -> Request {
        Request { arch: arch.audit_number(), number, args }
    }

    #[test]
    fn every_number_and_every_option_is_answered_as_specified() {
        for arch in BOTH {
            let program = program_on(arch).expect("short enough");
            assert!(program.len() <= 80, "{}", program.len());
            for number in (0..600).chain([0x4000_0000, u32::MAX]) {
                let request = request(arch, number, [0; 6]);
                assert_eq!(run(&program, &request).0, expected(arch, &request), "{request:?}");
            }
            let setsockopt = calls::SETSOCKOPT.number(arch).expect("on both");
            for level in (0..300).chain([u64::MAX]) {
                for option in (0..200).chain([u64::MAX, 1 << 31, 1 << 32]) {
                    let request = request(arch, setsockopt, [3, level, option, 0, 0, 0]);
                    assert_eq!(run(&program, &request).0, expected(arch, &request), "{request:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_program_answers_as_specified(
            number in prop_oneof![
                proptest::sample::select(vec![44_u32, 46, 54, 307, 206, 208, 211, 269]),
                0..500_u32,
            ],
            args in proptest::array::uniform6(prop_oneof![arg(), Just(0x2000_0000)]),
            arch in proptest::sample::select(&BOTH[..]),
        ) {
            let request = request(arch, number, args);
            let program = program_on(arch).expect("short enough");
            prop_assert_eq!(run(&program, &request).0, expected(arch, &request));
        }
    }
}
