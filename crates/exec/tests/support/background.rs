//! A background process, with waiting.

use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use toolwright_exec::process::{
    LogLimits, Process, ProcessEnd, ProcessRequest, Stdio, TerminalSize,
};
use toolwright_exec::{ExecError, ExecRequest, Stream, Streams};

use super::place::Place;
use super::{LONG, strings};

pub(crate) const SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

pub(crate) struct TestProcess {
    process: Process,
    changes: Arc<(Mutex<u64>, Condvar)>,
}

impl Deref for TestProcess {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

/// How a process of a test runs.
pub(crate) struct ProcessOptions {
    pub(crate) stdio: Stdio,
    pub(crate) streams: Streams,
    pub(crate) tail_bytes: usize,
    pub(crate) holds: bool,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        let stdio = Stdio::Pipes { has_input: true };
        Self { stdio, streams: Streams::Apart, tail_bytes: 1 << 20, holds: false }
    }
}

pub(crate) const TERMINAL: ProcessOptions = ProcessOptions {
    stdio: Stdio::Terminal(SIZE),
    streams: Streams::Joined,
    tail_bytes: 1 << 20,
    holds: false,
};

impl TestProcess {
    pub(crate) fn start(place: &Place, script: &str) -> Self {
        Self::with(place, "sh", &["-c", script], &ProcessOptions::default()).expect("started")
    }

    pub(crate) fn in_terminal(place: &Place, cmd: &str, args: &[&str]) -> Self {
        Self::with(place, cmd, args, &TERMINAL).expect("started")
    }

    pub(crate) fn with(
        place: &Place,
        cmd: &str,
        args: &[&str],
        options: &ProcessOptions,
    ) -> Result<Self, ExecError> {
        let args = strings(args);
        let ProcessOptions { stdio, streams, tail_bytes, holds } = *options;
        let limits = || LogLimits { tail_bytes, holds, ..LogLimits::default() };
        let exec = ExecRequest { streams, ..place.request(cmd, &args) };
        let request = ProcessRequest { exec, stdio, stdout: limits(), stderr: limits() };
        let changes = Arc::new((Mutex::new(0), Condvar::new()));
        let notify = Arc::clone(&changes);
        let process = Process::start(request, move || {
            *notify.0.lock().expect("whole") += 1;
            notify.1.notify_all();
        })?;
        Ok(Self { process, changes })
    }

    /// Waits until `look` finds something.
    pub(crate) fn until<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&Process) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + limit;
        loop {
            let count = *self.changes.0.lock().expect("whole");
            if let Some(value) = look(&self.process) {
                return Some(value);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let guard = self.changes.0.lock().expect("whole");
            drop(self.changes.1.wait_timeout_while(guard, left, |now| *now == count));
        }
    }

    pub(crate) fn ended(&self) -> ProcessEnd {
        self.until(LONG, Process::end).expect("ends")
    }

    pub(crate) fn output(&self, stream: Stream) -> String {
        let piece = self.read(stream, 0, usize::MAX >> 1);
        String::from_utf8_lossy(&piece.bytes).into_owned()
    }

    /// Waits until its output has this.
    pub(crate) fn says(&self, text: &str) -> String {
        let output = self.until(LONG, |process| {
            let piece = process.read(Stream::Stdout, 0, usize::MAX >> 1);
            let output = String::from_utf8_lossy(&piece.bytes).into_owned();
            output.contains(text).then_some(output)
        });
        output.unwrap_or_else(|| panic!("{text:?} is not in {:?}", self.output(Stream::Stdout)))
    }
}
