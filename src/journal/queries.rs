//! Reading what was recorded, and undoing it.

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use serde_json::json;
use toolwright_journal::{Call, Claim, JournalError, Order, RunSummary, TaskId};

use super::outcome::JournalOutcome;
use super::{JournalTask, NativeJournal, integer, rows};
use crate::options;

#[napi]
impl NativeJournal {
    /// The calls of a task, by attempt and sequence number. With `outline`, and where they are too large
    /// for one answer, without what is long: then `value` is true.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn list<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        outline: bool,
    ) -> Result<Object<'env>> {
        let task = TaskId::from(task);
        self.ask(env, move |journal| {
            whole_or_outline(outline, || journal.list_small(&task), || journal.outline(&task))
        })
    }

    /// The calls of a run as they began, or the other way round; with `outline` as for `list`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn list_run<'env>(
        &self,
        env: &'env Env,
        run_id: String,
        reverse: bool,
        outline: bool,
    ) -> Result<Object<'env>> {
        let order = if reverse { Order::Reverse } else { Order::Forward };
        self.ask(env, move |journal| {
            whole_or_outline(
                outline,
                || journal.list_run_small(&run_id, order),
                || journal.outline_run(&run_id, order),
            )
        })
    }

    /// All runs, the earliest first: `value` is an array.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn list_runs<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| {
            JournalOutcome::of(journal.list_runs(), |runs| {
                JournalOutcome::value(runs.iter().map(summary).collect::<Vec<_>>())
            })
        })
    }

    /// At most so many rows written after the row with this number.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn tail<'env>(&self, env: &'env Env, after: f64, limit: f64) -> Result<Object<'env>> {
        self.ask(env, move |journal| told(journal.tail(integer(after), options::size(limit))))
    }

    /// These rows as they are now.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn rows<'env>(&self, env: &'env Env, numbers: Vec<f64>) -> Result<Object<'env>> {
        let numbers: Vec<i64> = numbers.into_iter().map(integer).collect();
        self.ask(env, move |journal| told(journal.rows(&numbers)))
    }

    /// The number of the last row: `value.row`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn last_row<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.ask(env, |journal| {
            JournalOutcome::of(journal.last_row(), |row| {
                JournalOutcome::value(json!({ "row": row }))
            })
        })
    }

    /// One call by its place, in `rows`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn find<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
        seq: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            told(
                journal
                    .find(&task.into(), integer(attempt), integer(seq))
                    .map(|call| call.into_iter().collect()),
            )
        })
    }

    /// The latest attempt of a task that made a call, and its highest sequence number.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn last_attempt<'env>(&self, env: &'env Env, task: JournalTask) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            JournalOutcome::of(journal.last_attempt(&TaskId::from(task)), |last| match last {
                Some((attempt, seq)) => {
                    JournalOutcome::value(json!({ "attempt": attempt, "seq": seq }))
                }
                None => JournalOutcome::default(),
            })
        })
    }

    /// The effects of earlier attempts that must not be repeated blindly, in `rows`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn prior_effects<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        attempt: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            told(
                journal
                    .prior_effects(&task.into(), integer(attempt))
                    .map(|effects| effects.into_iter().map(|effect| effect.call).collect()),
            )
        })
    }

    /// The identical call that succeeded last, in `rows`.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn recorded<'env>(
        &self,
        env: &'env Env,
        task: JournalTask,
        tool: String,
        args_hash: String,
        ordinal: f64,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            told(
                journal
                    .recorded(&task.into(), &tool, &args_hash, integer(ordinal))
                    .map(|found| found.into_iter().map(|found| found.call).collect()),
            )
        })
    }

    /// Claims a call, to undo it: the row if the claim was won, else `value` says why not.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn claim_revert<'env>(&self, env: &'env Env, row: f64) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            JournalOutcome::of(journal.claim_revert(integer(row)), |claim| match claim {
                Claim::Won(call) => told(Ok(vec![*call])),
                Claim::Taken(status) => JournalOutcome::value(json!({ "taken": status })),
                Claim::Nothing(reason) => JournalOutcome::value(json!({ "nothing": reason })),
            })
        })
    }

    /// Records how undoing ended; `value` is false when the row says something else meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<JournalOutcome>")]
    pub fn finish_revert<'env>(
        &self,
        env: &'env Env,
        row: f64,
        error_json: Option<String>,
    ) -> Result<Object<'env>> {
        self.ask(env, move |journal| {
            let result = error_json.as_deref().map_or(Ok(()), Err);
            JournalOutcome::of(journal.finish_revert(integer(row), result), JournalOutcome::value)
        })
    }
}

/// The rows; what is too large for one answer is told by its outline.
fn whole_or_outline(
    outline: bool,
    small: impl FnOnce() -> std::result::Result<Option<Vec<Call>>, JournalError>,
    outlines: impl FnOnce() -> std::result::Result<Vec<Call>, JournalError>,
) -> JournalOutcome {
    let whole = if outline { Ok(None) } else { small() };
    match whole {
        Ok(Some(calls)) => told(Ok(calls)),
        Ok(None) => {
            JournalOutcome { value: Some(serde_json::Value::Bool(true)), ..told(outlines()) }
        }
        Err(error) => told(Err(error)),
    }
}

fn told(calls: std::result::Result<Vec<Call>, JournalError>) -> JournalOutcome {
    JournalOutcome::of(calls, |calls| JournalOutcome {
        rows: Some(rows::texts(&calls)),
        ..JournalOutcome::default()
    })
}

fn summary(run: &RunSummary) -> serde_json::Value {
    json!({
        "runId": run.run_id,
        "calls": run.calls,
        "started": run.started,
        "succeeded": run.succeeded,
        "failed": run.failed,
        "startedAtMs": run.started_at_ms,
        "finishedAtMs": run.finished_at_ms,
    })
}
