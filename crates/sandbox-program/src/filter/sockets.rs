//! Which sockets can be made.

use super::FilterPlan;
use super::assembler::{Assembler, At, low};
use toolwright_sandbox::plan::{Files, Network};

const UNIX: u32 = libc::AF_UNIX.unsigned_abs();
const INET: u32 = libc::AF_INET.unsigned_abs();
const INET6: u32 = libc::AF_INET6.unsigned_abs();
const ALG: u32 = libc::AF_ALG.unsigned_abs();
const NETLINK: u32 = libc::AF_NETLINK.unsigned_abs();

const STREAM: u32 = libc::SOCK_STREAM.unsigned_abs();
const DGRAM: u32 = libc::SOCK_DGRAM.unsigned_abs();
const SEQPACKET: u32 = libc::SOCK_SEQPACKET.unsigned_abs();
/// With an internet family this makes a packet socket.
const PACKET: u32 = 10;
/// The rest of the argument is `SOCK_CLOEXEC` and `SOCK_NONBLOCK`.
const TYPE: u32 = 0xF;

const TCP: u32 = libc::IPPROTO_TCP.unsigned_abs();
const UDP: u32 = libc::IPPROTO_UDP.unsigned_abs();
const ROUTE: u32 = libc::NETLINK_ROUTE.unsigned_abs();

/// What of the internet families is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Internet {
    All,
    TcpAndUdp,
    Tcp,
    Closed,
}

fn internet(plan: FilterPlan) -> Internet {
    match plan.network {
        Network::Open => Internet::All,
        Network::PrivateLoopback | Network::Names if plan.own_net => Internet::TcpAndUdp,
        Network::HostLoopback => Internet::Tcp,
        Network::PrivateLoopback | Network::Names | Network::Nothing => Internet::Closed,
    }
}

/// A unix socket reaches any service of the host that listens in the file system, so it is as open
/// as both together. Elsewhere somebody has to look at what it connects to.
pub(crate) fn unix_is_open(network: Network, files: Files) -> bool {
    network == Network::Open && files == Files::Full
}

/// What becomes of sockets that are closed.
#[derive(Clone, Copy)]
pub(super) struct Closed {
    /// Of a family that is open in part.
    pub(super) kind: At,
    /// Of a family that is not.
    pub(super) family: At,
}

/// `socket(family, type, protocol)`.
pub(super) fn socket(asm: &mut Assembler, plan: FilterPlan, closed: Closed) -> At {
    let (allow, Closed { kind: closed, family: absent }) = (asm.allow(), closed);
    // OpenSSL looks for the cryptography of the kernel, and does without.
    let unknown = asm.refuse(libc::EAFNOSUPPORT);
    let other = asm.any_of(&[ALG], unknown, absent);
    let internet = internet(plan);
    // It lists the interfaces of the command's own namespace.
    let netlink = if matches!(internet, Internet::All | Internet::TcpAndUdp) {
        let other = asm.refuse(libc::EPROTONOSUPPORT);
        let route = asm.any_of(&[ROUTE], allow, other);
        asm.load(low(2), route)
    } else {
        unknown
    };
    let inet = match internet {
        Internet::All => {
            let kind = asm.any_of(&[PACKET], closed, allow);
            masked_type(asm, kind)
        }
        Internet::TcpAndUdp => stream_or(asm, (&[STREAM, DGRAM], &[0, TCP, UDP]), closed),
        Internet::Tcp => stream_or(asm, (&[STREAM], &[0, TCP]), closed),
        Internet::Closed => closed,
    };
    let next = asm.any_of(&[INET, INET6], inet, other);
    let next = asm.any_of(&[NETLINK], netlink, next);
    let unix = if unix_is_open(plan.network, plan.files) {
        allow
    } else if plan.brokers_files {
        connected_types(asm, closed)
    } else {
        closed
    };
    let family = asm.any_of(&[UNIX], unix, next);
    asm.load(low(0), family)
}

/// Pairs of one of the types with one of the protocols. The kernel refuses impossible pairs.
fn stream_or(asm: &mut Assembler, (types, protocols): (&[u32], &[u32]), closed: At) -> At {
    let allow = asm.allow();
    let other = asm.refuse(libc::EPROTONOSUPPORT);
    let protocol = asm.any_of(protocols, allow, other);
    let protocol = asm.load(low(2), protocol);
    let kind = asm.any_of(types, protocol, closed);
    masked_type(asm, kind)
}

/// `socketpair(family, type, …)`: pairs of unix sockets that are connected for good. A datagram
/// socket is not: it can send to any address, and a raw one is a datagram socket.
pub(super) fn socketpair(asm: &mut Assembler, plan: FilterPlan, closed: Closed) -> At {
    let (allow, absent) = (asm.allow(), asm.refuse(libc::EAFNOSUPPORT));
    let unix = if unix_is_open(plan.network, plan.files) {
        allow
    } else {
        connected_types(asm, closed.kind)
    };
    let family = asm.any_of(&[UNIX], unix, absent);
    asm.load(low(0), family)
}

/// Types that send only to what they are connected to.
fn connected_types(asm: &mut Assembler, closed: At) -> At {
    let allow = asm.allow();
    let kind = asm.any_of(&[STREAM, SEQPACKET], allow, closed);
    masked_type(asm, kind)
}

fn masked_type(asm: &mut Assembler, next: At) -> At {
    let masked = asm.mask(TYPE, next);
    asm.load(low(1), masked)
}
