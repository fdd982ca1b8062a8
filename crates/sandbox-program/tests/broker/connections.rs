//! Allowed connections work as without a broker.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{FromRawFd, RawFd};
use std::thread;

use super::calls::{
    V4, V6, address_by, at, bind, call, close, connect, get, hasty_tcp, listen, server, set, tcp,
};
use super::worker::{as_each_user, command_on_older_kernel};

/// Answers one line with the same in capitals, twice: once for each user.
fn echo(ip: &str) -> u16 {
    let (listener, port) = server(ip);
    listener.set_nonblocking(false).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            stream.write_all(text.to_uppercase().as_bytes()).unwrap();
        }
    });
    port
}

fn stream(socket: i64) -> TcpStream {
    // SAFETY: the test made it and uses it nowhere else.
    unsafe { TcpStream::from_raw_fd(RawFd::try_from(socket).unwrap()) }
}

fn talks(socket: i64) -> bool {
    let mut stream = stream(socket);
    stream.write_all(b"text").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer == "TEXT"
}

#[test]
fn servers_of_the_host_are_reached() {
    let (v4, v6) = (echo("127.0.0.1"), echo("::1"));
    for answers in as_each_user(|| {
        let to = [(V4, at("127.0.0.1", v4)), (V6, at("::1", v6)), (V6, at("::ffff:127.0.0.1", v4))];
        let talk = |(family, address)| {
            let socket = tcp(family);
            [connect(socket, address), talks(socket).into()]
        };
        to.into_iter().flat_map(talk).collect()
    }) {
        assert_eq!(answers, [0, 1, 0, 1, 0, 1]);
    }
}

#[test]
fn errors_are_the_kernels() {
    let (listener, unused) = server("127.0.0.1");
    drop(listener);
    for answers in as_each_user(|| {
        let socket = tcp(V4);
        let refused = connect(socket, at("127.0.0.1", unused));
        // A socket that failed may try again.
        let again = connect(socket, at("127.0.0.1", unused));
        let mixed = connect(tcp(V4), at("::1", unused));
        vec![refused, again, mixed]
    }) {
        let refused = -i64::from(libc::ECONNREFUSED);
        assert_eq!(answers, [refused, refused, -i64::from(libc::EAFNOSUPPORT)]);
    }
}

/// What happened on a socket, waiting for it at most 10 s.
fn events(socket: i64) -> i16 {
    let mut poll =
        libc::pollfd { fd: socket.try_into().unwrap(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: a plain call on memory that lives.
    unsafe { libc::poll(&raw mut poll, 1, 10_000) };
    poll.revents
}

fn error(socket: i64) -> i64 {
    i32::from_ne_bytes(get(socket, libc::SO_ERROR)).into()
}

#[test]
fn a_socket_that_does_not_wait_is_told_later() {
    let good = echo("127.0.0.1");
    let (listener, unused) = server("127.0.0.1");
    drop(listener);
    for answers in as_each_user(|| {
        let socket = hasty_tcp();
        let begun = connect(socket, at("127.0.0.1", good));
        let became = [i64::from(events(socket) & libc::POLLOUT), error(socket)];
        let again = connect(socket, at("127.0.0.1", good));
        let once_more = connect(socket, at("127.0.0.1", good));
        let failed = hasty_tcp();
        let failing = connect(failed, at("127.0.0.1", unused));
        events(failed);
        let failed = error(failed);
        // It is still non-blocking, and transfers data once it is made to block.
        let flags = call(libc::SYS_fcntl, [socket, libc::F_GETFL.into()]);
        call(libc::SYS_fcntl, [socket, libc::F_SETFL.into(), 0]);
        let flags = flags & i64::from(libc::O_NONBLOCK);
        vec![
            begun,
            became[0],
            became[1],
            again,
            once_more,
            flags,
            talks(socket).into(),
            failing,
            failed,
        ]
    }) {
        let begun = -i64::from(libc::EINPROGRESS);
        let (out, nonblock) = (libc::POLLOUT.into(), libc::O_NONBLOCK.into());
        let connected = -i64::from(libc::EISCONN);
        let refused = libc::ECONNREFUSED.into();
        assert_eq!(answers, [begun, out, 0, 0, connected, nonblock, 1, begun, refused]);
    }
}

#[test]
fn servers_of_the_command_are_reached() {
    for (family, ip) in [(V4, "127.0.0.1"), (V6, "::1"), (V4, "127.3.2.1")] {
        // The port, passed before the command waits for its client.
        let (ports, port_sender) = std::io::pipe().unwrap();
        let client = thread::spawn(move || {
            let mut ports = ports;
            let mut clients = 0;
            let mut port = [0; 2];
            while ports.read_exact(&mut port).is_ok() {
                let mut stream = TcpStream::connect(at(ip, u16::from_ne_bytes(port))).unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert_eq!(text, "from the command");
                clients += 1;
            }
            clients
        });
        let answers = as_each_user(|| {
            let socket = tcp(family);
            let bound = bind(socket, at(ip, 0));
            let listens = [listen(socket), listen(socket)];
            (&port_sender)
                .write_all(&address_by(libc::SYS_getsockname, socket).0.to_ne_bytes())
                .unwrap();
            let mut accepted = stream(call(libc::SYS_accept4, [socket]));
            accepted.write_all(b"from the command").unwrap();
            vec![bound, listens[0], listens[1]]
        });
        drop(port_sender);
        for answers in &answers {
            assert_eq!(answers, &[0, 0, 0], "{ip}");
        }
        assert_eq!(client.join().unwrap(), answers.len());
    }
}

#[test]
fn a_port_in_use_is_said_to_be() {
    let (_listener, taken) = server("127.0.0.1");
    for answers in as_each_user(|| {
        let socket = tcp(V4);
        let in_use = bind(socket, at("127.0.0.1", taken));
        [in_use, bind(socket, at("127.0.0.1", 0)), bind(socket, at("127.0.0.1", 0))].to_vec()
    }) {
        let twice = -i64::from(libc::EINVAL);
        assert_eq!(answers, [-i64::from(libc::EADDRINUSE), 0, twice]);
    }
}

#[test]
fn harmless_options_are_set() {
    let one = 1_i32.to_ne_bytes();
    let seconds: Vec<u8> = [2_i64, 0].into_iter().flat_map(i64::to_ne_bytes).collect();
    for answers in as_each_user(|| {
        let (v4, v6) = (tcp(V4), tcp(V6));
        vec![
            set(v4, libc::SOL_SOCKET, libc::SO_REUSEADDR, &one),
            set(v4, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &one),
            set(v4, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &seconds),
            set(v4, libc::SOL_SOCKET, 67, &seconds),
            set(v4, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &one),
            set(v4, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &seconds),
            set(v4, libc::IPPROTO_TCP, libc::TCP_NODELAY, &one),
            set(v4, libc::IPPROTO_IP, libc::IP_TOS, &one),
            set(v6, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &one),
        ]
    }) {
        assert_eq!(answers, [0, 0, 0, 0, -i64::from(libc::EINVAL), 0, 0, 0, 0]);
    }
}

/// Threads are callers of their own, also a thread that outlives the first, and one with
/// descriptors of its own.
#[test]
fn every_thread_is_answered() {
    let echo = echo("127.0.0.1");
    for answers in as_each_user(|| {
        let talk = move || {
            let socket = tcp(V4);
            [connect(socket, at("127.0.0.1", echo)), talks(socket).into()]
        };
        let threads: Vec<_> = (0..8).map(|_| thread::spawn(talk)).collect();
        let mut answers: Vec<i64> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let separate = thread::spawn(move || {
            call(libc::SYS_unshare, [libc::CLONE_FILES.into()]);
            talk()
        });
        answers.extend(separate.join().unwrap());
        answers
    }) {
        assert_eq!(answers, [0, 1].repeat(9));
    }
}

#[test]
fn an_older_kernel_will_do() {
    let echo = echo("127.0.0.1");
    let answers = command_on_older_kernel(|| {
        let pidfd = [i64::from(std::process::id()), libc::O_EXCL.into()];
        let mut answers = vec![call(libc::SYS_pidfd_open, pidfd)];
        let talk = move || {
            let socket = tcp(V4);
            [connect(socket, at("127.0.0.1", echo)), talks(socket).into()]
        };
        answers.extend(talk());
        answers.extend(thread::spawn(talk).join().unwrap());
        answers.push(connect(tcp(V4), at("192.0.2.1", echo)));
        answers
    });
    let refused = [libc::EINVAL, libc::EACCES].map(|error| -i64::from(error));
    assert_eq!(answers, [refused[0], 0, 1, 0, 1, refused[1]]);
}

/// Descriptors that do not fit any other place are still those of the caller.
#[test]
fn numbers_of_descriptors_are_the_callers() {
    let echo = echo("127.0.0.1");
    for answers in as_each_user(|| {
        let socket = tcp(V4);
        let high = call(libc::SYS_dup3, [socket, 700]);
        close(socket);
        vec![high, connect(high, at("127.0.0.1", echo)), talks(high).into()]
    }) {
        assert_eq!(answers, [700, 0, 1]);
    }
}
