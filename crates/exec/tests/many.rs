//! Many calls, one after the other and at once, and that nothing stays behind.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use support::{
    LONG, children, descriptors, done_alone, factor, in_dir, memory, sh, soon, strings, with,
};
use toolwright_exec::{Cancel, ExecEnv, ExecError, ExecRequest, Exit, SpawnReason, Streams, run};

/// One of the ways a call can go.
fn mixed(number: usize) {
    let go = |cwd: &str, script: &str, timeout| {
        with(Path::new(cwd), "sh", &["-c", script], timeout, 5000, ExecEnv::Inherit)
    };
    let short = Duration::from_millis(60);
    match number % 8 {
        0 => assert!(go("/", "exit 3", LONG).is_ok_and(|f| f.exit == Exit::Code(3))),
        1 => assert!(matches!(go("/", "sleep 30", short), Err(ExecError::TimedOut { .. }))),
        2 => assert!(go("/", "sleep 30 & sleep 30 & :", LONG).is_ok()),
        3 => assert!(matches!(go("/no/such", ":", LONG), Err(ExecError::Spawn { .. }))),
        4 => assert!(go("/", "head -c 300000 /dev/zero", LONG).is_ok_and(|f| f.output.truncated)),
        5 => {
            let args = strings(&["-c", "echo out; echo err >&2; kill -9 $$"]);
            let streams = Streams::Apart;
            let finished = run(&ExecRequest { streams, ..ExecRequest::new("sh", &args) });
            let finished = finished.expect("runs");
            assert_eq!(finished.output.bytes, b"out\n");
            assert_eq!(finished.stderr.expect("apart").bytes, b"err\n");
        }
        6 => {
            let (args, cancel) = (strings(&["30"]), Cancel::new());
            let request = ExecRequest { cancel: &cancel, ..ExecRequest::new("sleep", &args) };
            thread::scope(|scope| {
                let call = scope.spawn(|| run(&request));
                thread::sleep(Duration::from_millis(20));
                cancel.cancel();
                let result = call.join().expect("no panic");
                assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
            });
        }
        _ => assert!(matches!(
            with(Path::new("/"), "/no/program", &[], LONG, 10, ExecEnv::Inherit),
            Err(ExecError::Spawn { .. })
        )),
    }
}

#[test]
fn many_at_once_leave_nothing_behind() {
    if done_alone("many_at_once_leave_nothing_behind", "") {
        return;
    }
    let before = descriptors();
    for round in 0..3 {
        thread::scope(|scope| {
            for number in 0..64 {
                scope.spawn(move || mixed(number + round));
            }
        });
        assert!(soon(|| children().is_empty()), "left: {}", children());
        assert_eq!(descriptors(), before, "round {round}");
    }
}

#[test]
fn a_thousand_calls_leave_nothing_behind() {
    if done_alone("a_thousand_calls_leave_nothing_behind", "") {
        return;
    }
    let temporary = env::temp_dir();
    (0..8).for_each(mixed);
    let (before, resident) = (descriptors(), memory("VmRSS"));
    for number in 0..1000 * factor() {
        match number % 20 {
            0 => mixed(usize::try_from(number / 20 % 8).expect("small")),
            _ => assert!(in_dir(Path::new("/"), "true", &[]).is_ok()),
        }
    }
    assert!(soon(|| children().is_empty()), "left: {}", children());
    assert_eq!(descriptors(), before);
    assert_eq!(fs::read_dir(temporary).expect("dir").count(), 0);
    let more = memory("VmRSS").saturating_sub(resident);
    assert!(more < 2048, "{more} KiB more");
}

/// The number of successful calls; the others must have failed for want of resources.
fn at_once(count: usize) -> usize {
    let well = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| match sh("echo $$; sleep 0.05") {
                Ok(finished) => {
                    assert_eq!(finished.exit, Exit::Code(0));
                    well.fetch_add(1, Ordering::Relaxed);
                }
                Err(ExecError::Spawn { reason: SpawnReason::Resources, .. }) => {}
                Err(error) => panic!("{error:?}"),
            });
        }
    });
    well.into_inner()
}

#[test]
fn sixty_four_at_once() {
    let started = Instant::now();
    assert_eq!(at_once(64), 64);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn more_at_once_than_there_are_descriptors() {
    if done_alone("more_at_once_than_there_are_descriptors", "ulimit -n 150") {
        return;
    }
    let before = descriptors();
    let well = at_once(512);
    assert!((20..512).contains(&well), "{well} went well");
    assert!(soon(|| children().is_empty()), "left: {}", children());
    assert_eq!(descriptors(), before);
    assert_eq!(at_once(10), 10);
}

#[test]
fn five_hundred_and_twelve_at_once() {
    if done_alone("five_hundred_and_twelve_at_once", "ulimit -n 8192 2>/dev/null") {
        return;
    }
    let started = Instant::now();
    let before = descriptors();
    assert!(at_once(512) >= 256);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(soon(|| children().is_empty()), "left: {}", children());
    assert_eq!(descriptors(), before);
}

/// Limits on processes do not bind root, so another user runs it where possible.
#[test]
fn no_more_processes() {
    let user = "ulimit -u 1 2>/dev/null || ulimit -p 1";
    let shell = if rustix::process::getuid().is_root() {
        let as_other = "setpriv --reuid=65533 --regid=65533 --clear-groups";
        let works = format!("{as_other} \"$0\" --list >/dev/null 2>&1");
        let skipped = "{ echo 'test result: 1 passed (skipped)'; exit 0; }";
        format!(
            "{works} || {skipped}\n{user}; exec {as_other} \"$0\" --exact --nocapture --test-threads=1 no_more_processes"
        )
    } else {
        user.to_owned()
    };
    if done_alone("no_more_processes", &shell) {
        return;
    }
    let result = sh("echo");
    assert!(
        matches!(result, Err(ExecError::Spawn { reason: SpawnReason::Resources, .. })),
        "{result:?}"
    );
}
