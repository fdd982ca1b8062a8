//! Threads that change things while a call is looked at.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::calls::{
    V4, address_by, at, bytes, call, close, connect, get, hasty_tcp, listen, outside, place,
    server, set, tcp,
};
use super::waiting::{Full, patient};
use super::worker::{as_each_user, command};

/// The first eight bytes of an address, which are all that matters, as one word.
fn word(address: SocketAddr) -> u64 {
    u64::from_ne_bytes(*bytes(address).first_chunk().unwrap())
}

#[test]
fn rewriting_the_address_decides_nothing() {
    let good = at("127.0.0.1", patient());
    let ip = outside().unwrap_or_else(|| "192.0.2.1".parse().unwrap());
    let listener = server(&ip.to_string()).0;
    let bad = listener.local_addr().unwrap();
    for answers in as_each_user(|| {
        let memory = [AtomicU64::new(word(good)), AtomicU64::new(0)];
        let done = AtomicBool::new(false);
        let (mut reached, mut refused, mut wrong) = (0, 0, 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for address in [bad, good] {
                        memory[0].store(word(address), Ordering::Relaxed);
                    }
                }
            });
            let place = place(&memory);
            for _ in 0..4000 {
                let socket = tcp(V4);
                match call(libc::SYS_connect, [socket, place, 16]) {
                    0 => {
                        reached += 1;
                        wrong += i64::from(address_by(libc::SYS_getpeername, socket).1[0] != 127);
                    }
                    answer if answer == -i64::from(libc::EACCES) => refused += 1,
                    _ => wrong += 1,
                }
                close(socket);
            }
            done.store(true, Ordering::Relaxed);
        });
        vec![wrong, i64::from(reached > 0), i64::from(refused > 0)]
    }) {
        // Both were seen, so that it was a race.
        assert_eq!(answers, [0, 1, 1]);
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// The worker checks in its loop that no call holds it up for a second.
#[test]
fn changing_flags_does_not_make_the_broker_wait() {
    let full = Full::new();
    let (address, good) = (at("127.0.0.1", full.port), at("127.0.0.1", patient()));
    let answers = command(None, || {
        let limit: Vec<u8> = [1_i64, 200_000].into_iter().flat_map(i64::to_ne_bytes).collect();
        let attempts = || {
            let (socket, over) = (hasty_tcp(), AtomicBool::new(false));
            set(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &limit);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        for flags in [0, libc::O_NONBLOCK] {
                            call(libc::SYS_fcntl, [socket, libc::F_SETFL.into(), flags.into()]);
                        }
                    }
                });
                let answers = [0; 3].map(|_| connect(socket, address));
                over.store(true, Ordering::Relaxed);
                answers
            })
        };
        let mut answers = thread::scope(|scope| {
            let threads = [0; 6].map(|_| scope.spawn(attempts));
            threads.map(|thread| thread.join().unwrap()).concat()
        });
        answers.push(connect(tcp(V4), good));
        answers
    });
    let late = [-i64::from(libc::EINPROGRESS), -i64::from(libc::EALREADY)];
    let [attempts @ .., last] = &answers[..] else { panic!("the worker was held up") };
    assert!(attempts.iter().all(|answer| late.contains(answer)), "{attempts:?}");
    assert_eq!((attempts.len(), *last), (18, 0));
}

/// A connecting socket has an address, and forgets it when it is shut down. If it listened in
/// between, other machines would reach it.
#[test]
fn shutting_down_does_not_open_a_socket_to_everybody() {
    let full = Full::new();
    let address = at("127.0.0.1", full.port);
    for answers in as_each_user(|| {
        let (mut listening, mut wrong) = (0, 0);
        for round in 0..600_u32 {
            let socket = hasty_tcp();
            connect(socket, address);
            let over = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..round % 64 {
                        std::hint::spin_loop();
                    }
                    while !over.load(Ordering::Relaxed) {
                        call(libc::SYS_shutdown, [socket, 2]);
                    }
                });
                for _ in 0..4 {
                    if listen(socket) == 0 {
                        listening += 1;
                        let (_, ip) = address_by(libc::SYS_getsockname, socket);
                        // Shut down already, it has none.
                        wrong +=
                            i64::from(ip[0] != 127 && get(socket, libc::SO_ACCEPTCONN) != [0; 4]);
                    }
                    connect(socket, address);
                }
                over.store(true, Ordering::Relaxed);
            });
            close(socket);
        }
        vec![wrong, listening]
    }) {
        assert_eq!(answers[0], 0, "{answers:?}");
    }
}

/// Exchanging the descriptor only decides which of the caller's sockets is connected.
#[test]
fn exchanging_descriptors_harms_nobody() {
    let good = at("127.0.0.1", patient());
    let answers = command(None, || {
        let place = 600;
        let done = AtomicBool::new(false);
        let mut unexpected = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (reader, _writer) = std::io::pipe().unwrap();
                let pipe = std::os::fd::AsRawFd::as_raw_fd(&reader);
                while !done.load(Ordering::Relaxed) {
                    let socket = tcp(V4);
                    call(libc::SYS_dup3, [socket, place, 0]);
                    close(socket);
                    call(libc::SYS_dup3, [pipe.into(), place, 0]);
                    close(place);
                }
            });
            let known = [0, libc::EBADF, libc::ENOTSOCK, libc::EISCONN].map(|it| -i64::from(it));
            for _ in 0..3000 {
                let answer = connect(place, good);
                if !known.contains(&answer) {
                    unexpected.push(answer);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        unexpected
    });
    assert_eq!(answers, [0; 0]);
}
