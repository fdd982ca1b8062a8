//! Idle processes end by themselves, after times that a test can wait for.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, thread};

use toolwright_sandbox::plan::{Files, Network, Plan};
use toolwright_sandbox::wire::{Order, Reply};

use super::lease::take_worker;
use super::pool::{SupervisorHandle, WorkerHandle};
use super::program;
use super::supervisor::Supervisor;
use super::worker::Worker;
use crate::request::{ExecRequest, Sandbox};

const LONG: Duration = Duration::from_secs(5);

fn plan(root: PathBuf) -> Plan {
    Plan {
        writable: vec![root.clone()],
        root,
        network: Network::PrivateLoopback,
        files: Files::Confined,
        ..Plan::default()
    }
}

fn order(idle_ms: u32) -> Order {
    let root = std::env::temp_dir().canonicalize().expect("real");
    Order {
        plan: plan(root),
        without_mounts: None,
        idle_ms,
        joins_network: false,
        shares_temporary: false,
    }
}

fn worker(supervisor: &Supervisor) -> Worker {
    let socket = supervisor.request_worker().expect("asked");
    Worker::wait_for(socket, &AtomicBool::new(false), None).expect("a worker")
}

/// A command that could write to it would control the sandbox of all later commands.
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
    let supervisor = Supervisor::start(&order(100), &[], || ()).expect("started");
    let (mut one, mut other) = (worker(&supervisor), worker(&supervisor));
    assert!(one.is_idle() && other.is_idle());
    for worker in [&mut one, &mut other] {
        assert_eq!(worker.recv(LONG).expect("it speaks"), Some(Reply::Goodbye));
        assert!(worker.recv(LONG).is_err(), "it is gone");
        assert!(!worker.is_idle());
    }
    // Asking keeps it, so it is left alone before.
    let is_gone = |_| {
        thread::sleep(Duration::from_millis(900));
        supervisor.request_worker().is_err()
    };
    assert!((0..5).any(is_gone), "the supervisor stays");
}

/// Its workers continue, and it ends with them.
#[test]
fn a_retired_supervisor_stays_for_its_workers() {
    let supervisor = Supervisor::start(&order(60_000), &[], || ()).expect("started");
    let mut worker = worker(&supervisor);
    drop(supervisor);
    assert_eq!(worker.recv(Duration::from_millis(50)).expect("it is there"), None);
    assert!(worker.is_idle());
    worker.kill();
    assert!(worker.recv(LONG).is_err());
}

/// These plans are not used again, so idle processes release everything by themselves.
#[test]
fn descriptors_come_back_when_workers_have_left() {
    let open = || fs::read_dir("/proc/self/fd").expect("proc").count();
    let base = tempfile::tempdir().expect("dir");
    let base = base.path().canonicalize().expect("real");
    program::path().expect("it stays open");
    // Other tests of this process may have some open.
    let max = open() + 16;
    for root in 0..64 {
        let root = base.join(root.to_string());
        fs::create_dir(&root).expect("dir");
        let plan = plan(root.clone());
        let sandbox = Sandbox {
            plan: &plan,
            below: Path::new(""),
            required: false,
            isolated: false,
            on_open_files: |_| (),
        };
        let request = ExecRequest { cwd: &root, ..ExecRequest::new("true", &[]) };
        let leases: Vec<_> = (0..16)
            .map(|_| take_worker(&sandbox, &request, false, None).expect("a worker"))
            .collect();
        for mut lease in leases {
            lease.release();
        }
    }
    let started = Instant::now();
    while open() > max && started.elapsed() < 6 * LONG {
        thread::sleep(Duration::from_millis(50));
    }
    assert!(open() <= max, "{} are open, and {max} at most were", open());
}
