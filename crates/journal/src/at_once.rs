//! Writing for a caller that must not wait: a thread that many others depend on.
//!
//! A row takes some ten microseconds, less than it takes to hand it to another thread. Only where
//! somebody else writes, or the disk is waited for, is it given back, to be written by a thread that
//! may wait.

use crate::statements::End;
use crate::writer::Work;
use crate::{CallRef, Finish, Intent, Journal, JournalError, Synchronous};

/// What became of a row.
#[derive(Debug)]
pub enum AtOnce<T, W> {
    /// It was written, or cannot be.
    Done(Result<T, JournalError>),
    /// It would have to wait: here it is again.
    NotNow(W),
}

/// From so many bytes on a row is worth the way to another thread.
const LARGE: usize = 32 << 10;

/// Whether a row can be written at once, and as whose.
enum Ready {
    As(Option<i64>),
    NotNow,
}

impl Journal {
    /// As [`Journal::begin`], if it need not wait for anybody.
    pub fn begin_at_once(&self, intent: Intent) -> AtOnce<CallRef, Box<Intent>> {
        let intent = Box::new(intent);
        let owner = match self.prepared(input_bytes(&intent)) {
            Ok(Ready::As(owner)) => owner,
            Ok(Ready::NotNow) => return AtOnce::NotNow(intent),
            Err(error) => return AtOnce::Done(Err(error)),
        };
        let (attempt, seq, started_at_ms) = (intent.attempt, intent.seq, intent.started_at_ms);
        let work = Work::Insert { intent, owner, end: None };
        match (self.written(&work), work) {
            (None, Work::Insert { intent, .. }) => AtOnce::NotNow(intent),
            (Some(written), _) => AtOnce::Done(written.map(|row| {
                self.count_open(1);
                CallRef { row, attempt, seq, started_at_ms }
            })),
            (None, Work::Finish { .. }) => unreachable!("it is the work from above"),
        }
    }

    /// As [`Journal::finish`], if it need not wait for anybody.
    pub fn finish_at_once(&self, call: CallRef, finish: Finish) -> AtOnce<(), Finish> {
        match self.prepared(finish.len()) {
            Ok(Ready::As(_)) => {}
            Ok(Ready::NotNow) => return AtOnce::NotNow(finish),
            Err(error) => return AtOnce::Done(Err(error)),
        }
        let end = End::new(finish.clone(), self.options.output_limit);
        match self.written(&Work::Finish { call, end }) {
            None => AtOnce::NotNow(finish),
            Some(written) => AtOnce::Done(written.map(|_| self.count_open(-1))),
        }
    }

    /// As [`Journal::record`], if it need not wait for anybody.
    pub fn record_at_once(
        &self,
        intent: Intent,
        finish: Finish,
    ) -> AtOnce<(), (Box<Intent>, Finish)> {
        let intent = Box::new(intent);
        let writer = match self.writer() {
            Ok(writer) => writer,
            Err(error) => return AtOnce::Done(Err(error)),
        };
        // One with a side effect waits for the disk.
        if intent.side_effect || !self.start_thread(writer) {
            return AtOnce::NotNow((intent, finish));
        }
        let bytes = finish.len() + input_bytes(&intent);
        let end = End::new(finish.clone(), self.options.output_limit);
        let work = Work::Insert { intent, owner: None, end: Some(end) };
        match self.behind.push_at_once(work, bytes) {
            Ok(pushed) => AtOnce::Done(pushed),
            Err(work) => match *work {
                Work::Insert { intent, .. } => AtOnce::NotNow((intent, finish)),
                Work::Finish { .. } => unreachable!("it is the work from above"),
            },
        }
    }

    /// Whether a row of so many bytes can be written at once.
    fn prepared(&self, bytes: usize) -> Result<Ready, JournalError> {
        self.writer()?;
        if bytes >= LARGE {
            return Ok(Ready::NotNow);
        }
        if self.locks().is_none() {
            return Ok(Ready::As(None));
        }
        let owner = self.owner_if_any();
        if owner.is_none() || self.options.synchronous == Synchronous::Full {
            return Ok(Ready::NotNow);
        }
        Ok(Ready::As(owner))
    }

    fn written(&self, work: &Work) -> Option<Result<i64, JournalError>> {
        let written =
            self.writer().map_or_else(|error| Some(Err(error)), |w| w.write_at_once(work));
        if matches!(written, Some(Ok(_))) {
            self.tend_log();
        }
        written
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
