//! What goes away by itself, with times that a test can wait for.

use std::{fs, io::Write, sync::atomic::AtomicBool, thread, time::Duration};

use toolwright_sandbox::{
    plan::{Files, Limits, Network, Plan},
    wire::{Order, Reply},
};

use super::{program, supervisor::Supervisor, worker::Worker};

const LONG: Duration = Duration::from_secs(5);

fn order(idle_ms: u32) -> Order {
    let root = std::env::temp_dir().canonicalize().expect("real");
    let plan = Plan {
        writable: vec![root.clone()],
        root,
        network: Network::PrivateLoopback,
        files: Files::Confined,
        closed: Vec::new(),
        readable: Vec::new(),
        protected: Vec::new(),
        limits: Limits::default(),
    };
    Order { plan, without_mounts: None, idle_ms }
}

fn worker(supervisor: &Supervisor) -> Worker {
    let socket = supervisor.ask_for_worker().expect("asked");
    Worker::wait_for(socket, &AtomicBool::new(false), None).expect("a worker")
}

/// Whoever could write to it would be the sandbox of all commands that come after.
#[test]
fn the_program_cannot_be_changed() {
    let path = program::path().expect("a path");
    let before = fs::read(&path).expect("read");
    assert!(!before.is_empty());
    // Opening it may be allowed, to root at least.
    if let Ok(mut file) = fs::OpenOptions::new().write(true).open(&path) {
        assert!(file.write_all(b"changed").is_err(), "written to");
        assert!(file.set_len(0).is_err(), "shortened");
        assert!(file.set_len(1 << 24).is_err(), "made longer");
    }
    assert!(fs::read(&path).expect("read") == before, "changed");
}

#[test]
fn idle_workers_and_then_their_supervisor_leave() {
    let supervisor = Supervisor::start(&order(100)).expect("started");
    let (mut one, mut other) = (worker(&supervisor), worker(&supervisor));
    assert!(one.is_idle() && other.is_idle());
    for worker in [&mut one, &mut other] {
        assert_eq!(worker.hear(LONG).expect("it speaks"), Some(Reply::Goodbye));
        assert!(worker.hear(LONG).is_err(), "it is gone");
        assert!(!worker.is_idle());
    }
    // Asking keeps it, so it is left alone before.
    let is_gone = |_| {
        thread::sleep(Duration::from_millis(900));
        supervisor.ask_for_worker().is_err()
    };
    assert!((0..5).any(is_gone), "the supervisor stays");
}

/// What its workers do goes on, and then it is gone with them.
#[test]
fn a_supervisor_that_is_let_go_stays_for_its_workers() {
    let supervisor = Supervisor::start(&order(60_000)).expect("started");
    let mut worker = worker(&supervisor);
    drop(supervisor);
    assert_eq!(worker.hear(Duration::from_millis(50)).expect("it is there"), None);
    assert!(worker.is_idle());
    worker.kill();
    assert!(worker.hear(LONG).is_err());
}
