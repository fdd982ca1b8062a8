//! Reading what was recorded, and undoing it.

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_journal::{Call, Claim, JournalError, Order, TaskId};

use super::{JournalTask, NativeJournal, integer, number};
use crate::{options, rows};

/// A list of calls.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ListedCalls {
    /// The rows, as JSON texts of arrays.
    pub rows: Vec<String>,
    /// Whether they lack what is long.
    pub is_outline: bool,
}

/// The latest attempt of a task that made a call.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct LastAttempt {
    /// The attempt.
    pub attempt: f64,
    /// The highest sequence number of its calls.
    pub seq: f64,
}

/// The answer to a claim: one of the three.
#[napi(object, object_from_js = false)]
#[derive(Debug, Default)]
pub struct RevertAnswer {
    /// The caller alone may undo this row, a JSON text.
    pub won: Option<String>,
    /// It was claimed before: the status of that.
    pub taken: Option<String>,
    /// Why there is nothing to undo.
    pub nothing: Option<String>,
}

#[napi]
impl NativeJournal {
    /// The calls of a task, by attempt and sequence number. As an outline if asked for, and where they
    /// are too large for one answer.
    #[napi(catch_unwind, ts_return_type = "Promise<ListedCalls | Unfinished>")]
    pub fn list<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        outline: bool,
    ) -> Result<Object<'env>> {
        let task = TaskId::from(task);
        self.ask(env, move |journal| {
            listed(outline, || journal.list_small(&task), || journal.outline(&task))
        })
    }

    /// The calls of a run as they began, or in reverse; outlines as for `list`.
    #[napi(catch_unwind, ts_return_type = "Promise<ListedCalls | Unfinished>")]
    pub fn list_run<'env>(
        &self,
        env: &'env Env,
        run_id: String,
        reverse: bool,
        outline: bool,
    ) -> Result<Object<'env>> {
        let order = if reverse { Order::Reverse } else { Order::Forward };
        self.ask(env, move |journal| {
            listed(
                outline,
                || journal.list_run_small(&run_id, order),
                || journal.outline_run(&run_id, order),
            )
        })
    }

    /// All runs, the earliest first, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_runs<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| Ok(rows::texts(&journal.list_runs()?)))
    }

    /// At most `limit` rows written after the row with this number.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn tail<'env>(&self, env: &'env Env, after: f64, limit: f64) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            Ok(rows::texts(&journal.tail(integer(after), options::size(limit))?))
        })
    }

    /// These rows as they are now.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn rows<'env>(&self, env: &'env Env, numbers: Vec<f64>) -> Result<Object<'env>> {
        let numbers: Vec<i64> = numbers.into_iter().map(integer).collect();
        self.ask(env, move |journal| Ok(rows::texts(&journal.rows(&numbers)?)))
    }

    /// The number of the last row.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn last_row<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| journal.last_row().map(number))
    }

    /// One call by its place, as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn find<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
        seq: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            let call = journal.find(&task.into(), integer(attempt), integer(seq))?;
            Ok(call.as_ref().map(rows::text))
        })
    }

    /// The latest attempt of a task that made a call, and its highest sequence number.
    #[napi(catch_unwind, ts_return_type = "Promise<LastAttempt | null | Unfinished>")]
    pub fn last_attempt<'env>(&self, env: &'env Env, task: JournalTask) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            let last = journal.last_attempt(&TaskId::from(task))?;
            Ok(last
                .map(|(attempt, seq)| LastAttempt { attempt: number(attempt), seq: number(seq) }))
        })
    }

    /// The effects of earlier attempts that must not be repeated blindly.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn prior_effects<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            Ok(rows::texts(&journal.prior_effects(&task.into(), integer(attempt))?))
        })
    }

    /// The identical call that succeeded last, as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn recorded<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        tool: String,
        args_hash: String,
        ordinal: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            let recorded = journal.recorded(&task.into(), &tool, &args_hash, integer(ordinal))?;
            Ok(recorded.map(|recorded| rows::text(&recorded.call)))
        })
    }

    /// Claims a call, to undo it.
    #[napi(catch_unwind, ts_return_type = "Promise<RevertAnswer | Unfinished>")]
    pub fn claim_revert<'env>(&self, env: &'env Env, row: f64) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            let answer = RevertAnswer::default();
            Ok(match journal.claim_revert(integer(row))? {
                Claim::Won(call) => RevertAnswer { won: Some(rows::text(&*call)), ..answer },
                Claim::Taken(status) => RevertAnswer { taken: Some(status), ..answer },
                Claim::Nothing(why) => RevertAnswer { nothing: Some(why.to_owned()), ..answer },
            })
        })
    }

    /// Records how undoing ended; false when the row has another status by now.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn finish_revert<'env>(
        &self,
        env: &'env Env,
        row: f64,
        error_json: Option<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            journal.finish_revert(integer(row), error_json.as_deref().map_or(Ok(()), Err))
        })
    }
}

/// Whole rows where they are wanted and fit one answer, else their outlines.
fn listed(
    outline: bool,
    small: impl FnOnce() -> std::result::Result<Option<Vec<Call>>, JournalError>,
    outlines: impl FnOnce() -> std::result::Result<Vec<Call>, JournalError>,
) -> std::result::Result<ListedCalls, JournalError> {
    let whole = if outline { None } else { small()? };
    Ok(match whole {
        Some(calls) => ListedCalls { rows: rows::texts(&calls), is_outline: false },
        None => ListedCalls { rows: rows::texts(&outlines()?), is_outline: true },
    })
}
