//! A command that goes on as a background process when its time is over, and is one like any other until then.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolwright_exec::process::{Process, ProcessEnd};
use toolwright_exec::{CancelSource, Chunk, Exit, Stream};
use toolwright_fs::whole_characters;

/// How often a cancellation is looked for while nothing happens.
const TICK: Duration = Duration::from_millis(10);
/// How much is read at once.
const BLOCK_BYTES: usize = 64 << 10;

/// Wakes the thread that follows a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes(Arc<(Mutex<bool>, Condvar)>);

impl Changes {
    /// What is called after each change.
    pub(super) fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = self.clone();
        move || {
            let (changed, wake) = &*shared.0;
            *changed.lock().unwrap_or_else(PoisonError::into_inner) = true;
            wake.notify_one();
        }
    }

    /// Waits for a change since the last wait, but no longer than this.
    fn wait(&self, max: Duration) {
        let (changed, wake) = &*self.0;
        let changed = changed.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = wake.wait_timeout_while(changed, max, |changed| !*changed);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// How following a process ended.
#[derive(Debug)]
pub(super) enum Followed {
    /// It has ended.
    Ended(ProcessEnd),
    /// Its time is over, and it goes on.
    Late,
    /// It was stopped by the caller, or because its output had no more room.
    Stopped,
}

/// Gives the output of a process to `push`, each stream in whole characters and both about in the order of
/// arrival, until the process ends, its time is over or it is to be stopped.
pub(super) fn follow(
    process: &Process,
    changes: &Changes,
    streams: &[Stream],
    deadline: Option<Instant>,
    stop: &dyn CancelSource,
    mut push: impl FnMut(Chunk<'_>),
) -> Followed {
    let mut read_to = vec![0; streams.len()];
    loop {
        // Before the output: all of it is there when the process has ended.
        let end = process.end();
        for (stream, from) in streams.iter().zip(&mut read_to) {
            pass_on(process, *stream, from, end.is_some(), &mut push);
        }
        if stop.is_cancelled() {
            return Followed::Stopped;
        }
        if let Some(end) = end {
            return Followed::Ended(end);
        }
        let left = deadline.map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Followed::Late;
        }
        changes.wait(left.min(TICK));
    }
}

fn pass_on(
    process: &Process,
    stream: Stream,
    from: &mut u64,
    is_over: bool,
    push: &mut impl FnMut(Chunk<'_>),
) {
    loop {
        let piece = process.read(stream, *from, BLOCK_BYTES);
        let mut whole = whole_characters(&piece.bytes);
        if whole == 0 && (is_over || piece.bytes.len() > 3) {
            whole = piece.bytes.len();
        }
        let bytes = &piece.bytes[..whole];
        if bytes.is_empty() {
            return;
        }
        *from = piece.at + bytes.len() as u64;
        push(Chunk { stream, bytes });
    }
}

/// The end of the program; something that killed the worker killed the program too.
pub(super) fn exit(end: ProcessEnd) -> Exit {
    end.exit.unwrap_or(Exit::Signal { name: "SIGKILL".into(), number: 9 })
}
