//! Writing for a caller that must not wait, such as a thread that runs an event loop.
//!
//! A row takes some ten microseconds, less than handing it to another thread. Only where another process
//! writes, or the write would wait for the disk, the row comes back, for a thread that may wait.

use crate::statements::End;
use crate::writer::Work;
use crate::{CallRef, Finish, Intent, Journal, JournalError, Synchronous};

/// What came of a try to write.
#[derive(Debug)]
pub enum TryResult<T, W> {
    /// It was written, or cannot be.
    Done(Result<T, JournalError>),
    /// It would have to wait: the row comes back.
    WouldBlock(W),
}

/// Rows of at least this size are left to another thread.
const LARGE_BYTES: usize = 32 << 10;

/// Whether a row can be written without waiting, and who owns it.
enum Readiness {
    Ready(Option<i64>),
    WouldBlock,
}

impl Journal {
    /// As [`Journal::begin`], if it need not wait.
    pub fn try_begin_nowait(&self, intent: Intent) -> TryResult<CallRef, Box<Intent>> {
        let intent = Box::new(intent);
        let owner = match self.readiness(input_bytes(&intent)) {
            Ok(Readiness::Ready(owner)) => owner,
            Ok(Readiness::WouldBlock) => return TryResult::WouldBlock(intent),
            Err(error) => return TryResult::Done(Err(error)),
        };
        let (attempt, seq, started_at_ms) = (intent.attempt, intent.seq, intent.started_at_ms);
        let work = Work::Insert { intent, owner, end: None };
        match (self.writer.try_write_nowait(&work), work) {
            (None, Work::Insert { intent, .. }) => TryResult::WouldBlock(intent),
            (Some(written), _) => TryResult::Done(written.map(|row| {
                self.add_open_calls(1);
                CallRef { row, attempt, seq, started_at_ms }
            })),
            (None, Work::Finish { .. }) => unreachable!("it is the work from above"),
        }
    }

    /// As [`Journal::finish`], if it need not wait.
    pub fn try_finish_nowait(&self, call: CallRef, finish: Finish) -> TryResult<(), Finish> {
        match self.readiness(finish.len()) {
            Ok(Readiness::Ready(_)) => {}
            Ok(Readiness::WouldBlock) => return TryResult::WouldBlock(finish),
            Err(error) => return TryResult::Done(Err(error)),
        }
        let end = End::new(finish.clone(), self.options.output_limit);
        match self.writer.try_write_nowait(&Work::Finish { call, end }) {
            None => TryResult::WouldBlock(finish),
            Some(written) => TryResult::Done(written.map(|_| self.add_open_calls(-1))),
        }
    }

    /// As [`Journal::record`], if it need not wait.
    pub fn try_record_nowait(
        &self,
        intent: Intent,
        finish: Finish,
    ) -> TryResult<(), (Box<Intent>, Finish)> {
        let intent = Box::new(intent);
        if let Err(error) = self.database.check_writable() {
            return TryResult::Done(Err(error.into()));
        }
        // A row with a side effect waits for the disk.
        if intent.side_effect || !self.write_behind.start(&self.writer) {
            return TryResult::WouldBlock((intent, finish));
        }
        let bytes = finish.len() + input_bytes(&intent);
        let end = End::new(finish.clone(), self.options.output_limit);
        let work = Work::Insert { intent, owner: None, end: Some(end) };
        match self.write_behind.try_push_nowait(work, bytes) {
            Ok(pushed) => TryResult::Done(pushed),
            Err(work) => match *work {
                Work::Insert { intent, .. } => TryResult::WouldBlock((intent, finish)),
                Work::Finish { .. } => unreachable!("it is the work from above"),
            },
        }
    }

    /// Whether a row of this size can be written without waiting.
    fn readiness(&self, bytes: usize) -> Result<Readiness, JournalError> {
        self.database.check_writable()?;
        if bytes >= LARGE_BYTES {
            return Ok(Readiness::WouldBlock);
        }
        if self.database.is_in_memory() {
            return Ok(Readiness::Ready(None));
        }
        let owner = self.owner_if_any();
        if owner.is_none() || self.options.synchronous == Synchronous::Full {
            return Ok(Readiness::WouldBlock);
        }
        Ok(Readiness::Ready(owner))
    }
}

fn input_bytes(intent: &Intent) -> usize {
    intent.input_json.as_ref().map_or(0, String::len)
}

impl Finish {
    fn len(&self) -> usize {
        use crate::Outcome::{Error, Rejected, Success, Unknown};
        let (Success { output_json: json }
        | Error { error_json: json }
        | Rejected { error_json: json }
        | Unknown { error_json: json }) = &self.outcome;
        json.as_ref().map_or(0, String::len)
    }
}
