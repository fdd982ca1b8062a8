//! Many confined calls, one after the other and at once, and that nothing stays behind.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use support::place::{Place, has_namespaces, supervisors, workers};
use support::{
    all_as_another_user, children, descriptors, done_alone, factor, memory, pids, soon, stat,
    strings,
};
use toolwright_exec::{Cancel, ExecError, ExecRequest, Exit, Streams, run};

/// The most idle workers of a plan.
const MAX_IDLE: usize = 16;

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

/// One of the ways a call can go.
fn mixed(place: &Place, number: usize) {
    let short = Duration::from_millis(60);
    match number % 8 {
        0 => assert!(place.sh("exit 3").is_ok_and(|finished| finished.exit == Exit::Code(3))),
        1 => assert!(place.timed_out(short, "setsid sleep 30 & sleep 30").bytes.is_empty()),
        2 => assert!(place.sh("setsid sleep 30 & (sleep 30 &) & :").is_ok()),
        3 => assert!(matches!(
            place.run_in(&place.root.join("no"), "no", "true", &[]),
            Err(ExecError::Spawn { .. })
        )),
        4 => {
            let args = strings(&["-c", "head -c 3000000 /dev/zero"]);
            let max_output_bytes = 5000;
            let finished = run(&ExecRequest { max_output_bytes, ..place.request("sh", &args) });
            assert!(finished.is_ok_and(|finished| finished.output.truncated));
        }
        5 => {
            let args = strings(&["-c", "echo out; echo err >&2; kill -9 $$"]);
            let streams = Streams::Apart;
            let finished = run(&ExecRequest { streams, ..place.request("sh", &args) });
            let finished = finished.expect("runs");
            assert_eq!(finished.output.bytes, b"out\n");
            assert_eq!(finished.stderr.expect("apart").bytes, b"err\n");
        }
        6 => {
            let (args, cancel) = (strings(&["30"]), Cancel::new());
            let request = ExecRequest { cancel: &cancel, ..place.request("sleep", &args) };
            thread::scope(|scope| {
                let call = scope.spawn(|| run(&request));
                thread::sleep(Duration::from_millis(20));
                cancel.cancel();
                let result = call.join().expect("no panic");
                assert!(matches!(result, Err(ExecError::Cancelled { .. })), "{result:?}");
            });
        }
        _ => assert!(matches!(place.run("/no/program", &[]), Err(ExecError::Spawn { .. }))),
    }
}

/// No process of a command, no zombie, and no more workers than are kept.
fn is_in_order(place: &Place) -> bool {
    let host = std::process::id();
    let is_zombie = |pid: u32| stat(&pid.to_string()).is_some_and(|stat| stat[0] == "Z");
    let zombies = pids(children().replace(' ', "\n").as_bytes()).into_iter().any(is_zombie);
    let (supervisors, workers) = (supervisors(host), workers(host));
    let dead = supervisors.iter().flat_map(|supervisor| {
        let list = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"));
        pids(list.unwrap_or_default().replace(' ', "\n").as_bytes())
    });
    let zombies = zombies || dead.into_iter().any(is_zombie);
    !zombies && supervisors.len() == 1 && workers.len() <= MAX_IDLE && place.processes().is_empty()
}

#[test]
fn many_at_once_leave_nothing_behind() {
    if done_alone("many_at_once_leave_nothing_behind", "") {
        return;
    }
    let place = Place::confined();
    let mut peak = 0;
    for round in 0..3 {
        thread::scope(|scope| {
            let place = &place;
            for number in 0..64 {
                scope.spawn(move || mixed(place, number + round));
            }
        });
        assert!(soon(|| is_in_order(&place)), "round {round}: {}", children());
        // A socket and a process for each worker that is kept.
        let pooled = 2 * workers(std::process::id()).len();
        let others = descriptors() - pooled.min(descriptors());
        assert!(round == 0 || others <= peak, "round {round}: {others} of {peak}");
        peak = peak.max(others);
    }
}

/// A tenth of the full number, times the factor.
#[test]
fn many_after_each_other_leave_nothing_behind() {
    if done_alone("many_after_each_other_leave_nothing_behind", "") {
        return;
    }
    let mut place = Place::confined();
    if has_namespaces() {
        place.plan.protected.push(place.root.join("kept"));
    }
    (0..8).for_each(|number| mixed(&place, number));
    assert!(soon(|| is_in_order(&place)));
    let (before, resident, mut temporary) = (descriptors(), memory("VmRSS"), Vec::new());
    for number in 0..100 * factor() {
        match number % 20 {
            0 => mixed(&place, usize::try_from(number / 20 % 8).expect("small")),
            10 => {
                place.isolated = true;
                // There is one where `/tmp` is everybody's.
                temporary.push(place.output("echo $TMPDIR"));
                place.isolated = false;
            }
            _ => assert!(place.run("true", &[]).is_ok()),
        }
    }
    assert!(soon(|| is_in_order(&place)), "left: {}", children());
    assert!(soon(|| descriptors() == before), "{} descriptors, {before} before", descriptors());
    let more = memory("VmRSS").saturating_sub(resident);
    assert!(more < 2048, "{more} KiB more");
    // The directory of the place itself.
    assert_eq!(fs::read_dir(env::temp_dir()).expect("dir").count(), 1);
    assert!(soon(|| !temporary.iter().any(|directory| Path::new(directory).exists())));
}

#[test]
fn sixty_four_at_once() {
    let place = Place::confined();
    let started = Instant::now();
    thread::scope(|scope| {
        let place = &place;
        for number in 0..64 {
            scope.spawn(move || {
                assert_eq!(place.output(&format!("sleep 0.5; echo {number}")), number.to_string());
            });
        }
    });
    // One after the other they take half a minute.
    assert!(started.elapsed() < Duration::from_secs(16), "{:?}", started.elapsed());
    assert!(place.is_clear());
}
