//! Ends: background children, timeouts, cancellation, and that nothing stays behind.

#![cfg(target_os = "linux")]

mod support;

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use support::{LONG, sh, strings, text, with};
use toolwright_exec::{ExecEnv, ExecError, ExecRequest, Exit, Output, run};

/// How late a timeout or a cancel may be on a busy machine. By design it is 10 ms.
const LATE: Duration = Duration::from_millis(250);

/// Whether a process with this number runs; a zombie does not.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit(')').next().map(|rest| !rest.starts_with(" Z")))
        .unwrap_or(false)
}

/// Waits until `condition` holds, for two seconds at most.
fn soon(condition: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    condition()
}

fn pids(output: &[u8]) -> Vec<u32> {
    String::from_utf8_lossy(output).lines().filter_map(|line| line.parse().ok()).collect()
}

fn timed_out(script: &str, timeout: Duration) -> (Output, Duration) {
    let started = Instant::now();
    let result = with(Path::new("/"), "sh", &["-c", script], timeout, 1 << 16, ExecEnv::Inherit);
    match result {
        Err(ExecError::TimedOut { output, timeout: given, .. }) => {
            assert_eq!(given, timeout);
            (output, started.elapsed())
        }
        other => panic!("{other:?}"),
    }
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
    let finished = sh("(sleep 0.002; echo late) & echo early").expect("runs");
    assert_eq!(text(&finished), "early\nlate\n");
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
    let (output, took) = timed_out("yes", Duration::from_millis(100));
    assert!(took < Duration::from_millis(100) + LATE, "{took:?}");
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
        cancel: &cancel,
    };
    thread::scope(|scope| {
        let call = scope.spawn(|| (run(&request), Instant::now()));
        thread::sleep(Duration::from_millis(100));
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

/// In a process of its own, as it counts what the process has.
#[test]
fn many_at_once_leave_nothing_behind() {
    if std::env::var_os("TOOLWRIGHT_EXEC_ALONE").is_none() {
        let this = std::env::current_exe().expect("path");
        let status = std::process::Command::new(this)
            .args(["--exact", "many_at_once_leave_nothing_behind", "--nocapture"])
            .env("TOOLWRIGHT_EXEC_ALONE", "1")
            .status();
        assert!(status.expect("runs").success());
        return;
    }
    let descriptors = || fs::read_dir("/proc/self/fd").expect("proc").count();
    let children = || {
        let path = format!("/proc/self/task/{}/children", std::process::id());
        let mut all = fs::read_to_string(path).unwrap_or_default();
        for task in fs::read_dir("/proc/self/task").expect("proc").flatten() {
            all += &fs::read_to_string(task.path().join("children")).unwrap_or_default();
        }
        all.trim().to_owned()
    };
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

/// One of the ways a call can go.
fn mixed(number: usize) {
    let go = |cwd: &str, script: &str, timeout| {
        with(Path::new(cwd), "sh", &["-c", script], timeout, 5000, ExecEnv::Inherit)
    };
    let short = Duration::from_millis(60);
    match number % 6 {
        0 => assert!(go("/", "exit 3", LONG).is_ok_and(|f| f.exit == Exit::Code(3))),
        1 => assert!(matches!(go("/", "sleep 30", short), Err(ExecError::TimedOut { .. }))),
        2 => assert!(go("/", "sleep 30 & sleep 30 & :", LONG).is_ok()),
        3 => assert!(matches!(go("/no/such", ":", LONG), Err(ExecError::Spawn { .. }))),
        4 => assert!(go("/", "head -c 300000 /dev/zero", LONG).is_ok_and(|f| f.output.truncated)),
        _ => assert!(matches!(
            with(Path::new("/"), "/no/program", &[], LONG, 10, ExecEnv::Inherit),
            Err(ExecError::Spawn { .. })
        )),
    }
}
