//! Workers and supervisors that are killed or stopped from outside.

#![cfg(target_os = "linux")]

mod support;

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::place::{Place, WORKER, signal, supervisor, supervisors, workers};
use support::{all_as_another_user, done_alone, is_alive, soon, strings, text};
use toolwright_exec::{Cancel, ExecError, ExecRequest, run};

const SHORT: Duration = Duration::from_millis(400);
/// How much longer a call may take if its worker does not answer, with a margin for a busy machine.
const PATIENCE: Duration = Duration::from_millis(1800);

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// Calls, and does something to the worker when the command has begun.
fn disturbed<T: Send>(
    place: &Place,
    call: impl FnOnce() -> T + Send,
    disturb: impl FnOnce(u32),
) -> T {
    thread::scope(|scope| {
        let call = scope.spawn(call);
        assert!(soon(|| place.root.join("begun").exists()));
        disturb(place.worker());
        std::fs::remove_file(place.root.join("begun")).expect("removed");
        call.join().expect("no panic")
    })
}

/// Runs until the worker has been disturbed.
const UNTIL_THEN: &str = ": > begun; while [ -e begun ]; do sleep 0.01; done";

const SCRIPT: &str = "echo before; setsid sleep 60 & : > begun; sleep 61; echo after";

#[test]
fn a_worker_killed_in_a_command_loses_it_alone() {
    let place = Place::confined();
    let first = place.output(WORKER);
    for _ in 0..3 {
        let mut killed = None;
        let result = disturbed(
            &place,
            || (place.sh(SCRIPT), Instant::now()),
            |worker| {
                killed = Some(Instant::now());
                signal(worker, Signal::KILL);
            },
        );
        let (result, returned) = result;
        let Err(ExecError::Lost { output, .. }) = result else { panic!("{result:?}") };
        assert_eq!(output.bytes, b"before\n");
        let late = returned.saturating_duration_since(killed.expect("killed"));
        assert!(late < Duration::from_millis(500), "{late:?}");
        assert!(place.is_clear());
        assert_ne!(place.output(WORKER), first);
    }
}

/// It is not needed by the command, which ends as it would have ended.
#[test]
fn a_supervisor_killed_in_a_command_is_replaced() {
    let place = Place::confined();
    for round in 0..3 {
        let script = format!("echo before; {UNTIL_THEN}; echo after; exit 3");
        let mut killed = None;
        let result = disturbed(
            &place,
            || place.sh(&script),
            |worker| {
                // This may run on a worker that has lost its supervisor.
                killed = supervisor(worker);
                killed.inspect(|supervisor| signal(*supervisor, Signal::KILL));
            },
        );
        assert_eq!(text(&result.expect("runs")), "before\nafter\n");
        assert!(round > 0 || killed.is_some());
        assert!(soon(|| killed.is_none_or(|supervisor| !is_alive(supervisor))));
        assert_eq!(place.output("echo next"), "next");
        // One more than there is.
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(place.output("sleep 0.05; echo next"), "next"));
            }
        });
    }
}

#[test]
fn killed_while_idle() {
    if done_alone("killed_while_idle", "") {
        return;
    }
    let (place, host) = (Place::confined(), std::process::id());
    let mut is_dying = false;
    for round in 0..5 {
        match place.sh("echo out") {
            // The prefork process may have received this command before it ended with the worker.
            Err(ExecError::Lost { .. }) if is_dying => {
                assert_eq!(place.output("echo out"), "out");
            }
            finished => assert_eq!(text(&finished.expect("runs")), "out\n"),
        }
        let (workers, supervisors) = (workers(host), supervisors(host));
        assert_eq!((workers.len(), supervisors.len()), (1, 1));
        let killed = match round {
            4 => supervisors,
            round if round % 2 == 0 => workers,
            _ => [supervisors, workers].concat(),
        };
        for process in &killed {
            signal(*process, Signal::KILL);
        }
        is_dying = round == 2;
        if !is_dying {
            assert!(soon(|| killed.iter().all(|process| !is_alive(*process))));
        }
    }
    // The worker is there, and the next one is another supervisor's.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(place.output("sleep 0.05; echo next"), "next"));
        }
    });
    assert!(soon(|| supervisors(host).len() == 1));
}

#[test]
fn a_worker_stopped_in_a_command_holds_the_call_no_longer_than_it_has() {
    let place = Place::confined();
    place.output("echo first");
    let started = Instant::now();
    let call = || place.within(SHORT, SCRIPT);
    let result = disturbed(&place, call, |worker| signal(worker, Signal::STOP));
    let Err(ExecError::TimedOut { output, .. }) = result else { panic!("{result:?}") };
    assert_eq!(output.bytes, b"before\n");
    assert!(started.elapsed() < SHORT + PATIENCE, "{:?}", started.elapsed());
    assert!(place.is_clear());
    assert_eq!(place.output("echo next"), "next");
}

/// Whatever the message is, and although it may exceed the buffer of the kernel.
#[test]
fn a_worker_stopped_while_it_waits_holds_the_call_no_longer_than_it_has() {
    for more in [String::new(), "x".repeat(100_000)] {
        let place = Place::confined();
        let worker = idle_worker(&place);
        signal(worker, Signal::STOP);
        let args = [&strings(&["-c", "echo out"])[..], &vec![more; 12]].concat();
        let started = Instant::now();
        let result = run(&ExecRequest { timeout: SHORT, ..place.request("sh", &args) });
        assert!(matches!(result, Err(ExecError::TimedOut { .. })), "{result:?}");
        assert!(started.elapsed() < SHORT + PATIENCE, "{:?}", started.elapsed());
        assert!(soon(|| !is_alive(worker)), "it was killed in the end");
        assert_eq!(place.output("echo next"), "next");
    }
}

/// The worker that has just run a command, and will run the next.
fn idle_worker(place: &Place) -> u32 {
    let call = || place.sh(UNTIL_THEN);
    let mut id = 0;
    assert!(disturbed(place, call, |worker| id = worker).is_ok());
    id
}

#[test]
fn a_stopped_supervisor_holds_no_call_longer_than_it_has() {
    let place = Place::confined();
    let supervisor = supervisor(idle_worker(&place)).expect("it has one");
    signal(supervisor, Signal::STOP);
    // Its worker exists, so the command continues.
    assert_eq!(place.output("echo out"), "out");
    let busy = format!("{UNTIL_THEN}; echo busy");
    let finished = disturbed(&place, || place.sh(&busy), |_| ask(&place)).expect("runs");
    assert_eq!(text(&finished), "busy\n");
    signal(supervisor, Signal::CONT);
    assert_eq!(place.output("echo out"), "out");
}

/// For another worker, of a supervisor that does not make it.
fn ask(place: &Place) {
    let started = Instant::now();
    assert!(place.timed_out(SHORT, "echo out").bytes.is_empty());
    assert!(started.elapsed() < SHORT + Duration::from_millis(200), "{:?}", started.elapsed());
    let (args, cancel) = (strings(&["out"]), Cancel::new());
    let request = ExecRequest { cancel: &cancel, ..place.request("echo", &args) };
    thread::scope(|scope| {
        let call = scope.spawn(|| run(&request));
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        let result = call.join().expect("no panic");
        assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
    });
    assert!(started.elapsed() < SHORT + Duration::from_millis(500), "{:?}", started.elapsed());
}
