//! Few commands start at once.
//!
//! Starting a command takes most of a millisecond of a processor, and so does a short command as a
//! whole. When sixty-four calls come together, their processes compete with the thread that serves
//! the host's events, and nothing is gained: the machine has no more processors than before. The
//! limiter lets few commands start at a time. The others wait until one of these has ended, or has
//! run for a while. A command that runs for long delays no other.

use std::collections::VecDeque;
use std::mem;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::sync::{Mutex, lock};
use crate::thread_pool::Work;

/// How long a command counts as starting. Most commands that only look something up end sooner.
pub const STARTUP_WINDOW: Duration = Duration::from_millis(4);

/// The limiter of all commands. Every processor has a command to run while others are being started
/// or collected. The number of processors is read once: the system answers from files.
pub static COMMAND_LAUNCHES: LazyLock<LaunchLimiter> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(2, usize::from);
    LaunchLimiter::new(2 * processors, STARTUP_WINDOW)
});

/// A command that is to start.
pub struct Launch {
    /// Runs it.
    pub work: Work,
    /// What becomes of the work when there is no thread to run it.
    pub fallback: fn(Work),
}

/// The answer to a command that asks to start.
pub enum Admission {
    /// It starts now.
    Admitted(Launch),
    /// It starts after others: when one of these ends, or when [`LaunchLimiter::next`] returns it.
    /// The first command that has to wait sets `needs_timer`; its caller then asks for the next ones
    /// every [`STARTUP_WINDOW`] while [`LaunchLimiter::keeps_timer`] says so.
    Queued {
        /// Whether the caller has to start the timer.
        needs_timer: bool,
    },
}

/// Bounds how many commands are starting.
pub struct LaunchLimiter {
    max_starting: usize,
    window: Duration,
    state: Mutex<State>,
}

struct State {
    /// Commands that have neither ended nor left the window: their numbers, and when each started.
    starting: VecDeque<(u64, Instant)>,
    waiting: VecDeque<Launch>,
    started: u64,
    has_timer: bool,
}

impl LaunchLimiter {
    /// A limiter for `max_starting` commands, each of which counts for `window`.
    #[must_use]
    pub const fn new(max_starting: usize, window: Duration) -> Self {
        let state = State {
            starting: VecDeque::new(),
            waiting: VecDeque::new(),
            started: 0,
            has_timer: false,
        };
        Self { max_starting, window, state: Mutex::new(state) }
    }

    /// Admits a command, or queues it.
    pub fn admit(&'static self, launch: Launch) -> Admission {
        let mut state = lock(&self.state);
        if state.waiting.is_empty() && self.has_room(&mut state) {
            return Admission::Admitted(self.start(&mut state, launch));
        }
        state.waiting.push_back(launch);
        Admission::Queued { needs_timer: !mem::replace(&mut state.has_timer, true) }
    }

    /// The next command that may start.
    pub fn next(&'static self) -> Option<Launch> {
        self.take_next(&mut lock(&self.state))
    }

    /// Returns false when no command waits any more: the timer ends.
    pub fn keeps_timer(&self) -> bool {
        let mut state = lock(&self.state);
        state.has_timer = !state.waiting.is_empty();
        state.has_timer
    }

    fn take_next(&'static self, state: &mut State) -> Option<Launch> {
        if !self.has_room(state) {
            return None;
        }
        let launch = state.waiting.pop_front()?;
        Some(self.start(state, launch))
    }

    fn has_room(&self, state: &mut State) -> bool {
        while state.starting.front().is_some_and(|(_, since)| since.elapsed() >= self.window) {
            state.starting.pop_front();
        }
        state.starting.len() < self.max_starting
    }

    /// When the command ends, its thread goes on with the next one.
    fn start(&'static self, state: &mut State, Launch { work, fallback }: Launch) -> Launch {
        state.started += 1;
        let number = state.started;
        state.starting.push_back((number, Instant::now()));
        let work: Work = Box::new(move || {
            let mut completion = work();
            let mut state = lock(&self.state);
            state.starting.retain(|(starting, _)| *starting != number);
            completion.next = self.take_next(&mut state).map(|launch| launch.work);
            completion
        });
        Launch { work, fallback }
    }
}

#[cfg(test)]
mod tests;
