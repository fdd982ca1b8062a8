//! Interleavings of the limiter, chosen by shuttle. A window of zero has always passed, and the
//! longest one never does. What takes time is in `tests/launch_limiter.rs`.

use std::sync::Arc;

use shuttle::sync::Condvar;
use shuttle::{check_random, thread};

use super::*;
use crate::thread_pool::{Completion, run_here};

const NEVER: Duration = Duration::MAX;

fn limiter(max_starting: usize, window: Duration) -> &'static LaunchLimiter {
    Box::leak(Box::new(LaunchLimiter::new(max_starting, window)))
}

fn launch(work: impl FnOnce() + Send + 'static) -> Launch {
    let work = Box::new(move || {
        work();
        Completion::new(|| ())
    });
    Launch { work, fallback: run_here }
}

fn nothing() -> Launch {
    launch(|| ())
}

fn is_admitted(admission: &Admission) -> bool {
    matches!(admission, Admission::Admitted(_))
}

#[test]
fn as_many_start_as_there_is_room_for_and_each_end_admits_the_next() {
    check_random(
        || {
            let limiter = limiter(2, NEVER);
            let order = Arc::new(Mutex::new(Vec::new()));
            let mut admitted = Vec::new();
            for number in 0..5 {
                let order = Arc::clone(&order);
                match limiter.admit(launch(move || lock(&order).push(number))) {
                    Admission::Admitted(launch) => admitted.push(launch),
                    Admission::Queued { needs_timer } => assert_eq!(needs_timer, number == 2),
                }
            }
            assert_eq!(admitted.len(), 2);
            assert!(limiter.next().is_none(), "there is no room");
            let last = admitted.pop().expect("two");
            let first = admitted.pop().expect("two");
            // It brings along all that wait, one after the other.
            run_here(first.work);
            assert_eq!(*lock(&order), [0, 2, 3, 4]);
            run_here(last.work);
            assert_eq!(*lock(&order), [0, 2, 3, 4, 1]);
            assert!(!limiter.keeps_timer());
        },
        1,
    );
}

/// Without this rule a command would pass those that wait.
#[test]
fn a_command_queues_behind_those_that_wait() {
    check_random(
        || {
            let limiter = limiter(1, NEVER);
            let Admission::Admitted(first) = limiter.admit(nothing()) else { panic!("room") };
            assert!(!is_admitted(&limiter.admit(nothing())));
            // Its end leaves room, and the second command takes it.
            let next = (first.work)().next.expect("the second");
            assert!(!is_admitted(&limiter.admit(nothing())), "the second is starting");
            let third = next().next.expect("the third");
            assert!(third().next.is_none());
            assert!(is_admitted(&limiter.admit(nothing())), "nothing is starting");
        },
        1,
    );
}

#[test]
fn a_command_past_its_window_leaves_room() {
    check_random(
        || {
            let limiter = limiter(1, Duration::ZERO);
            for _ in 0..5 {
                assert!(is_admitted(&limiter.admit(nothing())));
            }
        },
        1,
    );
}

#[test]
fn one_timer_runs_while_commands_wait() {
    check_random(
        || {
            let limiter = limiter(1, NEVER);
            assert!(!limiter.keeps_timer());
            for _ in 0..2 {
                let Admission::Admitted(first) = limiter.admit(nothing()) else { panic!("room") };
                for needs_timer in [true, false] {
                    let Admission::Queued { needs_timer: needs } = limiter.admit(nothing()) else {
                        panic!("no room");
                    };
                    assert_eq!(needs, needs_timer);
                }
                assert!(limiter.keeps_timer());
                run_here(first.work);
                assert!(!limiter.keeps_timer(), "the next command that waits starts another one");
            }
        },
        1,
    );
}

#[test]
fn a_launch_keeps_its_fallback() {
    check_random(
        || {
            let limiter = limiter(1, Duration::ZERO);
            let Admission::Admitted(launch) = limiter.admit(Launch { fallback: drop, ..nothing() })
            else {
                panic!("room")
            };
            assert!(std::ptr::fn_addr_eq(launch.fallback, drop as fn(Work)));
        },
        1,
    );
}

/// Commands that end leave nothing to the timer: every command runs, and few at once.
#[test]
fn commands_from_many_threads_all_run_and_few_at_once() {
    #[derive(Default)]
    struct Counts {
        running: usize,
        ended: usize,
    }
    check_random(
        || {
            let limiter = limiter(2, NEVER);
            let counts = Arc::new((Mutex::new(Counts::default()), Condvar::new()));
            for _ in 0..5 {
                let counts = Arc::clone(&counts);
                thread::spawn(move || {
                    let admission = limiter.admit(launch(move || {
                        let mut counted = lock(&counts.0);
                        counted.running += 1;
                        assert!(counted.running <= 2, "{} at once", counted.running);
                        drop(counted);
                        thread::yield_now();
                        let mut counted = lock(&counts.0);
                        counted.running -= 1;
                        counted.ended += 1;
                        counts.1.notify_all();
                    }));
                    if let Admission::Admitted(launch) = admission {
                        run_here(launch.work);
                    }
                });
            }
            let mut counted = lock(&counts.0);
            while counted.ended < 5 {
                counted = counts.1.wait(counted).expect("no command panics");
            }
        },
        500,
    );
}
