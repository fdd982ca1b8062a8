//! Writing rows: at once where nobody has to be waited for, else on a thread of its own.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, Object};
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::Value;
use toolwright_journal::{AtOnce, CallRef, Finish, Intent, Journal, JournalError, TaskId};

use super::outcome::from_journal;
use super::{NativeJournal, integer, number};
use crate::error::NativeError;
use crate::job;
use crate::job::Outcome;

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

/// What became of a row.
#[napi(object)]
#[derive(Debug, Default)]
pub struct WriteOutcome {
    /// The row's number, of a call that begins.
    pub row: Option<f64>,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for WriteOutcome {
    fn failed(error: NativeError) -> Self {
        Self { row: None, error: Some(error) }
    }
}

type Written<'env> = Result<Either<WriteOutcome, Object<'env>>>;

#[napi]
impl NativeJournal {
    /// Records that a call begins: `row` completes it.
    #[napi(catch_unwind, ts_return_type = "WriteOutcome | Promise<WriteOutcome>")]
    pub fn begin<'env>(&self, env: &'env Env, call: NewCall) -> Written<'env> {
        let journal = match self.opened() {
            Ok(journal) => journal,
            Err(error) => return Ok(Either::A(told::<()>(Err(error), |()| None))),
        };
        match journal.begin_at_once(call.into()) {
            AtOnce::Done(begun) => Ok(Either::A(begun_as(begun))),
            AtOnce::NotNow(intent) => {
                later(env, journal, move |journal| begun_as(journal.begin(*intent)))
            }
        }
    }

    /// Records the outcome of a call that began.
    #[napi(catch_unwind, ts_return_type = "WriteOutcome | Promise<WriteOutcome>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        row: f64,
        attempt: f64,
        seq: f64,
        started_at_ms: f64,
        end: CallEnd,
    ) -> Written<'env> {
        let call = CallRef {
            row: integer(row),
            attempt: integer(attempt),
            seq: integer(seq),
            started_at_ms: integer(started_at_ms),
        };
        let journal = match self.opened() {
            Ok(journal) => journal,
            Err(error) => return Ok(Either::A(told::<()>(Err(error), |()| None))),
        };
        match journal.finish_at_once(call, end.into()) {
            AtOnce::Done(finished) => Ok(Either::A(told(finished, |()| None))),
            AtOnce::NotNow(finish) => {
                later(env, journal, move |journal| told(journal.finish(call, finish), |()| None))
            }
        }
    }

    /// Records a call that is over, in one row.
    #[napi(catch_unwind, ts_return_type = "WriteOutcome | Promise<WriteOutcome>")]
    pub fn record<'env>(&self, env: &'env Env, call: NewCall, end: CallEnd) -> Written<'env> {
        let journal = match self.opened() {
            Ok(journal) => journal,
            Err(error) => return Ok(Either::A(told::<()>(Err(error), |()| None))),
        };
        match journal.record_at_once(call.into(), end.into()) {
            AtOnce::Done(recorded) => Ok(Either::A(told(recorded, |()| None))),
            AtOnce::NotNow((intent, finish)) => {
                later(env, journal, move |journal| told(journal.record(*intent, finish), |()| None))
            }
        }
    }
}

fn begun_as(begun: std::result::Result<CallRef, JournalError>) -> WriteOutcome {
    told(begun, |call| Some(number(call.row)))
}

fn told<T>(
    result: std::result::Result<T, JournalError>,
    row: impl FnOnce(T) -> Option<f64>,
) -> WriteOutcome {
    match result {
        Ok(value) => WriteOutcome { row: row(value), error: None },
        Err(error) => WriteOutcome::failed(from_journal(&error)),
    }
}

fn later<'env>(
    env: &'env Env,
    journal: &Arc<Journal>,
    write: impl FnOnce(&Journal) -> WriteOutcome + Send + 'static,
) -> Written<'env> {
    let journal = Arc::clone(journal);
    job::long(env, move || write(&journal)).map(Either::B)
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
