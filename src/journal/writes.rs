//! Writing rows: on the JavaScript thread where nothing has to be waited for, else on another.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, Object, ToNapiValue};
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::Value;
use toolwright_journal::{CallRef, Finish, Intent, Journal, JournalError, TaskId, TryResult};

use super::{NativeJournal, integer, number, to_outcome};
use crate::job;
use crate::outcome::Outcome;

/// A call before it begins.
#[napi(object)]
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub struct NewCall {
    /// The run.
    pub run_id: String,
    /// The task within the run.
    pub node_id: String,
    /// The iteration of the task.
    pub iteration: f64,
    /// The attempt of the task.
    pub attempt: f64,
    /// The number of the call within the attempt.
    pub seq: f64,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub input_json: Option<String>,
    /// When it begins.
    pub started_at_ms: f64,
    /// Whether it changes anything outside.
    pub side_effect: bool,
    /// Whether doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Whether the tool can use a key.
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
    pub ordinal: Option<f64>,
}

/// How a call ended.
#[napi(object)]
#[derive(Debug)]
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
    pub finished_at_ms: f64,
    /// Keep output and error whole, whatever the journal's limit is.
    pub whole: Option<bool>,
}

type Written<'env, T> = Result<Either<Outcome<T>, Object<'env>>>;

#[napi]
impl NativeJournal {
    /// Records that a call begins. Gives the number of the row.
    #[napi(catch_unwind, ts_return_type = "number | Unfinished | Promise<number | Unfinished>")]
    pub fn begin<'env>(&self, env: &'env Env, call: NewCall) -> Written<'env, f64> {
        self.write(env, |journal| match journal.try_begin_nowait(call.into()) {
            TryResult::Done(begun) => TryResult::Done(begun.map(row_of)),
            TryResult::WouldBlock(intent) => {
                TryResult::WouldBlock(move |journal: &Journal| journal.begin(*intent).map(row_of))
            }
        })
    }

    /// Records the outcome of a call that began.
    #[napi(
        catch_unwind,
        ts_return_type = "undefined | Unfinished | Promise<undefined | Unfinished>"
    )]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        row: f64,
        attempt: f64,
        seq: f64,
        started_at_ms: f64,
        end: CallEnd,
    ) -> Written<'env, ()> {
        let call = CallRef {
            row: integer(row),
            attempt: integer(attempt),
            seq: integer(seq),
            started_at_ms: integer(started_at_ms),
        };
        self.write(env, |journal| match journal.try_finish_nowait(call, end.into()) {
            TryResult::Done(finished) => TryResult::Done(finished),
            TryResult::WouldBlock(finish) => {
                TryResult::WouldBlock(move |journal: &Journal| journal.finish(call, finish))
            }
        })
    }

    /// Records a call that is over, in one row.
    #[napi(
        catch_unwind,
        ts_return_type = "undefined | Unfinished | Promise<undefined | Unfinished>"
    )]
    pub fn record<'env>(&self, env: &'env Env, call: NewCall, end: CallEnd) -> Written<'env, ()> {
        self.write(env, |journal| match journal.try_record_nowait(call.into(), end.into()) {
            TryResult::Done(recorded) => TryResult::Done(recorded),
            TryResult::WouldBlock((intent, finish)) => {
                TryResult::WouldBlock(move |journal: &Journal| journal.record(*intent, finish))
            }
        })
    }
}

impl NativeJournal {
    /// Tries on this thread, and continues on a thread of its own if the write would have to wait.
    fn write<'env, T, W>(
        &self,
        env: &'env Env,
        attempt: impl FnOnce(&Journal) -> TryResult<T, W>,
    ) -> Written<'env, T>
    where
        T: ToNapiValue + Send + 'static,
        W: FnOnce(&Journal) -> std::result::Result<T, JournalError> + Send + 'static,
    {
        let journal = match self.opened() {
            Ok(journal) => journal,
            Err(error) => return Ok(Either::A(to_outcome(Err(error)))),
        };
        match attempt(journal) {
            TryResult::Done(result) => Ok(Either::A(to_outcome(result))),
            TryResult::WouldBlock(waiting) => {
                let journal = Arc::clone(journal);
                job::long(env, move || to_outcome(waiting(&journal))).map(Either::B)
            }
        }
    }
}

fn row_of(call: CallRef) -> f64 {
    number(call.row)
}

impl From<NewCall> for Intent {
    fn from(call: NewCall) -> Self {
        Self {
            task: TaskId {
                run_id: call.run_id,
                node_id: call.node_id,
                iteration: integer(call.iteration),
            },
            attempt: integer(call.attempt),
            seq: integer(call.seq),
            tool_name: call.tool_name,
            input_json: call.input_json,
            started_at_ms: integer(call.started_at_ms),
            side_effect: call.side_effect,
            idempotent: call.idempotent,
            accepts_idempotency_key: call.accepts_idempotency_key,
            has_revert: call.has_revert,
            idempotency_key: call.idempotency_key,
            call_token: call.call_token,
            args_hash: call.args_hash,
            ordinal: call.ordinal.map(integer),
        }
    }
}

impl From<CallEnd> for Finish {
    fn from(end: CallEnd) -> Self {
        use toolwright_journal::Outcome::{Error, Rejected, Success, Unknown};
        let output = end.output_text.map(|text| Value::from(text).to_string()).or(end.output_json);
        let outcome = match (end.status.as_str(), end.acted) {
            ("success", _) => Success { output_json: output },
            ("error", false) => Rejected { error_json: end.error_json },
            ("error", true) => Error { error_json: end.error_json },
            _ => Unknown { error_json: end.error_json },
        };
        let whole = end.whole.unwrap_or(false);
        Self { outcome, finished_at_ms: integer(end.finished_at_ms), whole }
    }
}
