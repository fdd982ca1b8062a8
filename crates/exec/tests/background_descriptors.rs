//! A host that has no descriptor left for a connection.

#![cfg(target_os = "linux")]

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::LONG;
use support::background::TestProcess;
use support::place::Place;

/// What the system says of the thread that follows background processes.
fn reactor() -> File {
    let threads = fs::read_dir("/proc/self/task").expect("proc").flatten();
    let mut threads = threads.map(|thread| thread.path());
    let is_it = |name: String| name.trim() == "toolwright-kept";
    let thread = threads.find(|thread| fs::read_to_string(thread.join("comm")).is_ok_and(is_it));
    File::open(thread.expect("it runs").join("stat")).expect("open")
}

/// The processor time of a thread, in hundredths of a second.
fn used(thread: &File) -> u64 {
    let mut stat = [0; 1024];
    let length = thread.read_at(&mut stat, 0).expect("stat");
    let stat = String::from_utf8_lossy(&stat[..length]);
    let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
    // The state is the third field; the times are the 14th and the 15th.
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[test]
fn a_connection_without_a_descriptor_waits_and_costs_nothing() {
    let place = Place::confined();
    let background = TestProcess::start(&place, "echo up; exec sleep 60");
    background.says("up\n");
    let preview = background.preview(8080).expect("open");
    let thread = reactor();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..limit }).expect("lower");
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.pop();
    let connected = TcpStream::connect(preview.address());
    let before = used(&thread);
    std::thread::sleep(Duration::from_millis(500));
    let spent = used(&thread) - before;
    drop(taken);
    setrlimit(Resource::Nofile, limit).expect("raise");
    assert!(spent < 10, "{spent} hundredths of a second in half a second");
    // Now it is taken, and closed again: nothing listens at the port.
    let mut connected = connected.expect("the kernel takes it");
    connected.set_read_timeout(Some(LONG)).expect("set");
    assert_eq!(connected.read(&mut [0]).ok(), Some(0));
}
