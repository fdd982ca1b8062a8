//! The process that a worker has made for its next command, before that is known.

#![cfg(target_os = "linux")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::Signal;
use support::place::{Place, signal, supervisors, workers};
use support::{all_as_another_user, done_alone, factor, is_alive, soon, strings, text};
use toolwright_exec::{ExecError, ExecRequest, Exit, run};

const SHORT: Duration = Duration::from_millis(400);
/// How much longer a call may take if its worker does not answer, with a margin for a busy machine.
const PATIENCE: Duration = Duration::from_millis(1800);

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// The one worker of this process, and the process for its next command.
fn idle() -> (u32, u32) {
    let mut waiting_worker = None;
    assert!(soon(|| {
        waiting_worker = match workers(std::process::id())[..] {
            [worker] => match supervisors(worker)[..] {
                [waiting] => Some((worker, waiting)),
                _ => None,
            },
            _ => None,
        };
        waiting_worker.is_some()
    }));
    waiting_worker.expect("found")
}

#[test]
fn killed_before_there_is_a_command() {
    if done_alone("killed_before_there_is_a_command", "") {
        return;
    }
    let place = Place::confined();
    for _ in 0..5 {
        assert_eq!(place.output("echo out"), "out");
        let (worker, waiting) = idle();
        signal(waiting, Signal::KILL);
        assert!(soon(|| !is_alive(worker) && !is_alive(waiting)));
    }
    assert_eq!(place.output("echo out"), "out");
}

/// Whatever the message is, and although it may exceed the buffer of the kernel.
#[test]
fn stopped_before_there_is_a_command() {
    if done_alone("stopped_before_there_is_a_command", "") {
        return;
    }
    let place = Place::confined();
    for more in [String::new(), "x".repeat(100_000)] {
        assert_eq!(place.output("echo out"), "out");
        let (worker, waiting) = idle();
        signal(waiting, Signal::STOP);
        let args = [&strings(&["-c", "echo out"])[..], &vec![more; 12]].concat();
        let started = Instant::now();
        let result = run(&ExecRequest { timeout: SHORT, ..place.request("sh", &args) });
        assert!(matches!(result, Err(ExecError::TimedOut { .. })), "{result:?}");
        assert!(started.elapsed() < SHORT + PATIENCE, "{:?}", started.elapsed());
        assert!(soon(|| !is_alive(worker) && !is_alive(waiting)), "they were killed in the end");
    }
    assert_eq!(place.output("echo next"), "next");
}

/// It, or the command that it has become.
#[test]
fn killed_at_any_time() {
    if done_alone("killed_at_any_time", "") {
        return;
    }
    let (place, over) = (Place::confined(), AtomicBool::new(false));
    assert_eq!(place.output("echo out"), "out");
    thread::scope(|scope| {
        let killer = scope.spawn(|| {
            for wait in (0..).step_by(317) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_micros(wait % 3000));
                for worker in workers(std::process::id()) {
                    for process in supervisors(worker) {
                        let process = i32::try_from(process).ok();
                        let process = process.and_then(rustix::process::Pid::from_raw);
                        let _ = rustix::process::kill_process(process.expect("one"), Signal::KILL);
                    }
                }
            }
        });
        let mut ran = 0;
        for round in 0..200 * factor() {
            match place.run("echo", &[&round.to_string()]) {
                Ok(finished) if finished.exit == Exit::Code(0) => {
                    assert_eq!(text(&finished), format!("{round}\n"));
                    ran += 1;
                }
                // A worker tries its layers in processes of its own, of which one may have been hit.
                Ok(_) | Err(ExecError::Lost { .. } | ExecError::Unconfined { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        over.store(true, Ordering::Relaxed);
        killer.join().expect("no panic");
        assert!(ran > 0);
    });
    assert_eq!(place.output("echo out"), "out");
    idle();
}

/// The worker shares its memory with what waits, and gets no descriptor of a command.
#[test]
fn nothing_is_left_in_the_worker() {
    if done_alone("nothing_is_left_in_the_worker", "") {
        return;
    }
    let place = Place::confined();
    let bad = place.root.join("bad");
    fs::write(&bad, "no program").expect("written");
    fs::set_permissions(&bad, PermissionsExt::from_mode(0o755)).expect("mode");
    let (long, too_long) = ("x".repeat(100_000), "x".repeat(200_000));
    let round = |number: u64| match number % 10 {
        0 => assert!(place.run("sh", &["-c", ":", &too_long]).is_err()),
        1 => assert!(place.run("./bad", &[]).is_err()),
        2 => assert!(place.run_in(Path::new("/"), "missing", "true", &[]).is_err()),
        3 => assert!(place.run("true", &[&long, &long, &long]).is_ok()),
        _ => assert!(place.run("true", &[]).is_ok()),
    };
    let state = || {
        let (worker, _) = idle();
        let status = fs::read_to_string(format!("/proc/{worker}/status")).expect("status");
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("size");
        let size: u64 = size.trim().trim_end_matches(" kB").parse().expect("KiB");
        // For root to look at.
        let descriptors = fs::read_dir(format!("/proc/{worker}/fd")).map(Iterator::count);
        (worker, descriptors.ok(), size)
    };
    (0..20).for_each(round);
    let before = state();
    (0..200 * factor()).for_each(round);
    let after = state();
    assert_eq!((before.0, before.1), (after.0, after.1));
    assert!(after.2 <= before.2 + 512, "{} KiB, {} before", after.2, before.2);
}

#[test]
fn a_command_begins_with_no_signal_blocked() {
    let begun = Place::confined().output("grep SigBlk /proc/self/status | tr -d '\\t'");
    assert_eq!(begun, "SigBlk:0000000000000000");
}

#[test]
fn the_worker_is_spared_while_its_command_runs() {
    if done_alone("the_worker_is_spared_while_its_command_runs", "") {
        return;
    }
    let place = Place::confined();
    let score = |process: u32| -> i32 {
        let score = fs::read_to_string(format!("/proc/{process}/oom_score_adj")).expect("score");
        score.trim().parse().expect("a number")
    };
    let own = score(std::process::id());
    let of_command: i32 = thread::scope(|scope| {
        let script = "until [ -e over ]; do sleep 0.01; done; cat /proc/self/oom_score_adj";
        let call = scope.spawn(|| place.output(script));
        let worker = place.worker();
        assert!(soon(|| score(worker) == own));
        fs::write(place.root.join("over"), "").expect("written");
        call.join().expect("no panic").parse().expect("a number")
    });
    assert!(of_command > own, "{of_command}, {own}");
    let (worker, waiting) = idle();
    assert_eq!([worker, waiting].map(score), [of_command; 2]);
}
