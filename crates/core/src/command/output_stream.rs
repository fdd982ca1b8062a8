//! The output of a program while it runs, for a reader that pulls.
//!
//! Text gathers here until the reader asks for it, and when enough has gathered the program has to wait. So a
//! slow reader slows the program, and never fills the memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use toolwright_exec::{Cancel, Chunk, Sink, Stream};

use super::program::Succeeded;
use crate::failure::commands::no_thread;
use crate::failure::{Failure, Unfinished};
use crate::thread_pool::Completion;

/// How much text gathers before the program has to wait.
const GATHERED_BYTES: usize = 256 << 10;

/// What has happened since the last event.
#[derive(Debug, Default)]
pub struct Event {
    /// New text, stdout and stderr in the order of arrival.
    pub text: String,
    /// There is more output than fits: no more text comes, and the outcome has the beginning and the end.
    pub cut: bool,
    /// How the program ended; the last event has it.
    pub outcome: Option<Result<Succeeded, Unfinished>>,
}

/// The reader's end. The program is cancelled when this is dropped: no other reader waits for it.
#[derive(Debug)]
pub struct OutputStream {
    gathered: Arc<Gathered>,
    /// The program alone owns it: it has a descriptor, and a reader may live much longer.
    cancel: Weak<Cancel>,
}

#[derive(Debug, Default)]
struct Gathered {
    event: Mutex<Event>,
    changed: Notify,
}

impl Gathered {
    fn event(&self) -> MutexGuard<'_, Event> {
        self.event.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The program's end.
struct Writer<'a>(&'a Gathered);

impl Sink for Writer<'_> {
    fn ready(&mut self) -> bool {
        self.0.event().text.len() < GATHERED_BYTES
    }

    fn push(&mut self, chunk: Chunk<'_>) {
        self.0.event().text.push_str(&String::from_utf8_lossy(chunk.bytes));
        self.0.changed.notify_one();
    }

    fn cut(&mut self, _stream: Stream) {
        self.0.event().cut = true;
        self.0.changed.notify_one();
    }
}

/// Gives the outcome to the reader when it is dropped, whatever happens to the work.
struct Guard {
    gathered: Arc<Gathered>,
    /// Until the program has run: that there was no thread to run it.
    outcome: Option<Result<Succeeded, Unfinished>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.gathered.event().outcome = self.outcome.take();
        self.gathered.changed.notify_one();
    }
}

impl OutputStream {
    /// The stream of the program `cmd`, and the work that runs it.
    pub fn new(
        cmd: &str,
        cancel: &Arc<Cancel>,
        run: impl FnOnce(&mut dyn Sink) -> Result<Succeeded, Unfinished> + Send + 'static,
    ) -> (Self, impl FnOnce() -> Completion + Send + 'static) {
        let gathered = Arc::new(Gathered::default());
        let outcome = Some(Err(no_thread(cmd).into()));
        let mut guard = Guard { gathered: Arc::clone(&gathered), outcome };
        let work = move || {
            let mut writer = Writer(&guard.gathered);
            let ran = catch_unwind(AssertUnwindSafe(|| run(&mut writer)));
            guard.outcome =
                Some(ran.unwrap_or_else(|panic| Err(Failure::from_panic(&*panic).into())));
            Completion::new(move || drop(guard))
        };
        (Self { gathered, cancel: Arc::downgrade(cancel) }, work)
    }

    /// Waits for the next event. The event with the outcome is the last: another call never ends.
    pub fn next(&self) -> impl Future<Output = Event> + Send + 'static + use<> {
        let (gathered, cancel) = (Arc::clone(&self.gathered), Weak::clone(&self.cancel));
        async move {
            loop {
                let changed = gathered.changed.notified();
                let event = {
                    let mut event = gathered.event();
                    let is_new = !event.text.is_empty() || event.cut || event.outcome.is_some();
                    is_new.then(|| std::mem::take(&mut *event))
                };
                if let Some(event) = event {
                    if let Some(program) = cancel.upgrade() {
                        program.wake(); // there is room again
                    }
                    return event;
                }
                changed.await;
            }
        }
    }
}

impl Drop for OutputStream {
    fn drop(&mut self) {
        if let Some(program) = self.cancel.upgrade() {
            program.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwright_exec::CancelSource as _;

    use super::*;
    use crate::command::output::Noted;

    fn chunk(text: &str) -> Chunk<'_> {
        Chunk { stream: Stream::Joined, bytes: text.as_bytes() }
    }

    fn next(stream: &OutputStream) -> Event {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("made");
        runtime.block_on(stream.next())
    }

    #[test]
    fn events_have_what_is_new_and_the_last_one_the_outcome() {
        let (stream, work) = OutputStream::new("x", &Arc::new(Cancel::new()), |sink| {
            sink.push(chunk("a"));
            sink.push(chunk("b"));
            assert!(sink.ready());
            sink.push(chunk(&"c".repeat(GATHERED_BYTES)));
            assert!(!sink.ready(), "it has to wait for the reader");
            sink.cut(Stream::Joined);
            Ok(Succeeded { output: "all".to_owned(), left_running: 0, noted: Noted::default() })
        });
        let completion = work();
        let first = next(&stream);
        assert!(first.text.starts_with("abc") && first.cut && first.outcome.is_none());
        (completion.report)();
        let last = next(&stream);
        assert!(last.text.is_empty() && !last.cut);
        assert!(matches!(last.outcome, Some(Ok(Succeeded { output, .. })) if output == "all"));
    }

    #[test]
    fn work_that_panics_or_never_runs_has_an_outcome_too() {
        let failed = |event: Event| match event.outcome {
            Some(Err(Unfinished::Failed(failure))) => failure.code.as_str(),
            other => panic!("{other:?}"),
        };
        let cancel = Arc::new(Cancel::new());
        let (stream, work) = OutputStream::new("x", &cancel, |_| panic!("a defect"));
        (work().report)();
        assert_eq!(failed(next(&stream)), "INTERNAL_ERROR");
        let (stream, work) = OutputStream::new("x", &cancel, |_| unreachable!());
        drop(work);
        assert_eq!(failed(next(&stream)), "PROCESS_FAILED");
    }

    #[test]
    fn a_reader_that_goes_away_stops_the_program() {
        let cancel = Arc::new(Cancel::new());
        let (stream, _work) = OutputStream::new("x", &cancel, |_| unreachable!());
        drop(stream);
        assert!(cancel.is_cancelled());
    }
}
