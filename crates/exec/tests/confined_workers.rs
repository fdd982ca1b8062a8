//! Workers run one command after the other, and nothing of one is left for the next.

#![cfg(target_os = "linux")]

mod support;

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use support::place::{Place, WORKER, has_namespaces};
use support::{all_as_another_user, done_alone, strings};
use toolwright_exec::{Cancel, ExecError, ExecRequest, Exit, run};

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

#[test]
fn one_worker_runs_one_command_after_the_other() {
    let place = Place::confined();
    let workers: HashSet<String> = (0..8).map(|_| place.output(WORKER)).collect();
    assert_eq!(workers.len(), 1, "{workers:?}");
    // Also after commands that end otherwise.
    assert!(place.sh("kill -9 $$").is_ok());
    assert!(place.run("no-such-program", &[]).is_err());
    assert!(place.run("/proc/version", &[]).is_err());
    assert!(place.run("true", &[&"x".repeat(200_000)]).is_err());
    place.timed_out(Duration::from_millis(50), "setsid sleep 60 & sleep 60");
    assert!(workers.contains(&place.output(WORKER)));
}

#[test]
fn calls_at_once_have_workers_of_their_own() {
    let place = Place::confined();
    let together = Barrier::new(6);
    let workers: HashSet<String> = thread::scope(|scope| {
        let call = || {
            together.wait();
            place.output(&format!("{WORKER}; sleep 0.3; set -- /proc/[0-9]*; echo $#"))
        };
        let calls: Vec<_> = (0..6).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().expect("no panic")).collect()
    });
    assert_eq!(workers.len(), 6, "{workers:?}");
    // The worker and the shell: none sees another's.
    let alone = |output: &String| output.ends_with("\n2");
    assert!(!has_namespaces() || workers.iter().all(alone), "{workers:?}");
    // Which are used again.
    let later = place.output(WORKER);
    assert!(workers.iter().any(|output| output.starts_with(&later)));
}

/// The surroundings of a command, without numbers of processes.
const SURROUNDINGS: &str = "umask; pwd; ulimit -a; ulimit -aH; env | grep -v MARK; nice
    grep -E '^(Sig|Shd|Cap|Cpus_allowed|NoNew|Seccomp|Threads|Groups|Uid|Gid)' /proc/self/status
    cat /proc/self/fdinfo/0 | grep -v ino; cat /proc/self/oom_score_adj /proc/self/timerslack_ns
    ls /proc/self/fd; taskset -p $$ | cut -d: -f2; ionice
    chrt -p $$ | cut -d: -f2; ls -A; cat /proc/self/mountinfo /proc/net/dev | cksum";

#[test]
fn nothing_is_left_for_the_next_command() {
    let place = Place::confined();
    let before = place.output(SURROUNDINGS);
    let worker = place.output(WORKER);
    place.output(
        "umask 077; cd /tmp; ulimit -n 17; ulimit -t 100; trap '' TERM INT HUP; export LEFT=1
        exec 5>/tmp/file 6</dev/null; dd iflag=nonblock count=0 2>/dev/null; renice -n 5 $$
        setsid sleep 60 & (sleep 60 &); taskset -p 1 $$; ionice -c 3 -p $$; chrt -b -p 0 $$; :",
    );
    assert_eq!(place.output(SURROUNDINGS), before);
    assert_eq!(place.output(WORKER), worker);
    assert!(place.is_clear());
    // And those of a worker that has run nothing are the same.
    let mut other = Place::confined();
    other.isolated = true;
    let of_other = other.output(SURROUNDINGS);
    let same = |text: &str| {
        let about_root = |line: &&str| !line.contains("/root") && !line.ends_with(" 0");
        text.lines().filter(about_root).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(same(&of_other).len(), same(&before).len());
}

/// Which is a process of the same user, and the first of the command's namespace.
#[test]
fn a_command_cannot_change_its_worker() {
    if !has_namespaces() {
        return;
    }
    let place = Place::confined();
    let (before, worker) = (place.output(SURROUNDINGS), place.output(WORKER));
    for attempt in [
        "prlimit --pid $PPID --nofile=50:50",
        "prlimit --pid 1 --cpu=1",
        "renice -n 5 -p $PPID",
        "renice -n 6 -u $(id -u)",
        "taskset -p 1 $PPID",
        "chrt -b -p 0 $PPID",
        "chrt -i -p 0 1",
        "ionice -c 3 -p $PPID",
        "ionice -c 3 -u $(id -u)",
    ] {
        let output = place.output(&format!("{attempt} 2>&1; echo \"code $?\""));
        assert!(!output.ends_with("code 0"), "{attempt}: {output}");
    }
    assert_eq!(place.output(SURROUNDINGS), before);
    assert_eq!(place.output(WORKER), worker);
}

/// The ordinary processes: the shell itself, and its children.
#[test]
fn a_command_changes_itself_and_its_children() {
    let place = Place::confined();
    for (script, output) in [
        ("nice -n 19 nice", "19"),
        ("renice -n 19 -p $$ >/dev/null; nice", "19"),
        ("taskset 1 sh -c 'taskset -p $$' | grep -o '[0-9]*$'", "1"),
        ("chrt -i 0 sh -c 'chrt -p $$' | grep -o SCHED_IDLE", "SCHED_IDLE"),
        ("ionice -c 3 sh -c ionice", "idle"),
        ("ulimit -n 77; prlimit --noheadings --output SOFT --nofile | tr -d ' '", "77"),
    ] {
        assert_eq!(place.output(script), output, "{script}");
    }
    if !has_namespaces() {
        return;
    }
    for (script, output) in [
        ("sleep 9 & renice -n 19 -p $! >/dev/null; cut -d' ' -f19 /proc/$!/stat; kill $!", "19"),
        ("sleep 9 & taskset -p 1 $! >/dev/null; taskset -p $! | grep -o '[0-9]*$'; kill $!", "1"),
        ("sleep 9 & prlimit --pid $! --nofile=77; grep -c ' 77 ' /proc/$!/limits; kill $!", "1"),
        ("sleep 9 & chrt -i -p 0 $!; chrt -p $! | grep -o SCHED_IDLE; kill $!", "SCHED_IDLE"),
    ] {
        assert_eq!(place.output(script), output, "{script}");
    }
}

#[test]
fn commands_are_scheduled_as_their_host() {
    // Niceness and policy.
    let script = |process: &str| format!("cut -d' ' -f19,41 /proc/{process}/stat");
    let place = Place::confined();
    let host = std::process::Command::new("sh").args(["-c", &script("$PPID")]).output();
    let host = String::from_utf8(host.expect("runs").stdout).expect("text");
    assert_eq!([place.output(&script("self")), place.output(&script("self"))], [host.trim(); 2]);
    if done_alone(
        "commands_are_scheduled_as_their_host",
        "renice -n 19 -p $$ >/dev/null; chrt -i -p 0 $$",
    ) {
        return;
    }
    assert_eq!(host.trim(), "19 5");
}

#[test]
fn only_the_pipes_are_open() {
    let place = Place::confined();
    for _ in 0..2 {
        // The fourth is what `ls` lists with.
        assert_eq!(place.output("ls /proc/self/fd"), "0\n1\n2\n3");
        assert_eq!(place.output("readlink /proc/self/fd/0"), "/dev/null");
        let [out, error] = [1, 2].map(|fd| place.output(&format!("readlink /proc/self/fd/{fd}")));
        assert!(out.starts_with("pipe:") && error.starts_with("pipe:"), "{out} {error}");
    }
}

/// The host asks for the end of a command before the worker has read the request.
#[test]
fn a_call_that_is_over_at_once_leaves_its_worker_in_order() {
    let place = Place::confined();
    let worker = place.output(WORKER);
    let large = vec!["x".repeat(100_000); 12];
    for args in [&large[..], &large[..1]] {
        for _ in 0..10 {
            let cancel = Cancel::new();
            let request = ExecRequest { cancel: &cancel, ..place.request("sleep", args) };
            let request = ExecRequest { timeout: Duration::ZERO, ..request };
            let started = Instant::now();
            let result = run(&request);
            assert!(matches!(result, Err(ExecError::TimedOut { .. })), "{result:?}");
            assert!(started.elapsed() < Duration::from_millis(700), "{:?}", started.elapsed());
        }
    }
    assert_eq!(place.output(WORKER), worker, "none was killed for being slow");
}

/// A command may end at the moment of its cancellation. The next message to the worker must not be
/// lost between the two.
#[test]
fn ends_and_timeouts_race() {
    let place = Place::confined();
    let typical = (0..20).map(|_| place.run("true", &[]).expect("runs").duration).min();
    let typical = typical.expect("some");
    for number in 0..150 {
        let args = [];
        let timeout = typical * (50 + number) / 100;
        match run(&ExecRequest { timeout, ..place.request("true", &args) }) {
            Ok(finished) => assert_eq!(finished.exit, Exit::Code(0)),
            Err(ExecError::TimedOut { .. }) => {}
            other => panic!("{other:?}"),
        }
        let started = Instant::now();
        assert_eq!(place.output("echo next"), "next");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }
}

#[test]
fn a_worker_is_not_waited_for_longer_than_the_call_has() {
    for number in 0..12 {
        let place = Place::confined();
        let args = strings(&["-c", "echo out"]);
        let timeout = Duration::from_micros(number * 700);
        let started = Instant::now();
        match run(&ExecRequest { timeout, ..place.request("sh", &args) }) {
            Ok(_) | Err(ExecError::TimedOut { .. }) => {}
            other => panic!("{other:?}"),
        }
        assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
        assert_eq!(place.output("echo out"), "out");
    }
}

#[test]
fn a_call_is_cancelled_while_its_worker_is_made() {
    for number in 0..12 {
        let (place, cancel) = (Place::confined(), Cancel::new());
        let args = strings(&["-c", "sleep 60"]);
        let request = ExecRequest { cancel: &cancel, ..place.request("sh", &args) };
        thread::scope(|scope| {
            let call = scope.spawn(|| (run(&request), Instant::now()));
            thread::sleep(Duration::from_micros(number * 700));
            let cancelled = Instant::now();
            cancel.cancel();
            let (result, returned) = call.join().expect("no panic");
            assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
            let late = returned.saturating_duration_since(cancelled);
            assert!(late < Duration::from_millis(500), "{late:?}");
        });
        assert_eq!(place.output("echo out"), "out");
        assert!(place.is_clear());
    }
}
