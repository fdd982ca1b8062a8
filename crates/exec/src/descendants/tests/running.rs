//! Commands that are run, and what they leave.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::super::*;
use crate::leader::ChildLeader;
use crate::request::ExecRequest;
use crate::running::Running;
use crate::spawn::{Spawned, spawn};

/// Runs its arguments in a session of its own, if it is in the background.
const AWAY: &str = if cfg!(target_os = "macos") {
    "perl -MPOSIX=setsid -e \"setsid; exec @ARGV\""
} else {
    "setsid"
};
/// Sets `sleeper`, a script that writes its number and sleeps.
const SLEEPER: &str = "export sleeper='echo $$; exec sleep 60'";

/// A started command, and the numbers it writes, one to a line, as many as are asked for.
fn start(script: &str, numbers: usize) -> (ChildLeader, Vec<i32>) {
    let args = ["-c".to_owned(), script.to_owned()];
    let spawned = spawn(&ExecRequest::new("sh", &args), None).expect("sh starts");
    let Spawned { running, output, .. } = spawned;
    #[cfg_attr(not(target_os = "linux"), expect(irrefutable_let_patterns, reason = "no other"))]
    let Running::Child(leader) = running else { panic!("it is a child") };
    let lines = BufReader::new(output).lines().take(numbers);
    let pids = lines.map(|line| line.expect("text").trim().parse().expect("a number")).collect();
    (leader.searched(), pids)
}

fn lives(pid: i32) -> bool {
    processes::read(pid).is_some_and(|one| !one.ended)
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

fn dies_when_killed(pid: i32) -> bool {
    let _ = kill_process(Pid::from_raw(pid).expect("a number"), Signal::KILL);
    dies(pid)
}

#[test]
fn the_system_tells_of_this_process() {
    let own = i32::try_from(process::id()).expect("a number");
    let all = processes::all();
    let told = all.iter().find(|one| one.pid == own).expect("it is listed");
    assert!(!told.ended && told.start > 0);
    assert!(
        all.iter().any(|one| one.pid == 1 && one.start <= told.start) || cfg!(target_os = "macos")
    );
    // Numbers that are never used again are told on macOS.
    assert_eq!(told.marks.iter().all(|mark| *mark != 0), cfg!(target_os = "macos"));
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    let pid = i32::try_from(child.id()).expect("a number");
    let started = processes::read(pid).expect("it is there");
    assert_eq!((started.parent, started.ended), (own, false));
    // Both may have begun outside of the process namespace of the tests, and are 0 then.
    assert_eq!((started.group, started.session), (told.group, told.session));
    assert_eq!(started.origin[0], told.marks[0]);
    assert!(started.start >= told.start);
    child.kill().expect("killed");
    assert!(dies(pid));
    let until = Instant::now() + Duration::from_secs(2);
    while processes::read(pid).is_none() && Instant::now() < until {}
    assert!(processes::read(pid).is_some_and(|one| one.ended), "until it is reaped");
    child.wait().expect("reaped");
    assert_eq!(processes::read(pid), None);
}

#[test]
fn the_system_tells_of_groups_and_sessions() {
    let mut leader = Command::new("sh")
        .args(["-c", &format!("exec {AWAY} sh -c 'sleep 60 & echo $!; wait'")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let own = i32::try_from(leader.id()).expect("a number");
    let mut child = String::new();
    let written = leader.stdout.take().expect("a pipe");
    BufReader::new(written).read_line(&mut child).expect("a line");
    let child = child.trim().parse().expect("a number");
    for (pid, parent) in [(own, process::id()), (child, leader.id())] {
        let told = processes::read(pid).expect("it is there");
        assert_eq!((u32::try_from(told.parent), told.group, told.session), (Ok(parent), own, own));
    }
    assert!(dies_when_killed(child) && dies_when_killed(own));
    leader.wait().expect("reaped");
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
    // The looks come with the questions.
    thread::sleep(FIRST_LOOK);
    assert!(!leader.has_ended().expect("asked"));
    kill_process(Pid::from_raw(pids[0]).expect("a number"), Signal::TERM).expect("told");
    assert!(leader.wait_until(Instant::now() + Duration::from_secs(10)).expect("asked"));
    assert!(lives(pids[1]));
    leader.end().expect("ended");
    assert!(dies(pids[1]), "it survived");
}

/// Nobody looked before the end: there the system itself tells who has started it.
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
    // The first question is the first look.
    thread::sleep(FIRST_LOOK);
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

#[test]
fn a_process_that_has_come_back_under_the_number_is_not_killed() {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    let told = processes::read(i32::try_from(child.id()).expect("a number")).expect("it is there");
    Process { start: told.start - 1, ..told }.kill();
    thread::sleep(Duration::from_millis(20));
    assert!(child.try_wait().expect("asked").is_none());
    told.kill();
    assert!(dies(told.pid));
    child.wait().expect("reaped");
}
