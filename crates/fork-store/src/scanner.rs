//! A thread that scans an active fork. It saves base texts before they change, and blocks a fork that exceeds its size
//! limit. It rests while nothing uses the fork.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use toolwright_exec::root_fork::RootFork;

use crate::fork::Fork;

/// How long there is at least between two looks.
const FIRST: Duration = Duration::from_millis(300);
/// While nothing uses the fork, each look comes after twice the time of the one before, up to this one.
const LAST: Duration = Duration::from_secs(60);
/// How long a pause is at most while a command or process runs in the fork.
const WHILE_RUNNING: Duration = Duration::from_millis(500);
/// The part of the time that looking may take: one in so many.
const SHARE: u32 = 20;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Scanner {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scanner {
    /// Starts it. Without a thread, texts are kept when somebody asks for the changes.
    pub(crate) fn start(fork: &Arc<Fork>, mount: &Arc<RootFork>) -> Self {
        let (stop, stopped) = channel::<()>();
        let fork = Arc::clone(fork);
        let attended = Arc::clone(mount);
        let mount = Arc::downgrade(mount);
        let thread = thread::Builder::new().name("toolwright-scan".to_owned()).spawn(move || {
            let mut pause = FIRST;
            // Until the texts are looked at again.
            let mut left = Duration::ZERO;
            loop {
                let begun = Instant::now();
                let is_in_use = mount.upgrade().is_some_and(|mount| {
                    mount.note_exceeded(fork.exceeded());
                    mount.is_in_use()
                });
                if left.is_zero() {
                    let _ = fork.changes();
                    left = pause;
                }
                let least = FIRST.max(begun.elapsed() * SHARE);
                if stopped.recv_timeout(least) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let slept = Instant::now();
                // What runs may write without using the host.
                let rest = if is_in_use { left.min(WHILE_RUNNING) } else { left };
                thread::park_timeout(rest);
                // A use of the fork, or the end, has come in between.
                if slept.elapsed() < rest {
                    (pause, left) = (FIRST, Duration::ZERO);
                    continue;
                }
                left -= rest;
                if left.is_zero() {
                    pause = (pause * 2).min(LAST);
                }
            }
        });
        let thread = thread.ok();
        if let Some(thread) = &thread {
            attended.attend(thread.thread().clone());
        }
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
