//! Few commands are started at once.
//!
//! Starting a command takes most of a millisecond of a processor. When sixty-four calls come
//! together, as many threads and new processes compete with the thread that serves the host's events,
//! and nothing is gained: there are no more processors than before. Only the start is held back, so a
//! command that runs for long holds nobody up.

use std::{
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::cancel::CancelSource;

/// A start that takes longer than this is stuck (a program on a network disk that does not answer),
/// and those behind it go on without waiting for it.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a waiting call looks at its cancel flag.
const LOOK: Duration = Duration::from_millis(5);

/// As many as there are processors.
static FREE: LazyLock<Mutex<usize>> =
    LazyLock::new(|| Mutex::new(thread::available_parallelism().map_or(2, usize::from).max(2)));
static RETURNED: Condvar = Condvar::new();

/// The right to start a command. Given back on drop.
#[derive(Debug)]
pub(crate) struct StartPermit {
    /// False for one that went on without waiting any longer.
    held: bool,
}

impl StartPermit {
    /// Waits for a permit; for a cancelled call, or one that has waited for long, there is one always.
    pub(crate) fn wait(cancel: &dyn CancelSource) -> Self {
        let started = Instant::now();
        let mut free = free();
        while *free == 0 {
            if cancel.is_cancelled() || started.elapsed() > PATIENCE {
                return Self { held: false };
            }
            free = RETURNED.wait_timeout(free, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Self { held: true }
    }
}

impl Drop for StartPermit {
    fn drop(&mut self) {
        if self.held {
            *free() += 1;
            RETURNED.notify_one();
        }
    }
}

fn free() -> MutexGuard<'static, usize> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn all_permits_come_back_and_nobody_waits_for_ever() {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let all = thread::available_parallelism().map_or(2, usize::from).max(2);
        let permits: Vec<_> = (0..all).map(|_| StartPermit::wait(&NEVER)).collect();
        assert!(permits.iter().all(|permit| permit.held));

        let cancelled = AtomicBool::new(true);
        assert!(!StartPermit::wait(&cancelled).held, "a cancelled call does not wait");

        let started = Instant::now();
        assert!(!StartPermit::wait(&NEVER).held, "an impatient one goes on");
        assert!(started.elapsed() >= PATIENCE);

        drop(permits);
        assert!(StartPermit::wait(&NEVER).held);
    }
}
