//! Commands end the same way, confined or not, and confined ones leave nothing whatever they do.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::place::{Place, has_namespaces};
use support::{LATE, all_as_another_user, soon, strings, text};
use toolwright_exec::{Cancel, CancelSource, ExecError, ExecRequest, Exit, Finished, Streams, run};

const SHORT: Duration = Duration::from_millis(200);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// The script must time out in time, and nothing may be left of it.
fn is_ended(place: &Place, script: &str) -> String {
    let started = Instant::now();
    let output = place.timed_out(SHORT, script);
    let took = started.elapsed();
    assert!(took >= SHORT && took < SHORT + LATE, "{took:?}: {script}");
    assert!(place.is_clear(), "{:?} left of {script}", place.processes());
    String::from_utf8_lossy(&output.bytes).into_owned()
}

#[test]
fn the_end_of_the_shell_is_the_end_of_the_call() {
    for place in Place::both() {
        let started = Instant::now();
        let finished = place.sh("sleep 60 & (trap '' TERM HUP; sleep 61) & echo hi; exit 4");
        let finished = finished.expect("runs");
        assert_eq!((text(&finished).as_str(), finished.exit), ("hi\n", Exit::Code(4)));
        assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
        assert!(place.is_clear());
    }
}

#[test]
fn a_quiet_background_child_is_killed_without_a_grace() {
    for place in Place::both() {
        // One of several has to be quick on a busy machine too.
        let took = |_| {
            let started = Instant::now();
            assert!(place.sh("sleep 30 >/dev/null 2>&1 & :").is_ok());
            started.elapsed()
        };
        assert!((0..60).map(took).any(|took| took < Duration::from_millis(18)));
        assert!(place.is_clear());
    }
}

#[test]
fn a_late_writer_is_still_heard() {
    for place in Place::both() {
        // On a busy machine it may be too late for once.
        let says = |script: &str, expected: &str| {
            let heard = |_| place.sh(script).is_ok_and(|finished| text(&finished) == expected);
            assert!((0..20).any(heard), "{script}");
        };
        says("(sleep 0.002; echo late) & echo early", "early\nlate\n");
        // What `> >(tee log)` is made of.
        let tee = "mkfifo pipe; tee log < pipe & exec > pipe; rm pipe; echo teed";
        says(tee, "teed\n");
        assert_eq!(place.output("cat log"), "teed");
    }
}

#[test]
fn a_background_flood_does_not_hold_the_call() {
    for place in Place::both() {
        let started = Instant::now();
        let script = "(while :; do echo x; done) & (while :; do echo y >&2; done) & exit 5";
        assert_eq!(place.sh(script).expect("runs").exit, Exit::Code(5));
        assert!(started.elapsed() < SECOND);
        assert!(place.is_clear());
    }
}

#[test]
fn a_timeout_kills_all_and_keeps_the_output() {
    let scripts = [
        "echo before; sleep 30 & sleep 31",
        "echo before; trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE CHLD; while :; do sleep 1; done",
        "echo before; kill -STOP $$; echo after",
        "echo before; sleep 60 & (trap '' TERM; sleep 60) & kill -STOP 0",
        "echo before; (sh -c 'sleep 60 & sleep 60 &' &); sleep 60",
        "echo before; exec >&- 2>&-; sleep 60",
    ];
    thread::scope(|scope| {
        for script in scripts {
            scope.spawn(move || {
                for place in Place::both() {
                    assert_eq!(is_ended(&place, script), "before\n", "{script}");
                }
            });
        }
    });
    for place in Place::both() {
        // Still forking when the time is up.
        is_ended(&place, "while :; do sleep 0.05 & sleep 0.002; done");
        assert!(place.timed_out(Duration::ZERO, "sleep 30").bytes.is_empty());
        let args = strings(&["-c", "yes"]);
        let flood = ExecRequest { timeout: SHORT, ..place.request("sh", &args) };
        match run(&ExecRequest { max_output_bytes: 1000, ..flood }) {
            Err(ExecError::TimedOut { output, .. }) => {
                assert!(output.truncated && output.bytes.len() <= 1000);
            }
            other => panic!("{other:?}"),
        }
        assert!(place.is_clear());
    }
}

/// Processes that leave the group, and orphans.
#[test]
fn nothing_escapes_confined() {
    let place = Place::confined();
    let escapes = "setsid sleep 60 & setsid sh -c 'trap \"\" HUP TERM; sleep 61 & sleep 62' &
        (setsid sh -c 'sleep 63 & kill -STOP $$' &) ; nohup sleep 64 >/dev/null 2>&1 &
        setsid setsid -f sleep 65; sleep 0.05";
    let started = Instant::now();
    let finished = place.sh(&format!("{escapes}; echo out; exit 3")).expect("runs");
    assert_eq!((text(&finished).as_str(), finished.exit), ("out\n", Exit::Code(3)));
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
    assert!(place.is_clear());
    is_ended(&place, &format!("{escapes}; sleep 60"));
    is_ended(&place, "exec setsid -w sleep 60");
    let storm = "i=0; while [ $i -lt 200 ]; do setsid sleep 60 & i=$((i+1)); done; echo all";
    assert_eq!(place.output(storm), "all");
    assert!(place.is_clear());
    // Elsewhere those are others' processes.
    if !has_namespaces() {
        return;
    }
    // The first process of its namespace is nothing that a command can end or stop.
    let signals = "for signal in TERM KILL STOP SEGV INT HUP USR1 CHLD; do kill -$signal 1; done";
    place.output(&format!("({signals}) 2>/dev/null; kill -KILL -1 2>/dev/null"));
    assert_eq!(place.output("echo after"), "after");
}

#[test]
fn a_cancel_kills_all_and_keeps_the_output() {
    for place in Place::both() {
        let begun = place.root.join("begun");
        let (cancel, flag) = (Cancel::new(), AtomicBool::new(false));
        let sources: [(&dyn CancelSource, &(dyn Fn() + Sync)); 2] =
            [(&cancel, &|| cancel.cancel()), (&flag, &|| flag.store(true, Ordering::Relaxed))];
        for (cancel, set) in sources {
            let script = "echo before; : > begun; sleep 30 & trap '' TERM; sleep 31; sleep 32";
            let args = strings(&["-c", script]);
            let request = ExecRequest { cancel, ..place.request("sh", &args) };
            thread::scope(|scope| {
                let call = scope.spawn(|| (run(&request), Instant::now()));
                assert!(soon(|| begun.exists()));
                std::fs::remove_file(&begun).expect("removed");
                thread::sleep(Duration::from_millis(50));
                let cancelled = Instant::now();
                set();
                let (result, returned) = call.join().expect("no panic");
                let Err(ExecError::Cancelled { output, .. }) = result else { panic!("{result:?}") };
                assert_eq!(output.bytes, b"before\n");
                assert!(returned - cancelled < LATE, "{:?}", returned - cancelled);
            });
            assert!(place.is_clear());
            // Set before the call: nothing is started.
            let result = run(&request);
            assert!(
                matches!(&result, Err(ExecError::Cancelled { output, .. }) if output.bytes.is_empty()),
                "{result:?}"
            );
        }
    }
}

#[test]
fn it_closes_its_pipes_and_runs_on() {
    for place in Place::both() {
        for streams in [Streams::Joined, Streams::Apart] {
            let args = strings(&["-c", "echo a; exec >&- 2>&-; sleep 0.2; exit 6"]);
            let finished = run(&ExecRequest { streams, ..place.request("sh", &args) });
            let Finished { exit, output, duration, .. } = finished.expect("runs");
            assert_eq!((exit, output.bytes), (Exit::Code(6), b"a\n".to_vec()));
            assert!(duration >= Duration::from_millis(200));
        }
        let args = strings(&["-c", "exec >&-; sleep 0.1; echo late >&2"]);
        let request = ExecRequest { streams: Streams::Apart, ..place.request("sh", &args) };
        assert_eq!(run(&request).expect("runs").stderr.expect("apart").bytes, b"late\n");
    }
}

#[test]
fn it_floods_one_stream() {
    for place in Place::both() {
        let args = strings(&["-c", "head -c 30000000 /dev/zero >&2; echo out"]);
        let (streams, max_output_bytes) = (Streams::Apart, 200_000);
        let request = ExecRequest { streams, max_output_bytes, ..place.request("sh", &args) };
        let finished = run(&request).expect("runs");
        assert_eq!(finished.output.bytes, b"out\n");
        let stderr = finished.stderr.expect("apart");
        assert_eq!((stderr.total_bytes, stderr.bytes.len()), (30_000_000, 200_000));
        let endless = strings(&["-c", "echo out; yes >&2"]);
        let max_output_bytes = 1000;
        match run(&ExecRequest { args: &endless, timeout: SHORT, max_output_bytes, ..request }) {
            Err(ExecError::TimedOut { output, stderr: Some(stderr), .. }) => {
                assert_eq!((output.bytes, stderr.truncated), (b"out\n".to_vec(), true));
            }
            other => panic!("{other:?}"),
        }
        assert!(place.is_clear());
    }
}

#[test]
fn what_it_left_running_is_counted() {
    let place = Place::confined();
    for (script, left) in [
        ("echo a", 0..=0),
        ("sleep 0.01", 0..=0),
        ("sleep 30 >/dev/null 2>&1 & echo a", 1..=1),
        ("sleep 30 & sleep 30 & sleep 30 & exit 3", 3..=3),
        // On a busy machine the subshell may not have come to its command yet.
        ("(sleep 30; sleep 31) & sleep 0.3", 1..=2),
        ("true & wait; echo a | cat", 0..=0),
    ] {
        let args = strings(&["-c", script]);
        let finished = run(&place.request("sh", &args)).expect("runs");
        let left_running = finished.left_running;
        assert!(left.contains(&left_running), "{script}: {left_running}");
        assert!(place.is_clear());
    }
}
