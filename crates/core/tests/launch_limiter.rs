//! The limiter in time.

use std::thread;
use std::time::Duration;

use toolwright_core::launch_limiter::{Admission, Launch, LaunchLimiter};
use toolwright_core::thread_pool::{Completion, run_here};

const WINDOW: Duration = Duration::from_millis(30);

fn launch() -> Launch {
    Launch { work: Box::new(|| Completion::new(|| ())), fallback: run_here }
}

#[test]
fn a_command_that_runs_for_long_delays_no_other() {
    let limiter: &'static LaunchLimiter = Box::leak(Box::new(LaunchLimiter::new(1, WINDOW)));
    let Admission::Admitted(long) = limiter.admit(launch()) else { panic!("there is room") };
    assert!(matches!(limiter.admit(launch()), Admission::Queued { needs_timer: true }));
    thread::sleep(WINDOW);
    // There is room, and the command that waits goes first.
    assert!(matches!(limiter.admit(launch()), Admission::Queued { .. }));
    let second = limiter.next().expect("the window has passed");
    assert!(matches!(limiter.admit(launch()), Admission::Queued { .. }), "the second is starting");
    // The end of the first makes no room: it has left the window.
    let completion = (long.work)();
    assert!(completion.next.is_none());
    assert!((second.work)().next.is_some());
}

/// A launch may be dropped where there is no thread for it.
#[test]
fn a_launch_that_never_runs_leaves_room_after_its_window() {
    let limiter: &'static LaunchLimiter = Box::leak(Box::new(LaunchLimiter::new(1, WINDOW)));
    drop(limiter.admit(launch()));
    assert!(matches!(limiter.admit(launch()), Admission::Queued { .. }));
    thread::sleep(WINDOW);
    assert!(limiter.next().is_some());
}
