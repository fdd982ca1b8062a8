//! Writing for a caller that must not wait, such as a thread that runs an event loop.
//!
//! A row takes some ten microseconds, less than handing it to another thread. Only where another process
//! writes, or the write would wait for the disk, a thread that may wait has to do it. These methods
//! return `None` then, and have written nothing.

use crate::statements::{self, End};
use crate::writer::Work;
use crate::{CallRef, Finish, Intent, Journal, JournalError, Synchronous};

/// Rows of at least this size are left to another thread.
const LARGE_BYTES: usize = 32 << 10;

impl Journal {
    /// As [`Journal::begin`], if it need not wait.
    pub fn try_begin_nowait(&self, intent: &Intent) -> Result<Option<CallRef>, JournalError> {
        if self.would_wait(intent.len())? {
            return Ok(None);
        }
        let owner = self.owner_if_any();
        let written = self.writer.try_write_nowait(|connection, path| {
            statements::insert(connection, path, intent, owner, None)
        })?;
        Ok(written.map(|row| {
            self.add_open_calls(1);
            let Intent { attempt, seq, started_at_ms, .. } = *intent;
            CallRef { row, attempt, seq, started_at_ms }
        }))
    }

    /// As [`Journal::finish`], if it need not wait.
    pub fn try_finish_nowait(
        &self,
        call: CallRef,
        finish: &Finish,
    ) -> Result<Option<()>, JournalError> {
        if self.would_wait(finish.len())? {
            return Ok(None);
        }
        let end = End::new(finish.clone(), self.options.output_limit);
        let written = self.writer.try_write_nowait(|connection, path| {
            statements::finish(connection, path, call, &end)
        })?;
        Ok(written.map(|_| self.add_open_calls(-1)))
    }

    /// As [`Journal::note_key_read`], if it need not wait.
    pub fn try_note_key_read_nowait(&self, call: CallRef) -> Result<Option<()>, JournalError> {
        if self.would_wait(0)? {
            return Ok(None);
        }
        let written = self
            .writer
            .try_write_nowait(|connection, _| statements::note_key_read(connection, call))?;
        Ok(written.map(drop))
    }

    /// As [`Journal::record`], if it need not wait.
    pub fn try_record_nowait(
        &self,
        intent: &Intent,
        finish: &Finish,
    ) -> Result<Option<()>, JournalError> {
        self.database.check_writable()?;
        // A row with a side effect waits for the disk.
        if intent.side_effect || !self.write_behind.start(&self.writer) {
            return Ok(None);
        }
        self.write_behind.try_push_nowait(intent.len() + finish.len(), || Work::Insert {
            intent: Box::new(intent.clone()),
            owner: None,
            end: Some(End::new(finish.clone(), self.options.output_limit)),
        })
    }

    /// Whether writing a row of this size would wait: for the disk, or to become an owner first.
    fn would_wait(&self, bytes: usize) -> Result<bool, JournalError> {
        self.database.check_writable()?;
        let is_file = !self.database.is_in_memory();
        let waits = self.owner_if_any().is_none() || self.options.synchronous == Synchronous::Full;
        Ok(bytes >= LARGE_BYTES || (is_file && waits))
    }
}

impl Intent {
    pub(crate) fn len(&self) -> usize {
        self.input_json.as_ref().map_or(0, String::len)
    }
}

impl Finish {
    fn len(&self) -> usize {
        use crate::Outcome::{Error, Rejected, Success, Unknown};
        let (Success(json) | Error(json) | Rejected(json) | Unknown(json)) = &self.outcome;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        length(json) + length(&self.seen)
    }
}
