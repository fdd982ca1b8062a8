//! Commands that make trouble, and hosts that do.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use support::{
    LATE, LONG, children, done_alone, in_dir, is_alive, members, pids, sh, soon, strings, text,
    timed_out, with,
};
use toolwright_exec::{
    Cancel, CancelSource, ExecEnv, ExecError, ExecRequest, Exit, SpawnReason, Streams, run,
};

const SHORT: Duration = Duration::from_millis(300);

/// The script writes its own number first. It must time out in time, and nothing may be left.
fn is_ended(script: &str) -> String {
    let (output, took) = timed_out(&format!("echo $$; {script}"), SHORT);
    assert!(took >= SHORT && took < SHORT + LATE, "{took:?}: {script}");
    let group = pids(&output.bytes)[0];
    assert!(soon(|| members(group) == 0), "{} left of {script}", members(group));
    String::from_utf8_lossy(&output.bytes).into_owned()
}

#[test]
fn it_ignores_every_signal_it_can() {
    is_ended("trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE CHLD; while :; do sleep 1; done");
}

#[test]
fn it_stops_itself() {
    assert!(is_ended("echo before; kill -STOP $$; echo after").ends_with("before\n"));
}

#[test]
fn it_is_stopped_with_its_children() {
    is_ended("sleep 60 & sleep 60 & (trap '' TERM; sleep 60) & kill -STOP 0");
}

#[test]
fn it_stops_its_children_and_ends() {
    let finished = sh("sleep 60 & kill -STOP $!; echo $!").expect("runs");
    assert!(soon(|| !is_alive(pids(&finished.output.bytes)[0])));
}

#[test]
fn it_forks_a_storm() {
    let storm = "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; echo all";
    let finished = sh(&format!("echo $$; {storm}")).expect("runs");
    let group = pids(&finished.output.bytes)[0];
    assert!(text(&finished).ends_with("all\n"));
    assert!(soon(|| members(group) == 0), "{} left", members(group));
    // Still forking when the time is up.
    is_ended("while :; do sleep 0.05 & sleep 0.002; done");
}

#[test]
fn it_forks_twice() {
    let finished = sh("echo $$; (sh -c 'sleep 60 & sleep 60 &' &) ; sleep 0.05").expect("runs");
    let group = pids(&finished.output.bytes)[0];
    assert!(soon(|| members(group) == 0));
    is_ended("(sh -c 'sleep 60 & sleep 60 &' &); sleep 60");
}

#[test]
fn it_floods_stderr() {
    let flood = "head -c 30000000 /dev/zero >&2; echo out";
    let finished = sh(flood).expect("runs");
    assert_eq!(finished.output.total_bytes, 30_000_004);
    let args = strings(&["-c", flood]);
    let request = ExecRequest { streams: Streams::Apart, ..ExecRequest::new("sh", &args) };
    let finished = run(&request).expect("runs");
    assert_eq!(finished.output.bytes, b"out\n");
    let stderr = finished.stderr.expect("apart");
    assert_eq!((stderr.total_bytes, stderr.bytes.len()), (30_000_000, 200_000));
    let endless = strings(&["-c", "echo out; yes >&2"]);
    let request = ExecRequest { args: &endless, timeout: SHORT, ..request };
    match run(&request) {
        Err(ExecError::TimedOut { output, stderr: Some(stderr), .. }) => {
            assert_eq!(output.bytes, b"out\n");
            assert!(stderr.truncated);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_closes_its_pipes_and_runs_on() {
    for streams in [Streams::Joined, Streams::Apart] {
        let args = strings(&["-c", "echo a; exec >&- 2>&-; sleep 0.2; exit 6"]);
        let sources: [&dyn CancelSource; 2] = [&Cancel::new(), &AtomicBool::new(false)];
        for cancel in sources {
            let request = ExecRequest { cancel, streams, ..ExecRequest::new("sh", &args) };
            let finished = run(&request).expect("runs");
            assert_eq!((finished.exit, finished.output.bytes), (Exit::Code(6), b"a\n".to_vec()));
            assert!(finished.duration >= Duration::from_millis(200));
        }
    }
    let args = strings(&["-c", "exec >&-; sleep 0.1; echo late >&2"]);
    let request = ExecRequest { streams: Streams::Apart, ..ExecRequest::new("sh", &args) };
    assert_eq!(run(&request).expect("runs").stderr.expect("apart").bytes, b"late\n");
    is_ended("exec >&- 2>&-; sleep 60");
}

#[test]
fn its_children_write_on_after_its_end() {
    let script = "echo $$; (while :; do echo x; done) & (while :; do echo y >&2; done) & exit 3";
    let started = Instant::now();
    let finished = sh(script).expect("runs");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(finished.exit, Exit::Code(3));
    let group = pids(&finished.output.bytes)[0];
    assert!(soon(|| members(group) == 0));
}

#[test]
fn it_changes_its_group() {
    if in_dir(Path::new("/"), "setsid", &["true"]).is_err() {
        return;
    }
    // The leader itself is killed all the same; `setsid` forks, as a leader cannot leave its group.
    let (output, took) = timed_out("echo $$; exec setsid -w sleep 2", SHORT);
    assert!(took < SHORT + LATE, "{took:?}");
    assert!(!is_alive(pids(&output.bytes)[0]));
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join("late");
    let open = || fs::OpenOptions::new().create(true).append(true).mode(0o755).open(&path);
    let mut file = open().expect("opened");
    file.write_all(&fs::read("/bin/true").expect("binary")).expect("written");
    let run = || in_dir(dir.path(), "./late", &[]);
    thread::scope(|scope| {
        let call = scope.spawn(run);
        thread::sleep(Duration::from_millis(20));
        drop(file);
        assert_eq!(call.join().expect("no panic").expect("runs").exit, Exit::Code(0));
    });
    let file = open().expect("opened");
    let result = run();
    assert!(
        matches!(result, Err(ExecError::Spawn { reason: SpawnReason::Busy, .. })),
        "{result:?}"
    );
    drop(file);
}

/// Whether it is lost or not is a race; hanging, and leaving something, is not allowed.
#[test]
fn the_host_waits_for_every_child() {
    if done_alone("the_host_waits_for_every_child", "") {
        return;
    }
    thread::spawn(|| {
        loop {
            if rustix::process::wait(rustix::process::WaitOptions::empty()).is_err() {
                thread::sleep(Duration::from_micros(200));
            }
        }
    });
    let mut lost = 0;
    for _ in 0..30 {
        let started = Instant::now();
        let pid = match sh("sleep 60 & echo $!") {
            Ok(finished) => pids(&finished.output.bytes)[0],
            Err(ExecError::Lost { output, .. }) => {
                lost += 1;
                pids(&output.bytes)[0]
            }
            other => panic!("{other:?}"),
        };
        assert!(started.elapsed() < Duration::from_secs(2));
        assert!(soon(|| !is_alive(pid)), "{pid} survived");
    }
    assert!(lost > 0, "the thief was never first");
}

#[test]
fn the_host_ignores_the_end_of_children() {
    // A shell does not hand on that it ignores this signal.
    let test = "the_host_ignores_the_end_of_children";
    let alone = "--exact --nocapture --test-threads=1";
    let ignoring = "env --ignore-signal=CHLD";
    let skipped = "{ echo 'test result: 1 passed (skipped)'; exit 0; }";
    let shell = format!("{ignoring} true || {skipped}; exec {ignoring} \"$0\" {alone} {test}");
    if done_alone(test, &shell) {
        return;
    }
    let result = sh("echo out; sleep 60 & exit 3");
    let Err(ExecError::Lost { output, .. }) = result else { panic!("{result:?}") };
    assert_eq!(output.bytes, b"out\n");
    let args = ["-c", "echo out; sleep 60"];
    let result = with(Path::new("/"), "sh", &args, SHORT, 100, ExecEnv::Inherit);
    // The group is killed while it is there; only how it ended cannot be known.
    assert!(
        matches!(&result, Err(ExecError::Lost { output, .. } | ExecError::TimedOut { output, .. })
            if output.bytes == b"out\n"),
        "{result:?}"
    );
    assert!(soon(|| children().is_empty()));
}

#[test]
fn an_end_without_a_limit_of_time_is_seen() {
    let args = strings(&["-c", "sleep 0.05; exit 2"]);
    let cancel = Cancel::new();
    let request =
        ExecRequest { timeout: Duration::MAX, cancel: &cancel, ..ExecRequest::new("sh", &args) };
    assert_eq!(run(&request).expect("runs").exit, Exit::Code(2));
    assert!(run(&ExecRequest { timeout: LONG, ..request }).is_ok());
}
