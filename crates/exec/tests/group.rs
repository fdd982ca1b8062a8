//! Ends: background children, timeouts, cancellation, and that nothing stays behind.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::{LATE, LONG, is_alive, pids, sh, soon, strings, text, timed_out};
use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Exit, Streams, run};

#[test]
fn the_end_of_the_shell_is_the_end_of_the_call() {
    let started = Instant::now();
    let finished = sh("sleep 60 & echo hi; echo $! >&2").expect("runs");
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    let (hi, pid) = text(&finished)
        .split_once('\n')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("two lines");
    assert_eq!(hi, "hi");
    assert!(soon(|| !is_alive(pid.trim().parse().expect("pid"))), "sleep survived");
}

#[test]
fn a_background_child_with_the_pipe_does_not_delay_and_does_not_survive() {
    let started = Instant::now();
    let finished = sh("sleep 30 & echo $!; (trap '' TERM HUP; sleep 31) & echo $!").expect("runs");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(finished.exit, Exit::Code(0));
    let children = pids(&finished.output.bytes);
    assert_eq!(children.len(), 2);
    for pid in children {
        assert!(soon(|| !is_alive(pid)), "{pid} survived");
    }
}

#[test]
fn a_quiet_background_child_is_killed_without_a_grace() {
    let finished = sh("sleep 30 >/dev/null 2>&1 & echo $!").expect("runs");
    let pid = pids(&finished.output.bytes)[0];
    assert!(soon(|| !is_alive(pid)));
}

#[test]
fn a_late_writer_is_still_heard() {
    // On a busy machine it may be too late for once.
    let heard =
        |_| text(&sh("(sleep 0.002; echo late) & echo early").expect("runs")) == "early\nlate\n";
    assert!((0..20).any(heard));
}

#[test]
fn a_background_flood_does_not_hold_the_call() {
    let started = Instant::now();
    let finished = sh("yes & exit 5").expect("runs");
    assert_eq!(finished.exit, Exit::Code(5));
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_timeout_kills_the_group_and_keeps_the_output() {
    let timeout = Duration::from_millis(150);
    let (output, took) = timed_out("echo $$; sleep 30 & echo $!; sleep 31", timeout);
    assert!(took >= timeout && took < timeout + LATE, "{took:?}");
    let processes = pids(&output.bytes);
    assert_eq!(processes.len(), 2);
    for pid in processes {
        assert!(soon(|| !is_alive(pid)), "{pid} survived");
    }
}

#[test]
fn ignoring_sigterm_is_of_no_use() {
    let (output, took) =
        timed_out("trap '' TERM INT HUP; echo $$; while :; do sleep 1; done", LATE);
    assert!(took < LATE * 2, "{took:?}");
    assert!(!is_alive(pids(&output.bytes)[0]));
}

#[test]
fn a_command_without_the_pipe_times_out_too() {
    let (_, took) = timed_out("exec >/dev/null 2>&1; sleep 30", Duration::from_millis(80));
    assert!(took < Duration::from_millis(80) + LATE, "{took:?}");
}

#[test]
fn an_endless_flood_times_out() {
    let (output, took) = timed_out("yes", Duration::from_millis(400));
    assert!(took < Duration::from_millis(400) + LATE, "{took:?}");
    assert!(output.truncated);
    assert!(output.bytes.len() <= 1 << 16);
}

#[test]
fn no_time_at_all_is_a_timeout() {
    let (output, _) = timed_out("sleep 30", Duration::ZERO);
    assert!(output.bytes.is_empty());
}

/// Written down as it is: leaving the session is leaving the group. Confinement closes this.
#[test]
fn a_child_in_a_session_of_its_own_is_not_covered_yet() {
    let started = Instant::now();
    let finished = sh("setsid sh -c 'echo $$; exec sleep 5' & sleep 0.1").expect("runs");
    assert!(started.elapsed() < Duration::from_secs(3), "it must not delay the call");
    for pid in pids(&finished.output.bytes) {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let _ = rustix::process::kill_process(pid.expect("pid"), rustix::process::Signal::KILL);
    }
}

#[test]
fn cancel_in_the_middle() {
    let cancel = AtomicBool::new(false);
    let args = strings(&["-c", "echo $$; sleep 30"]);
    let request = ExecRequest {
        cmd: "sh",
        args: &args,
        cwd: Path::new("/"),
        env: ExecEnv::Inherit,
        timeout: LONG,
        max_output_bytes: 1000,
        is_screen: false,
        cancel: &cancel,
        streams: Streams::Joined,
        sandbox: None,
        patches: None,
        git: None,
        connections: None,
        mask: None,
        facts: None,
    };
    thread::scope(|scope| {
        let call = scope.spawn(|| (run(&request), Instant::now()));
        thread::sleep(Duration::from_millis(300));
        let cancelled = Instant::now();
        cancel.store(true, Ordering::Relaxed);
        let (result, returned) = call.join().expect("no panic");
        let Err(ExecError::Cancelled { output, .. }) = result else { panic!("{result:?}") };
        assert!(returned - cancelled < LATE, "{:?}", returned - cancelled);
        assert!(!is_alive(pids(&output.bytes)[0]));
    });
    // Set before the call: nothing is started.
    let result = run(&request);
    assert!(matches!(result, Err(ExecError::Cancelled { output, .. }) if output.bytes.is_empty()));
}
