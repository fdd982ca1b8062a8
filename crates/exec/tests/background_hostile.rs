//! Kept processes that do their worst, and a host that is busy meanwhile.

#![cfg(target_os = "linux")]

mod support;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::background::TestProcess;
use support::place::Place;
use support::{LONG, strings};
use toolwright_exec::process::{LogLimits, Process, ProcessRequest, Stdio};
use toolwright_exec::{ExecRequest, Streams};

const SECOND: Duration = Duration::from_secs(1);
/// The name of the thread that follows all background processes.
const REACTOR: &str = "toolwright-kept";

#[test]
fn an_output_in_the_hands_of_a_stranger_ends_with_the_process() {
    let place = Place::confined();
    let process = TestProcess::start(&place, "echo up; exec sleep 60");
    process.says("up\n");
    // As a process of another command could, which got it over a socket.
    let own = place.processes();
    let mut outputs: Vec<File> = own
        .iter()
        .filter_map(|process| {
            File::options().write(true).open(format!("/proc/{process}/fd/1")).ok()
        })
        .collect();
    if outputs.is_empty() {
        eprintln!("skipped: the system does not let this user open descriptors of others");
        return;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = outputs
        .drain(..)
        .map(|mut output| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let block = vec![b'x'; 1 << 20];
                while !is_over.load(Ordering::Relaxed) && output.write_all(&block).is_ok() {}
            })
        })
        .collect();
    process.kill();
    let end = process.until(5 * SECOND, Process::end);
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().expect("it ends with its pipe");
    }
    assert!(end.is_some());
}

#[test]
fn a_write_reports_what_went_with_it_of_earlier_ones() {
    let place = Place::confined();
    let args = strings(&["-c", "sleep 0.3; echo up; sleep 0.5; cat >/dev/null; sleep 60"]);
    let (is_shut, reports) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (gate, count) = (Arc::clone(&is_shut), Arc::clone(&reports));
    let changed = move || {
        let is_reactor = thread::current().name() == Some(REACTOR);
        while is_reactor && gate.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        if !is_reactor {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    let stdio = Stdio::Pipes { has_input: true };
    let limits = || LogLimits { tail_bytes: 1 << 20, ..LogLimits::default() };
    let exec = ExecRequest { streams: Streams::Apart, ..place.request("sh", &args) };
    let request = ProcessRequest { exec, stdio, stdout: limits(), stderr: limits() };
    let process = Process::start(request, changed).expect("started");
    let end = process.write(&vec![0; 100 << 10]).expect("taken");
    assert!(process.input().written < end, "the rest waits");
    let before = reports.load(Ordering::Relaxed);
    // The output holds the reactor up when the program begins to read.
    let started = Instant::now();
    while process.input().written < end && started.elapsed() < LONG {
        thread::sleep(Duration::from_millis(10));
        process.write(b"").expect("taken");
    }
    let progress = (process.input().written, reports.load(Ordering::Relaxed) > before);
    is_shut.store(false, Ordering::Relaxed);
    assert_eq!(progress, (end, true));
}
