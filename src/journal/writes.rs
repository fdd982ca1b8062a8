//! Writing rows: on the JavaScript thread where nothing has to be waited for, else on another.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, ToNapiValue};
use napi_derive::napi;
use serde_json::Value;
use toolwright_core::failure::Failure;
use toolwright_journal::{
    CallRef, Finish, Intent, Journal, JournalError, Outcome as CallOutcome, TaskId,
};

use super::NativeJournal;
use crate::call::{self, Outcome, Promised};
use crate::cross::Cross;

/// A call before it begins.
#[napi(object)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub struct NewCall {
    /// The run.
    pub run_id: String,
    /// The task within the run.
    pub node_id: String,
    /// The iteration of the task.
    pub iteration: i64,
    /// The attempt of the task.
    pub attempt: i64,
    /// The number of the call within the attempt.
    pub seq: i64,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub input_json: Option<String>,
    /// When it begins.
    pub started_at_ms: i64,
    /// Whether it changes anything outside.
    pub side_effect: bool,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Whether its tool declares that a key protects it.
    pub accepts_idempotency_key: bool,
    /// Whether the tool can undo it.
    pub has_revert: bool,
    /// The key.
    pub idempotency_key: Option<String>,
    /// An identity from outside.
    pub call_token: Option<String>,
    /// The hash of the arguments.
    pub args_hash: Option<String>,
    /// Its number among the attempt's equal calls.
    pub ordinal: Option<i64>,
}

/// How a call ended.
#[napi(object)]
pub struct CallEnd {
    /// `success`, `error` or `unknown`.
    pub status: String,
    /// False for a call that was refused before it did anything.
    pub acted: bool,
    /// The output of a success.
    pub output_json: Option<String>,
    /// The output of a success that is text, instead: made JSON here, which is quicker.
    pub output_text: Option<String>,
    /// The error of anything else.
    pub error_json: Option<String>,
    /// When it ended.
    pub finished_at_ms: i64,
    /// Keep output and error whole, whatever the journal's limit is.
    pub whole: Option<bool>,
    /// What the call has made known of files: of `SeenFiles.takeRecord`.
    pub seen: Option<String>,
    /// Whether it has read its idempotency key.
    pub key_read: Option<bool>,
}

/// The outcome, or a promise of it where the write had to wait.
type Written<T> = Either<Outcome<T>, Promised<T>>;

#[napi]
impl NativeJournal {
    /// Records that a call begins. Gives the number of the row.
    #[napi(catch_unwind, ts_return_type = "number | Unfinished | Promise<number | Unfinished>")]
    pub fn begin(&self, call: NewCall) -> Written<i64> {
        self.write(
            Cross::<Intent>::cross(call),
            |journal, intent| Ok(journal.try_begin_nowait(intent)?.map(row_of)),
            |journal, intent| journal.begin(intent).map(row_of),
        )
    }

    /// Records the outcome of a call that began.
    #[napi(
        catch_unwind,
        ts_return_type = "undefined | Unfinished | Promise<undefined | Unfinished>"
    )]
    pub fn finish(
        &self,
        row: i64,
        attempt: i64,
        seq: i64,
        started_at_ms: i64,
        end: CallEnd,
    ) -> Written<()> {
        let call = CallRef { row, attempt, seq, started_at_ms };
        self.write(
            Cross::<Finish>::cross(end),
            move |journal, finish| journal.try_finish_nowait(call, finish),
            move |journal, finish| journal.finish(call, finish),
        )
    }

    /// Records that a call which runs has read its idempotency key.
    #[napi(
        catch_unwind,
        ts_return_type = "undefined | Unfinished | Promise<undefined | Unfinished>"
    )]
    pub fn note_key_read(
        &self,
        row: i64,
        attempt: i64,
        seq: i64,
        started_at_ms: i64,
    ) -> Written<()> {
        self.write(
            CallRef { row, attempt, seq, started_at_ms },
            |journal, call| journal.try_note_key_read_nowait(*call),
            Journal::note_key_read,
        )
    }

    /// Records a call that is over, in one row.
    #[napi(
        catch_unwind,
        ts_return_type = "undefined | Unfinished | Promise<undefined | Unfinished>"
    )]
    pub fn record(&self, call: NewCall, end: CallEnd) -> Written<()> {
        self.write(
            (Cross::<Intent>::cross(call), Cross::<Finish>::cross(end)),
            |journal, (intent, finish)| journal.try_record_nowait(intent, finish),
            |journal, (intent, finish)| journal.record(intent, finish),
        )
    }
}

impl NativeJournal {
    /// Tries on this thread, and continues on a thread of its own if the write would have to wait.
    fn write<T, W>(
        &self,
        row: W,
        try_nowait: impl FnOnce(&Journal, &W) -> Result<Option<T>, JournalError>,
        write: impl FnOnce(&Journal, W) -> Result<T, JournalError> + Send + 'static,
    ) -> Written<T>
    where
        T: ToNapiValue + Cross<T> + Send + 'static,
        W: Send + 'static,
    {
        let tried = self.opened().and_then(|journal| Ok((journal, try_nowait(journal, &row)?)));
        match tried {
            Err(error) => Either::A(Err::<T, _>(Failure::from(error)).into()),
            Ok((_, Some(written))) => Either::A(Ok::<_, Failure>(written).into()),
            Ok((journal, None)) => {
                let journal = Arc::clone(journal);
                Either::B(call::unstoppable(move || write(&journal, row).map_err(Failure::from)))
            }
        }
    }
}

fn row_of(call: CallRef) -> i64 {
    call.row
}

impl Cross<Intent> for NewCall {
    fn cross(self) -> Intent {
        let Self { run_id, node_id, iteration, .. } = self;
        Intent {
            task: TaskId { run_id, node_id, iteration },
            attempt: self.attempt,
            seq: self.seq,
            tool_name: self.tool_name,
            input_json: self.input_json,
            started_at_ms: self.started_at_ms,
            side_effect: self.side_effect,
            idempotent: self.idempotent,
            accepts_idempotency_key: self.accepts_idempotency_key,
            has_revert: self.has_revert,
            idempotency_key: self.idempotency_key,
            call_token: self.call_token,
            args_hash: self.args_hash,
            ordinal: self.ordinal,
        }
    }
}

impl Cross<Finish> for CallEnd {
    fn cross(self) -> Finish {
        let output = self.output_text.map(|text| Value::from(text).to_string());
        let outcome =
            CallOutcome::of(&self.status, self.acted, output.or(self.output_json), self.error_json);
        let Self { finished_at_ms, seen, .. } = self;
        let key_read = self.key_read.cross();
        Finish { outcome, finished_at_ms, whole: self.whole.cross(), seen, key_read }
    }
}
