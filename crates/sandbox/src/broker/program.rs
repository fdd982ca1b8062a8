//! The filter that sends a command's calls to the broker.

use crate::filter::{
    Architecture, FilterError, Program, Rules,
    assembler::{Assembler, At, Exception, Test, low},
    calls,
};

/// Sends data with the first packet, to an address no one has looked at.
const MSG_FASTOPEN: u32 = libc::MSG_FASTOPEN.unsigned_abs();

/// Options of sockets that are refused: sharing a port with a server of the host
/// (`SO_REUSEPORT`), and leaving by another interface than the route's (`SO_BINDTODEVICE`,
/// `SO_MARK`, `SO_BINDTOIFINDEX`).
const REFUSED_OF_SOCKETS: [u32; 4] = [15, 25, 36, 62];
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
/// `connect`, `bind` and `listen` wait for the broker. Whatever else could send a packet past it is
/// refused: fast open, source routes, other interfaces; so are the calls that
/// [`worker_filter`](crate::filter::worker_filter) leaves open for the broker's own use.
pub fn program() -> Result<Program, FilterError> {
    program_on(Architecture::OURS)
}

pub(super) fn program_on(arch: Architecture) -> Result<Program, FilterError> {
    let mut asm = Assembler::default();
    let mut rules = Rules::new(arch);
    for call in [calls::CONNECT, calls::BIND, calls::LISTEN] {
        rules.add(call, asm.ask());
    }
    for &call in calls::BROKERING {
        rules.add(call, asm.refuse(libc::EPERM));
    }
    for (call, flags) in [(calls::SENDTO, 3), (calls::SENDMSG, 2), (calls::SENDMMSG, 3)] {
        rules.add(call, send(&mut asm, flags)?);
    }
    rules.add(calls::SETSOCKOPT, setsockopt(&mut asm)?);
    rules.finish(asm)
}

fn send(asm: &mut Assembler, flags: u32) -> Result<At, FilterError> {
    // What the kernel answers where fast open is off; clients then connect first.
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::EOPNOTSUPP));
    let fast_open = asm.branch(Test::AnyBit, MSG_FASTOPEN, refuse, allow)?;
    Ok(asm.load(low(flags), fast_open))
}

fn setsockopt(asm: &mut Assembler) -> Result<At, FilterError> {
    let (allow, refuse) = (asm.allow(), asm.refuse(libc::ENOPROTOOPT));
    let known = asm.branch(Test::Above, LAST_OF_SOCKETS, refuse, allow)?;
    let of_sockets = asm.any_of(&REFUSED_OF_SOCKETS, refuse, known)?;
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
        let options = asm.search(&open, 0, refuse)?;
        levels.push((number.unsigned_abs(), asm.load(low(2), options)));
    }
    levels.push((libc::SOL_SOCKET.unsigned_abs(), of_sockets));
    for (number, options) in levels {
        level = asm.branch(Test::Equal, number, options, level)?;
    }
    Ok(asm.load(low(1), level))
}
