//! Connections that take their time.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::calls::{V4, at, bind, call, close, connect, get, listen, place, server, set, tcp};
use super::worker::{as_each_user, command};

/// A server that takes no more connections until [`Full::open`].
pub(crate) struct Full {
    listener: TcpListener,
    pub(crate) port: u16,
    _clients: Vec<TcpStream>,
}

impl Full {
    pub(crate) fn new() -> Self {
        let (listener, port) = server("127.0.0.1");
        // SAFETY: a plain call. Makes the queue as short as it can be.
        unsafe { libc::listen(listener.as_raw_fd(), 0) };
        let mut clients = Vec::new();
        while let Ok(client) =
            TcpStream::connect_timeout(&at("127.0.0.1", port), Duration::from_millis(200))
        {
            clients.push(client);
            assert!(clients.len() < 100, "the queue has no end");
        }
        Self { listener, port, _clients: clients }
    }

    /// Accepts connections until the test closes its end.
    fn open(&self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let _ = self.listener.accept();
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A server that takes every connection and forgets it.
pub(crate) fn patient() -> u16 {
    let (listener, port) = server("127.0.0.1");
    listener.set_nonblocking(false).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    port
}

fn milliseconds(work: impl FnOnce() -> i64) -> [i64; 2] {
    let began = Instant::now();
    [work(), began.elapsed().as_millis().try_into().unwrap()]
}

fn limit(time: Duration) -> Vec<u8> {
    let parts = [i64::try_from(time.as_secs()).unwrap(), time.subsec_micros().into()];
    parts.into_iter().flat_map(i64::to_ne_bytes).collect()
}

#[test]
fn a_slow_connection_holds_up_nobody_and_is_made_in_the_end() {
    let (full, good, over) = (Full::new(), patient(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(1500));
            full.open(&over);
        });
        let address = at("127.0.0.1", full.port);
        let answers = command(None, || {
            let slow = thread::spawn(move || milliseconds(|| connect(tcp(V4), address)));
            thread::sleep(Duration::from_millis(100));
            let others = milliseconds(|| {
                (0..50)
                    .map(|_| connect(tcp(V4), at("127.0.0.1", good)))
                    .find(|&it| it != 0)
                    .unwrap_or(0)
            });
            [others, slow.join().unwrap()].concat()
        });
        over.store(true, Ordering::Relaxed);
        let [others, others_took, slow, slow_took] = answers[..] else { panic!("{answers:?}") };
        assert_eq!((others, slow), (0, 0));
        assert!(others_took < 500, "{others_took} ms for 50 connections");
        assert!(slow_took >= 1000, "{slow_took} ms: it did not have to wait");
    });
}

#[test]
fn the_limit_for_sending_limits_connecting() {
    let full = Full::new();
    let address = at("127.0.0.1", full.port);
    for answers in as_each_user(|| {
        let socket = tcp(V4);
        let time = limit(Duration::from_millis(300));
        let set = set(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &time);
        let first = milliseconds(|| connect(socket, address));
        let second = milliseconds(|| connect(socket, address));
        // The broker has changed it meanwhile.
        let left: [u8; 16] = get(socket, libc::SO_SNDTIMEO);
        let (words, _) = left.as_chunks();
        let left = [0, 1].map(|place| i64::from_ne_bytes(words[place]));
        [&[set], &first[..], &second, &left].concat()
    }) {
        let [set, first, first_took, second, second_took, seconds, microseconds] = answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(set, 0);
        assert_eq!((first, second), (-i64::from(libc::EINPROGRESS), -i64::from(libc::EALREADY)));
        for took in [first_took, second_took] {
            assert!((290..2000).contains(&took), "{took} ms");
        }
        assert_eq!((seconds, microseconds), (0, 300_000));
    }
}

#[test]
fn a_caller_that_dies_is_forgotten() {
    let (full, good) = (Full::new(), patient());
    let address = at("127.0.0.1", full.port);
    let answers = command(None, || {
        let mut answers = Vec::new();
        for _ in 0..20 {
            // SAFETY: the child makes plain calls and is killed.
            let child = unsafe { libc::fork() };
            if child == 0 {
                connect(tcp(V4), address);
                // SAFETY: a plain call.
                unsafe { libc::_exit(1) };
            }
            thread::sleep(Duration::from_millis(10));
            let mut status = 0;
            // SAFETY: plain calls about the child made above.
            unsafe {
                libc::kill(child, libc::SIGTERM);
                libc::waitpid(child, &raw mut status, 0);
            }
            answers.push(i64::from(libc::WTERMSIG(status)));
            answers.push(connect(tcp(V4), at("127.0.0.1", good)));
        }
        answers
    });
    assert_eq!(answers, [i64::from(libc::SIGTERM), 0].repeat(20));
}

#[test]
fn more_callers_than_may_wait_are_told_to_try_again() {
    let (full, good) = (Full::new(), patient());
    let address = at("127.0.0.1", full.port);
    let answers = command(None, || {
        let answered = Arc::new(AtomicI64::new(0));
        for _ in 0..300 {
            let answered = answered.clone();
            thread::Builder::new()
                .stack_size(64 * 1024)
                .spawn(move || {
                    if connect(tcp(V4), address) == -i64::from(libc::EAGAIN) {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                })
                .unwrap();
        }
        let began = Instant::now();
        while answered.load(Ordering::Relaxed) < 44 && began.elapsed().as_secs() < 20 {
            thread::sleep(Duration::from_millis(10));
        }
        let socket = tcp(V4);
        let still = connect(socket, at("127.0.0.1", good));
        vec![answered.load(Ordering::Relaxed), still]
    });
    assert_eq!(answers, [44, 0]);
}

/// A signal that is caught in the middle of a call does not make it happen twice.
#[test]
fn signals_do_not_repeat_calls() {
    extern "C" fn nothing(_: libc::c_int) {}
    let good = patient();
    for answers in as_each_user(|| {
        // SAFETY: plain calls; the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        }
        let often = [0_i64, 150, 0, 150];
        call(libc::SYS_setitimer, [0, place(&often), 0]);
        let mut failed = 0;
        for _ in 0..500 {
            let (server, client) = (tcp(V4), tcp(V4));
            let results = [
                bind(server, at("127.0.0.1", 0)),
                listen(server),
                connect(client, at("127.0.0.1", good)),
            ];
            failed += i64::from(results != [0, 0, 0]);
            close(server);
            close(client);
        }
        vec![failed]
    }) {
        assert_eq!(answers, [0]);
    }
}
