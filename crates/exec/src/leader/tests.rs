//! Commands that are run, and what they leave.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use toolwright_process::ProcessInfo;

use crate::leader::ChildLeader;
use crate::request::ExecRequest;
use crate::running_command::RunningCommand;
use crate::spawn::{Spawned, spawn};

/// After this time the next question scans the process table.
const FIRST_SCAN: Duration = Duration::from_millis(5);

/// Runs its arguments in a session of its own, if it is in the background.
const AWAY: &str = if cfg!(target_os = "macos") {
    "perl -MPOSIX=setsid -e \"setsid; exec @ARGV\""
} else {
    "setsid"
};
/// Sets `sleeper`, a script that writes its number and sleeps.
const SLEEPER: &str = "export sleeper='echo $$; exec sleep 60'";

/// A started command, and the first `count` numbers that it writes, one on each line.
fn start(script: &str, numbers: usize) -> (ChildLeader, Vec<i32>) {
    let args = ["-c".to_owned(), script.to_owned()];
    let spawned = spawn(&ExecRequest::new("sh", &args), None).expect("sh starts");
    let Spawned { running, output, .. } = spawned;
    #[cfg_attr(not(target_os = "linux"), expect(irrefutable_let_patterns, reason = "no other"))]
    let RunningCommand::Child(leader) = running else { panic!("it is a child") };
    let lines = BufReader::new(output).lines().take(numbers);
    let pids = lines.map(|line| line.expect("text").trim().parse().expect("a number")).collect();
    (leader.searched(), pids)
}

fn lives(pid: i32) -> bool {
    ProcessInfo::read(pid).is_some_and(|one| !one.has_ended)
}

fn dies(pid: i32) -> bool {
    let until = Instant::now() + Duration::from_secs(2);
    while lives(pid) && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
    let dead = !lives(pid);
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
    dead
}

#[test]
fn sessions_of_a_command_that_runs_are_killed_and_those_of_others_are_not() {
    let mut stranger = Command::new("sh")
        .args(["-c", &format!("{SLEEPER}; {AWAY} sh -c \"$sleeper\" & wait")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let mut bytes = BufReader::new(stranger.stdout.take().expect("a pipe"));
    let mut other = String::new();
    bytes.read_line(&mut other).expect("a line");
    let other: i32 = other.trim().parse().expect("a number");

    let script = format!(
        "{SLEEPER}; outer='echo $$; {AWAY} sh -c \"$sleeper\" & wait'; {AWAY} sh -c \"$outer\" & wait"
    );
    let (mut leader, pids) = start(&script, 2);
    assert!(pids.iter().all(|pid| lives(*pid)), "{pids:?}");
    leader.end().expect("ended");
    for pid in pids {
        assert!(dies(pid), "{pid} survived");
    }
    assert!(lives(other), "a stranger was killed");
    assert!(test_kill_process(Pid::from_child(&stranger)).is_ok());
    stranger.kill().expect("killed");
    stranger.wait().expect("reaped");
    let _ = kill_process(Pid::from_raw(other).expect("a number"), Signal::KILL);
    let _ = bytes.read_to_string(&mut String::new());
}

#[test]
fn a_session_that_was_seen_is_killed_after_the_end_of_the_leader() {
    let script = "trap 'exit 0' TERM; echo $$";
    let wait = "while :; do sleep 0.01; done";
    let script = format!("{SLEEPER}; {script}; {AWAY} sh -c \"$sleeper\" & {wait}");
    let (mut leader, pids) = start(&script, 2);
    // A question scans.
    thread::sleep(FIRST_SCAN);
    assert!(!leader.has_ended().expect("asked"));
    kill_process(Pid::from_raw(pids[0]).expect("a number"), Signal::TERM).expect("sent");
    assert!(leader.wait_until(Instant::now() + Duration::from_secs(10)).expect("asked"));
    assert!(lives(pids[1]));
    leader.end().expect("ended");
    assert!(dies(pids[1]), "it survived");
}

/// No scan came before the end: macOS itself reports which process has started it.
#[cfg(target_os = "macos")]
#[test]
fn a_session_is_killed_after_a_leader_that_ends_at_once() {
    let (mut leader, pids) = start(&format!("{SLEEPER}; {AWAY} sh -c \"$sleeper\" &"), 1);
    assert!(lives(pids[0]));
    leader.end().expect("ended");
    assert!(dies(pids[0]), "it survived");
}

#[test]
fn a_leader_that_somebody_else_has_reaped_leaves_nothing_either() {
    let (mut leader, pids) =
        start(&format!("{SLEEPER}; echo $$; {AWAY} sh -c \"$sleeper\" & sleep 60"), 2);
    // The first question is the first scan.
    thread::sleep(FIRST_SCAN);
    assert!(!leader.has_ended().expect("asked"));
    let pid = Pid::from_raw(pids[0]).expect("a number");
    kill_process(pid, Signal::KILL).expect("killed");
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).expect("reaped");
    assert!(leader.has_ended().is_err());
    assert!(dies(pids[1]), "it survived");
}

#[test]
fn the_end_is_not_held_up_by_a_storm() {
    let storm = "export storm='i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; wait'";
    let twice = format!("{AWAY} sh -c \"$storm\" & {AWAY} sh -c \"$storm\" &");
    let (mut leader, _) = start(&format!("{storm}; {twice} sleep 60"), 0);
    thread::sleep(Duration::from_millis(30));
    let started = Instant::now();
    leader.end().expect("ended");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
