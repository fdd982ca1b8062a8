//! Refused calls, and that none of them has an effect.

use std::io::ErrorKind;
use std::net::TcpListener;

use libc::{c_int, c_long};

use super::calls::{
    V4, V6, at, bind, bytes, call, connect, listen, outside, place, place_mut, server, set, tcp,
    with,
};
use super::worker::as_each_user;

const ACCESS: i64 = -(libc::EACCES as i64);
const FAMILY: i64 = -(libc::EAFNOSUPPORT as i64);
const OPTION: i64 = -(libc::ENOPROTOOPT as i64);
const PROTOCOL: i64 = -(libc::EPROTONOSUPPORT as i64);
const NOT_ALLOWED: i64 = -(libc::EPERM as i64);
const UNSUPPORTED: i64 = -(libc::EOPNOTSUPP as i64);

fn nobody_came(listener: &TcpListener) {
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn other_addresses_are_not_connected_to() {
    let (everywhere, port) = server("0.0.0.0");
    let own = outside().map_or_else(|| "192.0.2.2".to_owned(), |ip| ip.to_string());
    for answers in as_each_user(|| {
        let v4 = ["192.0.2.1", "0.0.0.0", "255.255.255.255", "128.0.0.1", "126.255.255.255", &own];
        let mapped = format!("::ffff:{own}");
        let v6 = ["::", "2001:db8::1", "fe80::1", "::ffff:0.0.0.0", "::127.0.0.1", &mapped];
        let to = |family, ips: [&str; 6]| ips.map(|ip| connect(tcp(family), at(ip, port)));
        [to(V4, v4), to(V6, v6)].concat()
    }) {
        assert_eq!(answers, [ACCESS; 12]);
    }
    nobody_came(&everywhere);
}

#[test]
fn other_addresses_are_not_bound() {
    let own = outside().map_or_else(|| "192.0.2.2".to_owned(), |ip| ip.to_string());
    for answers in as_each_user(|| {
        let v4 = tcp(V4);
        let v6 = tcp(V6);
        vec![
            bind(v4, at("0.0.0.0", 0)),
            bind(v4, at(&own, 0)),
            bind(v6, at("::", 0)),
            bind(v6, at("::ffff:0.0.0.0", 0)),
            // It got no address, so nothing reaches it either.
            listen(v4),
            listen(v6),
            listen(tcp(V4)),
        ]
    }) {
        assert_eq!(answers, [ACCESS; 7]);
    }
}

#[test]
fn other_families_and_lengths_are_refused() {
    let (listener, port) = server("127.0.0.1");
    let good = bytes(at("127.0.0.1", port));
    for answers in as_each_user(|| {
        let with_family = |family: u16| {
            let mut address = good.clone();
            address[..2].copy_from_slice(&family.to_ne_bytes());
            with(libc::SYS_connect, tcp(V4), &address)
        };
        let short = |len: usize| with(libc::SYS_connect, tcp(V4), &good[..len]);
        let long = |len: c_long| call(libc::SYS_connect, [tcp(V4), place(&good), len]);
        let mut answers: Vec<_> = [0, 1, 16, 40].map(with_family).to_vec();
        answers.extend([0, 1, 2, 15].map(short));
        answers.extend([-1, 129, 1 << 31].map(long));
        answers.push(call(libc::SYS_connect, [tcp(V4), 8, 16]));
        answers.push(call(libc::SYS_connect, [tcp(V4), -8, 16]));
        answers
    }) {
        assert_eq!(answers[..4], [FAMILY; 4]);
        assert_eq!(answers[4..11], [-i64::from(libc::EINVAL); 7]);
        assert_eq!(answers[11..], [-i64::from(libc::EFAULT); 2]);
    }
    nobody_came(&listener);
}

#[test]
fn only_tcp_sockets_are_handled() {
    let (listener, port) = server("127.0.0.1");
    let good = at("127.0.0.1", port);
    let (dgram, seqpacket) = (libc::SOCK_DGRAM, libc::SOCK_SEQPACKET);
    for answers in as_each_user(|| {
        let make = |family: c_int, kind: c_int, protocol: c_int| {
            call(libc::SYS_socket, [family.into(), kind.into(), protocol.into()])
        };
        let mut pair = [0_i32; 2];
        let places = place_mut(&mut pair);
        call(libc::SYS_socketpair, [libc::AF_UNIX.into(), seqpacket.into(), 0, places]);
        vec![
            make(V4, dgram, 0),
            make(V6, dgram, libc::IPPROTO_UDP),
            make(V4, libc::SOCK_RAW, libc::IPPROTO_TCP),
            make(libc::AF_UNIX, libc::SOCK_STREAM, 0),
            make(V4, libc::SOCK_STREAM, 262),
            make(V6, libc::SOCK_STREAM, 262),
            make(V4, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
            make(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            make(libc::AF_NETLINK, libc::SOCK_RAW, 0),
            connect(pair[0].into(), good),
            bind(pair[0].into(), good),
            listen(pair[0].into()),
            connect(0, good),
            connect(999, good),
            connect(-1, good),
            call(libc::SYS_io_uring_setup, [8, place(&[0_u8; 120])]),
        ]
    }) {
        let [access, protocol, family] = [ACCESS, PROTOCOL, FAMILY];
        assert_eq!(answers[..4], [access; 4]);
        assert_eq!(answers[4..9], [protocol, protocol, protocol, family, family]);
        assert_eq!(answers[9..12], [access; 3]);
        let (other, none) = (-i64::from(libc::ENOTSOCK), -i64::from(libc::EBADF));
        assert!(answers[12] == other || answers[12] == none, "{}", answers[12]);
        assert_eq!(answers[13..], [none, none, -i64::from(libc::ENOSYS)]);
    }
    nobody_came(&listener);
}

#[test]
fn nothing_is_sent_with_the_first_packet() {
    let (listener, port) = server("127.0.0.1");
    let address = bytes(at("127.0.0.1", port));
    let fast = c_long::from(libc::MSG_FASTOPEN);
    for answers in as_each_user(|| {
        let text = [b'x'; 4];
        let pieces = [libc::iovec { iov_base: text.as_ptr().cast_mut().cast(), iov_len: 4 }];
        // SAFETY: all zeros is a message without anything.
        let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        message.msg_hdr.msg_name = address.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_namelen = 16;
        message.msg_hdr.msg_iov = pieces.as_ptr().cast_mut();
        message.msg_hdr.msg_iovlen = 1;
        let messages = [message];
        let send = |flags: c_long| {
            [
                call(libc::SYS_sendto, [tcp(V4), place(&text), 4, flags, place(&address), 16]),
                call(libc::SYS_sendmsg, [tcp(V4), place(&messages), flags]),
                call(libc::SYS_sendmmsg, [tcp(V4), place(&messages), 1, flags]),
            ]
        };
        let quiet = c_long::from(libc::MSG_NOSIGNAL);
        [send(fast), send(fast | quiet), send(quiet)].concat()
    }) {
        assert_eq!(answers[..6], [UNSUPPORTED; 6]);
        // Without it, an address is not looked at, and there is no connection.
        assert_eq!(answers[6..], [-i64::from(libc::EPIPE); 3]);
    }
    nobody_came(&listener);
}

#[test]
fn options_that_lead_elsewhere_are_refused() {
    // A loose source route over 192.0.2.1.
    let route = [131, 7, 4, 192, 0, 2, 1, 0];
    let lo = *b"lo\0\0";
    let one = 1_i32.to_ne_bytes();
    let refused: [(c_int, c_int, &[u8]); 14] = [
        (libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &lo),
        (libc::SOL_SOCKET, 62, &one),
        (libc::SOL_SOCKET, libc::SO_MARK, &one),
        (libc::SOL_SOCKET, libc::SO_REUSEPORT, &one),
        (libc::SOL_SOCKET, 85, &one),
        (libc::IPPROTO_IP, libc::IP_OPTIONS, &route),
        (libc::IPPROTO_IP, libc::IP_TRANSPARENT, &one),
        (libc::IPPROTO_IPV6, libc::IPV6_RTHDR, &route),
        (libc::IPPROTO_IPV6, libc::IPV6_ADDRFORM, &one),
        (libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &one),
        (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &one),
        (libc::IPPROTO_TCP, libc::TCP_REPAIR, &one),
        (libc::IPPROTO_TCP, libc::TCP_ULP, b"tls"),
        (282, 1, &one),
    ];
    for answers in as_each_user(|| {
        let on =
            |family| refused.map(|(level, option, value)| set(tcp(family), level, option, value));
        [on(V4), on(V6)].concat()
    }) {
        assert_eq!(answers, [OPTION; 28]);
    }
}

/// Commands cannot do what the worker does for them.
#[test]
fn commands_do_not_broker() {
    for answers in as_each_user(|| {
        let own = i64::from(std::process::id());
        let pidfd = call(libc::SYS_pidfd_open, [own]);
        let part = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }];
        vec![
            call(libc::SYS_pidfd_getfd, [pidfd, 0]),
            call(libc::SYS_process_vm_readv, [own, place(&part), 1, place(&part), 1]),
            call(libc::SYS_process_vm_writev, [own, place(&part), 1, place(&part), 1]),
        ]
    }) {
        assert_eq!(answers, [NOT_ALLOWED; 3]);
    }
}

/// A process that may not be looked into gets no connection.
#[test]
fn who_cannot_be_looked_into_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: left out");
        return;
    }
    let (listener, port) = server("127.0.0.1");
    let answers = super::worker::command(Some(super::worker::NOBODY), || {
        call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 0]);
        let socket = tcp(V4);
        let address = at("127.0.0.1", port);
        vec![connect(socket, address), bind(socket, address), listen(socket)]
    });
    assert_eq!(answers, [ACCESS; 3]);
    nobody_came(&listener);
}
