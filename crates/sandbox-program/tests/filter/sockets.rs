//! Families, types and protocols.

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT, SOCK_CLOEXEC,
    SOCK_DGRAM, SOCK_NONBLOCK, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM,
};

use super::child::{args, users};
use super::*;

/// As without the filter.
const AS_EVER: Option<c_int> = None;
/// Open under the plan or not, in the order of `PLANS`.
type Row = ((c_int, c_int, c_int), [Option<c_int>; 6]);

const REFUSED: Option<c_int> = Some(EACCES);
const ABSENT: Option<c_int> = Some(EAFNOSUPPORT);
const OTHER: Option<c_int> = Some(EPROTONOSUPPORT);
const NOWHERE: [Option<c_int>; 6] = [ABSENT; 6];

#[rustfmt::skip]
const SOCKETS: &[Row] = &[
    //                                            open     + files  private  without  nothing  host
    ((AF_INET, SOCK_STREAM, 0),                  [AS_EVER, AS_EVER, AS_EVER, REFUSED, REFUSED, AS_EVER]),
    ((AF_INET6, SOCK_STREAM, 6),                 [AS_EVER, AS_EVER, AS_EVER, REFUSED, REFUSED, AS_EVER]),
    ((AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),  [AS_EVER, AS_EVER, AS_EVER, REFUSED, REFUSED, AS_EVER]),
    ((AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),    [AS_EVER, AS_EVER, AS_EVER, REFUSED, REFUSED, REFUSED]),
    ((AF_INET6, SOCK_DGRAM, 17),                 [AS_EVER, AS_EVER, AS_EVER, REFUSED, REFUSED, REFUSED]),
    ((AF_INET, SOCK_DGRAM, 1),                   [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, REFUSED]),
    ((AF_INET, SOCK_DGRAM, 136),                 [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, REFUSED]),
    ((AF_INET, SOCK_STREAM, 132),                [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, OTHER]),
    ((AF_INET, SOCK_STREAM, 256),                [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, OTHER]),
    ((AF_INET, SOCK_STREAM, 262),                [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, OTHER]),
    ((AF_INET6, SOCK_STREAM, 262),               [AS_EVER, AS_EVER, OTHER,   REFUSED, REFUSED, OTHER]),
    ((AF_INET, SOCK_RAW, 1),                     [AS_EVER, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_INET, SOCK_SEQPACKET, 132),             [AS_EVER, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_INET, 10, 768),                         [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_NETLINK, SOCK_RAW, 0),                  [AS_EVER, AS_EVER, AS_EVER, ABSENT,  ABSENT,  ABSENT]),
    ((AF_NETLINK, SOCK_RAW, 9),                  [OTHER,   OTHER,   OTHER,   ABSENT,  ABSENT,  ABSENT]),
    ((AF_NETLINK, SOCK_DGRAM, 4),                [OTHER,   OTHER,   OTHER,   ABSENT,  ABSENT,  ABSENT]),
    ((AF_NETLINK, SOCK_RAW, 15),                 [OTHER,   OTHER,   OTHER,   ABSENT,  ABSENT,  ABSENT]),
    ((AF_UNIX, SOCK_STREAM, 0),                  [REFUSED, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_UNIX, SOCK_DGRAM, 0),                   [REFUSED, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_UNIX, SOCK_SEQPACKET, 0),               [REFUSED, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((libc::AF_PACKET, SOCK_RAW, 0),             NOWHERE),
    ((libc::AF_PACKET, SOCK_DGRAM, 0),           NOWHERE),
    ((libc::AF_VSOCK, SOCK_STREAM, 0),           NOWHERE),
    ((libc::AF_ALG, SOCK_SEQPACKET, 0),          NOWHERE),
    ((libc::AF_XDP, SOCK_RAW, 0),                NOWHERE),
    ((libc::AF_BLUETOOTH, SOCK_RAW, 1),          NOWHERE),
    ((libc::AF_TIPC, SOCK_SEQPACKET, 0),         NOWHERE),
    ((libc::AF_CAN, SOCK_RAW, 1),                NOWHERE),
    ((libc::AF_KEY, SOCK_RAW, 2),                NOWHERE),
    ((libc::AF_RDS, SOCK_SEQPACKET, 0),          NOWHERE),
    ((43, SOCK_STREAM, 0),                       NOWHERE), // AF_SMC
    ((0, SOCK_STREAM, 0),                        NOWHERE),
    ((-1, SOCK_STREAM, 0),                       NOWHERE),
];

#[rustfmt::skip]
const PAIRS: &[Row] = &[
    ((AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),   [AS_EVER; 6]),
    ((AF_UNIX, SOCK_SEQPACKET, 0),               [AS_EVER; 6]),
    ((AF_UNIX, SOCK_DGRAM, 0),                   [REFUSED, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((AF_UNIX, SOCK_RAW, 0),                     [REFUSED, AS_EVER, REFUSED, REFUSED, REFUSED, REFUSED]),
    ((libc::AF_TIPC, SOCK_STREAM, 0),            NOWHERE),
    ((AF_INET, SOCK_STREAM, 0),                  NOWHERE),
];

fn follows(number: c_long, rows: &[Row]) {
    let mut pair = [0; 2];
    let place = std::ptr::from_mut(&mut pair) as c_long;
    let calls: Vec<_> = rows
        .iter()
        .map(|&((family, kind, protocol), _)| {
            (number, args([family.into(), kind.into(), protocol.into(), place]))
        })
        .collect();
    for user in users() {
        let unfiltered = answers(&[], user, &calls);
        for (column, plan) in PLANS.into_iter().enumerate() {
            let answers = answers(&[&filter(plan)], user, &calls);
            for (place, (socket, expected)) in rows.iter().enumerate() {
                let answer = answers[place];
                let says = format!("{socket:?} under {plan:?} as {user:?}");
                match expected[column] {
                    Some(errno) => assert_eq!(answer, -i64::from(errno), "{says}"),
                    None if unfiltered[place] >= 0 => assert!(answer >= 0, "{answer}: {says}"),
                    None => assert_eq!(answer, unfiltered[place], "{says}"),
                }
            }
        }
    }
}

#[test]
fn sockets_are_as_open_as_the_plan() {
    follows(libc::SYS_socket, SOCKETS);
}

#[test]
fn only_connected_pairs_are_made() {
    follows(libc::SYS_socketpair, PAIRS);
}
