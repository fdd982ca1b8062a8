//! The pool on the threads of the system.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use toolwright_core::thread_pool::{Completion, ThreadPool, Work};

const LONG: Duration = Duration::from_secs(60);

fn pool(max_threads: usize, idle: Duration) -> &'static ThreadPool {
    Box::leak(Box::new(ThreadPool::new(max_threads, idle)))
}

/// Sends the number of its thread when it is reported.
fn thread_id(sender: &Sender<ThreadId>) -> Work {
    let sender = sender.clone();
    Box::new(move || Completion::new(move || sender.send(thread::current().id()).expect("waits")))
}

#[test]
fn the_thread_that_became_idle_last_takes_the_next_call() {
    let pool = pool(8, LONG);
    let (sender, ids) = channel();
    assert!(pool.run(thread_id(&sender)).is_ok());
    let first = ids.recv().expect("reported");
    let (release, wait) = channel::<()>();
    let (entered, is_running) = channel::<()>();
    let report = sender.clone();
    let blocked: Work = Box::new(move || {
        entered.send(()).expect("waits");
        wait.recv().expect("released");
        Completion::new(move || report.send(thread::current().id()).expect("waits"))
    });
    assert!(pool.run(blocked).is_ok());
    is_running.recv().expect("running");
    assert!(pool.run(thread_id(&sender)).is_ok());
    let second = ids.recv().expect("reported");
    assert_ne!(first, second, "the first thread is busy");
    release.send(()).expect("waits");
    assert_eq!(ids.recv().expect("reported"), first);
    for _ in 0..20 {
        assert!(pool.run(thread_id(&sender)).is_ok());
        assert_eq!(ids.recv().expect("reported"), first);
    }
}

#[test]
fn a_thread_is_idle_when_it_reports() {
    let pool = pool(8, LONG);
    let (sender, ids) = channel();
    let again = sender.clone();
    let work: Work = Box::new(move || {
        Completion::new(move || {
            again.send(thread::current().id()).expect("waits");
            assert!(pool.run(thread_id(&again)).is_ok());
        })
    });
    assert!(pool.run(work).is_ok());
    assert_eq!(ids.recv().expect("reported"), ids.recv().expect("reported"));
}

#[test]
fn a_report_that_panics_does_not_end_the_thread() {
    let pool = pool(1, LONG);
    let (sender, ids) = channel();
    assert!(pool.run(thread_id(&sender)).is_ok());
    let first = ids.recv().expect("reported");
    assert!(pool.run(Box::new(|| Completion::new(|| panic!("the environment ended")))).is_ok());
    assert!(pool.run(thread_id(&sender)).is_ok());
    assert_eq!(ids.recv().expect("reported"), first);
}

#[test]
fn an_idle_thread_ends_and_another_one_starts() {
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    static SPAWNED: AtomicUsize = AtomicUsize::new(0);
    fn counted(serve: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        SPAWNED.fetch_add(1, Ordering::SeqCst);
        LIVE.fetch_add(1, Ordering::SeqCst);
        let serve = move || {
            serve();
            LIVE.fetch_sub(1, Ordering::SeqCst);
        };
        thread::Builder::new().spawn(serve).map(drop)
    }
    let pool = ThreadPool::with_spawn(8, Duration::from_millis(20), counted);
    let pool: &'static ThreadPool = Box::leak(Box::new(pool));
    let (sender, ids) = channel();
    for spawned in 1..=3 {
        assert!(pool.run(thread_id(&sender)).is_ok());
        ids.recv().expect("reported");
        assert_eq!(SPAWNED.load(Ordering::SeqCst), spawned);
        let since = Instant::now();
        while LIVE.load(Ordering::SeqCst) > 0 {
            assert!(since.elapsed() < LONG, "the thread is still there");
            thread::sleep(Duration::from_millis(1));
        }
    }
}
