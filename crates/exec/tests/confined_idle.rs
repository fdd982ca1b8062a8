//! What waits for the next command: how much of the host it takes, and when it gives it back.

#![cfg(target_os = "linux")]

mod support;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use support::place::{Place, supervisors};
use support::{all_as_another_user, descriptors, done_alone, soon};
use toolwright_exec::release_directory;

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

#[test]
fn five_hundred_plans_in_a_row_leave_nothing_when_they_are_released() {
    let name = "five_hundred_plans_in_a_row_leave_nothing_when_they_are_released";
    if done_alone(name, "") {
        return;
    }
    let host = std::process::id();
    let one = || {
        let place = Place::confined();
        assert_eq!(place.output("echo here"), "here");
        release_directory(&place.root);
    };
    one();
    assert!(soon(|| supervisors(host).is_empty()));
    let before = descriptors();
    for _ in 0..500 {
        one();
        assert!(descriptors() <= before, "{} and then {}", before, descriptors());
    }
    assert!(soon(|| supervisors(host).is_empty()), "{:?}", supervisors(host));
}

#[test]
fn a_released_plan_ends_its_command_and_not_others() {
    let (mut granting, other) = (Place::confined(), Place::confined());
    let reused = other.output(support::place::WORKER);
    let scratch = granting.root.join("scratch");
    std::fs::create_dir(&scratch).expect("dir");
    granting.plan.writable.push(scratch.clone());
    thread::scope(|scope| {
        let long = scope.spawn(|| granting.output("touch started; sleep 0.5; echo ended"));
        assert!(soon(|| granting.root.join("started").exists()));
        release_directory(&scratch);
        assert_eq!(long.join().expect("no panic"), "ended");
    });
    assert_eq!(other.output(support::place::WORKER), reused);
    assert_eq!(granting.output("echo again"), "again");
}

/// More plans, with more workers, than there are descriptors for.
#[test]
fn a_host_with_few_descriptors_goes_on() {
    if done_alone("a_host_with_few_descriptors_goes_on", "ulimit -n 256") {
        return;
    }
    let places: Vec<_> = (0..64).map(|_| Place::confined()).collect();
    for round in 0..2 {
        for place in &places {
            let all = Barrier::new(4);
            thread::scope(|scope| {
                for call in 0..4 {
                    let all = &all;
                    scope.spawn(move || {
                        all.wait();
                        let output = place.output(&format!("sleep 0.01; echo {round} {call}"));
                        assert_eq!(output, format!("{round} {call}"));
                    });
                }
            });
            assert!(descriptors() < 140, "{} are open", descriptors());
        }
    }
    // Even when others have left it next to none.
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    taken.truncate(taken.len() - 12);
    assert_eq!(places[0].output("echo here"), "here");
    thread::sleep(Duration::from_millis(10));
    assert_eq!(places[1].output("echo here"), "here");
}
