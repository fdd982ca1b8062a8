//! Places where a test ends the process.

/// Passed before every change. A test counts them, and kills its own process at one of them.
#[cfg(not(test))]
pub(crate) fn pass() {}

#[cfg(test)]
pub(crate) use counted::{kill_at, pass};

#[cfg(test)]
mod counted {
    use std::sync::atomic::{AtomicU32, Ordering};

    static LEFT: AtomicU32 = AtomicU32::new(u32::MAX);

    pub(crate) fn pass() {
        if LEFT.load(Ordering::Relaxed) != u32::MAX && LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("kill");
        }
    }

    /// Kills this process when it has passed `count` places.
    pub(crate) fn kill_at(count: u32) {
        LEFT.store(count, Ordering::Relaxed);
    }
}
