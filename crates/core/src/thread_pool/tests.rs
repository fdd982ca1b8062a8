//! Interleavings of the pool, chosen by shuttle. What takes time is in `tests/thread_pool.rs`.

use std::io;
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::mpsc::channel;
use shuttle::sync::{Condvar, Mutex};
use shuttle::{check_random, thread};

use super::*;

const ITERATIONS: usize = 500;

/// Counts the work of a test.
#[derive(Default)]
struct Meter {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    ran: Vec<usize>,
    reported: usize,
}

impl Meter {
    fn work(self: &Arc<Self>, number: usize) -> Work {
        let meter = Arc::clone(self);
        Box::new(move || {
            lock(&meter.counts).ran.push(number);
            Completion::new(move || {
                lock(&meter.counts).reported += 1;
                meter.changed.notify_all();
            })
        })
    }

    /// Waits until `count` results have been reported. Work that is lost is a deadlock.
    fn wait_for(&self, count: usize) -> Vec<usize> {
        let mut counts = lock(&self.counts);
        while counts.reported < count {
            counts = self.changed.wait(counts).expect("no test panics with the lock");
        }
        counts.ran.sort_unstable();
        counts.ran.clone()
    }
}

fn pool(max_threads: usize, spawn: Spawn) -> &'static ThreadPool {
    Box::leak(Box::new(ThreadPool::with_spawn(max_threads, Duration::ZERO, spawn)))
}

/// Ends all threads: an idle thread whose wait is broken off may find its time to be up.
fn drain(pool: &ThreadPool) {
    loop {
        let state = lock(&pool.state);
        assert_eq!(state.waiting.len(), 0);
        if state.threads == 0 {
            return;
        }
        let idle = state.idle.clone();
        drop(state);
        for slot in &idle {
            slot.filled.notify_one();
        }
        thread::yield_now();
    }
}

/// Makes three calls from each of three threads.
fn run_all(pool: &'static ThreadPool) {
    let meter = Arc::new(Meter::default());
    let callers = (0..3).map(|caller| {
        let meter = Arc::clone(&meter);
        thread::spawn(move || {
            for call in 0..3 {
                if let Err(work) = pool.run(meter.work(caller * 3 + call)) {
                    run_here(work);
                }
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    assert_eq!(meter.wait_for(9), (0..9).collect::<Vec<_>>());
    for caller in callers {
        caller.join().expect("it does not panic");
    }
    drain(pool);
}

#[test]
fn every_call_runs_once() {
    check_random(|| run_all(pool(2, spawn)), ITERATIONS);
}

#[test]
fn calls_survive_threads_that_cannot_be_spawned() {
    fn unreliable(serve: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        if thread_rng().r#gen() { spawn(serve) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }
    check_random(|| run_all(pool(2, unreliable)), ITERATIONS);
}

#[test]
fn work_comes_back_where_no_thread_can_be_had() {
    check_random(
        || {
            let pool = pool(2, |_| Err(io::ErrorKind::OutOfMemory.into()));
            assert!(pool.run(Box::new(|| Completion::new(|| ()))).is_err());
            assert_eq!(lock(&pool.state).waiting.len(), 0);
        },
        1,
    );
}

/// A call that comes while the only thread is busy waits for it, whether or not another thread may
/// be spawned.
fn waits_for_the_busy_thread(max_threads: usize) {
    fn first_only(serve: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        match thread::current().name() {
            Some("second caller") => Err(io::ErrorKind::WouldBlock.into()),
            _ => spawn(serve),
        }
    }
    let pool = pool(max_threads, first_only);
    let meter = Arc::new(Meter::default());
    let [first, second] = [0, 1].map(|number| meter.work(number));
    let (entered, is_running) = channel();
    let (release, released) = channel();
    let blocked: Work = Box::new(move || {
        entered.send(()).expect("the test waits");
        released.recv().expect("the test releases it");
        first()
    });
    assert!(pool.run(blocked).is_ok());
    is_running.recv().expect("it runs");
    let caller = thread::Builder::new().name("second caller".to_owned());
    let caller = caller.spawn(move || assert!(pool.run(second).is_ok())).expect("spawned");
    caller.join().expect("it does not panic");
    assert_eq!(lock(&pool.state).threads, 1);
    assert_eq!(lock(&pool.state).waiting.len(), 1);
    release.send(()).expect("it waits");
    assert_eq!(meter.wait_for(2), [0, 1]);
    drain(pool);
}

#[test]
fn a_call_waits_where_no_thread_may_be_started() {
    check_random(|| waits_for_the_busy_thread(1), 500);
}

#[test]
fn a_call_waits_where_no_second_thread_can_be_spawned() {
    check_random(|| waits_for_the_busy_thread(2), 500);
}

#[test]
fn more_work_of_a_completion_runs_before_what_waits() {
    check_random(
        || {
            let pool = pool(1, spawn);
            let meter = Arc::new(Meter::default());
            let [first, second, waiting] = [0, 1, 2].map(|number| meter.work(number));
            let order = Arc::new(Mutex::new(Vec::new()));
            let [on_first, on_second, on_waiting] = [0, 1, 2].map(|number| {
                let order = Arc::clone(&order);
                move || lock(&order).push((number, thread::current().id()))
            });
            let work: Work = Box::new(move || {
                on_first();
                let waiting: Work = Box::new(move || {
                    on_waiting();
                    waiting()
                });
                assert!(pool.run(waiting).is_ok());
                let mut completion = first();
                completion.next = Some(Box::new(move || {
                    on_second();
                    second()
                }));
                completion
            });
            assert!(pool.run(work).is_ok());
            assert_eq!(meter.wait_for(3), [0, 1, 2]);
            let order = lock(&order);
            let thread = order[0].1;
            assert_eq!(*order, [0, 1, 2].map(|number| (number, thread)));
            drop(order);
            drain(pool);
        },
        500,
    );
}
