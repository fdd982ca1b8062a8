//! A background process, and what a caller can wait for: its output, its input, its ports, its end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::output::Noted;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use toolwright_exec::process::{
    InputState, Piece, Process, ProcessEnd, ProcessRequest, WatchedFacts,
};
use toolwright_exec::{ExecError, OutputMask, Stream, signal_number};

/// A process that is kept. It is killed when this is dropped.
pub struct KeptProcess {
    /// The process.
    pub process: Process,
    /// What is masked of its output.
    mask: Option<Arc<OutputMask>>,
    changed: Arc<Notify>,
}

/// How long a caller waits: until what it waits for has happened, and no longer than this.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Without one the caller waits until it cancels.
    pub limit: Option<Duration>,
    /// Set by the caller, who then calls [`KeptProcess::recheck`].
    pub cancelled: Arc<AtomicBool>,
}

impl KeptProcess {
    /// Starts a process. `changed` is called after each change, on other threads.
    pub(super) fn start(
        request: ProcessRequest<'_>,
        changed: impl Fn() + Send + Sync + 'static,
    ) -> Result<Arc<Self>, ExecError> {
        let notify = Arc::new(Notify::new());
        let waiters = Arc::clone(&notify);
        let mask = request.exec.mask.cloned();
        let process = Process::start(request, move || {
            changed();
            waiters.notify_waiters();
        })?;
        Ok(Arc::new(Self { process, mask, changed: notify }))
    }

    /// Waits until `look` finds something. It is told when the wait is over, and finds nothing by then at the
    /// latest.
    async fn until<T>(
        &self,
        wait: Wait,
        mut look: impl FnMut(&Process, bool) -> Option<T>,
    ) -> Option<T> {
        let deadline = wait.limit.map(|limit| Instant::now() + limit);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // A change after this look wakes the wait below.
            changed.as_mut().enable();
            let is_over = wait.cancelled.load(Ordering::Relaxed)
                || deadline.is_some_and(|deadline| deadline <= Instant::now());
            let found = look(&self.process, is_over);
            if found.is_some() || is_over {
                return found;
            }
            match deadline {
                None => changed.await,
                Some(deadline) => drop(timeout_at(deadline, changed).await),
            }
        }
    }

    /// Output from `from` on, at most `max` bytes. Waits for some, or for the end of the stream.
    pub async fn read(&self, stream: Stream, from: u64, max: usize, wait: Wait) -> Option<Piece> {
        self.until(wait, |process, is_over| {
            let piece = process.read(stream, from, max);
            (is_over || piece.total > piece.at || piece.is_ended).then_some(piece)
        })
        .await
    }

    /// Waits until this much of the input has been taken. `false`: the input was closed before.
    pub async fn written(&self, end: u64, wait: Wait) -> Option<bool> {
        self.until(wait, |process, _| {
            let input = process.input();
            if input.written >= end { Some(true) } else { (!input.is_open).then_some(false) }
        })
        .await
    }

    /// Waits until it has ended.
    pub async fn ended(&self, wait: Wait) -> Option<ProcessEnd> {
        self.until(wait, |process, _| process.end()).await
    }

    /// Waits until the process listens at `port`, or at any port if none is given. Gives all ports at which it listens,
    /// and nothing once it has ended.
    pub async fn listening(&self, port: Option<u16>, wait: Wait) -> Option<Vec<u16>> {
        let _watching = self.process.watch(WatchedFacts { ports: true, input: false });
        self.until(wait, |process, _| {
            let ports = process.ports().filter(|ports| match port {
                Some(port) => ports.contains(&port),
                None => !ports.is_empty(),
            });
            if ports.is_none() && process.end().is_some() { Some(None) } else { ports.map(Some) }
        })
        .await
        .flatten()
    }

    /// Waits until the process waits for input. Gives what it does when the wait is over, and nothing once it
    /// has ended.
    pub async fn input_state(&self, wait: Wait) -> Option<InputState> {
        let _watching = self.process.watch(WatchedFacts { ports: false, input: true });
        self.until(wait, |process, is_over| match process.input_state() {
            _ if process.end().is_some() => Some(None),
            Some(InputState::Busy) if !is_over => None,
            // It could not be looked at in time.
            None => is_over.then_some(Some(InputState::Unknown)),
            state => Some(state),
        })
        .await
        .flatten()
    }

    /// Waits for its end without keeping it: nothing if it is dropped before.
    pub fn end_of(
        self: &Arc<Self>,
    ) -> impl Future<Output = Option<ProcessEnd>> + Send + 'static + use<> {
        let (process, changed) = (Arc::downgrade(self), Arc::clone(&self.changed));
        async move {
            loop {
                let changed = changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if let Some(end) = Weak::upgrade(&process)?.process.end() {
                    return Some(end);
                }
                changed.await;
            }
        }
    }

    /// What was masked of its output since this was last asked.
    #[must_use]
    pub fn take_masked(&self) -> Noted {
        Noted::default().with_masked(self.mask.as_ref())
    }

    /// Has every wait look whether it was cancelled.
    pub fn recheck(&self) {
        self.changed.notify_waiters();
    }

    /// Sends a signal to the process group. `false`: no signal has this name.
    #[must_use]
    pub fn signal(&self, name: &str) -> bool {
        signal_number(name).inspect(|number| self.process.signal(*number)).is_some()
    }
}

impl fmt::Debug for KeptProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptProcess").field("end", &self.process.end()).finish_non_exhaustive()
    }
}
