//! Reading what was recorded, and undoing it.

use napi_derive::napi;
use toolwright_core::rows;
use toolwright_journal::{Claim, Journal, Listed, Order, TaskId};

use super::{JournalTask, NativeJournal};
use crate::call::Promised;
use crate::cross::{Cross, convert};

/// A list of calls.
#[napi(object, object_from_js = false)]
pub struct ListedCalls {
    /// The rows, as JSON texts of arrays.
    pub rows: Vec<String>,
    /// Whether they lack what is long.
    pub is_outline: bool,
}

/// The latest attempt of a task that made a call.
#[napi(object, object_from_js = false)]
pub struct LastAttempt {
    /// The attempt.
    pub attempt: i64,
    /// The highest sequence number of its calls.
    pub seq: i64,
}

/// The answer to a claim: one of the three.
#[napi(object, object_from_js = false)]
#[derive(Default)]
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
    pub fn list(&self, task: JournalTask, outline: bool) -> Promised<ListedCalls> {
        let task: TaskId = task.cross();
        self.ask(move |journal| journal.list(&task, outline))
    }

    /// The calls of a run as they began, or in reverse; outlines as for `list`.
    #[napi(catch_unwind, ts_return_type = "Promise<ListedCalls | Unfinished>")]
    pub fn list_run(&self, run_id: String, reverse: bool, outline: bool) -> Promised<ListedCalls> {
        let order = if reverse { Order::Reverse } else { Order::Forward };
        self.ask(move |journal| journal.list_run(&run_id, order, outline))
    }

    /// All runs, the earliest first, as JSON texts of arrays.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn list_runs(&self) -> Promised<Vec<String>> {
        self.ask(|journal| Ok(rows::texts(&journal.list_runs()?)))
    }

    /// At most `limit` rows written after the row with this number.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn tail(&self, after: i64, limit: f64) -> Promised<Vec<String>> {
        self.ask(move |journal| Ok(rows::texts(&journal.tail(after, limit.cross())?)))
    }

    /// These rows as they are now.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn rows(&self, numbers: Vec<i64>) -> Promised<Vec<String>> {
        self.ask(move |journal| Ok(rows::texts(&journal.rows(&numbers)?)))
    }

    /// The number of the last row.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Unfinished>")]
    pub fn last_row(&self) -> Promised<i64> {
        self.ask(Journal::last_row)
    }

    /// One call by its attempt and number, as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn find(&self, task: JournalTask, attempt: i64, seq: i64) -> Promised<Option<String>> {
        self.ask(move |journal| {
            let call = journal.find(&task.cross(), attempt, seq)?;
            Ok(call.as_ref().map(rows::text))
        })
    }

    /// The latest attempt of a task that made a call, and its highest sequence number.
    #[napi(catch_unwind, ts_return_type = "Promise<LastAttempt | null | Unfinished>")]
    pub fn last_attempt(&self, task: JournalTask) -> Promised<Option<LastAttempt>> {
        self.ask(move |journal| journal.last_attempt(&task.cross()))
    }

    /// The effects of earlier attempts that must not be repeated blindly.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Unfinished>")]
    pub fn prior_effects(&self, task: JournalTask, attempt: i64) -> Promised<Vec<String>> {
        self.ask(move |journal| Ok(rows::texts(&journal.prior_effects(&task.cross(), attempt)?)))
    }

    /// The identical call that succeeded last, as a JSON text.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Unfinished>")]
    pub fn recorded(
        &self,
        task: JournalTask,
        tool: String,
        args_hash: String,
        ordinal: i64,
    ) -> Promised<Option<String>> {
        self.ask(move |journal| {
            let recorded = journal.recorded(&task.cross(), &tool, &args_hash, ordinal)?;
            Ok(recorded.as_ref().map(rows::text))
        })
    }

    /// Claims a call, to undo it.
    #[napi(catch_unwind, ts_return_type = "Promise<RevertAnswer | Unfinished>")]
    pub fn claim_revert(&self, row: i64) -> Promised<RevertAnswer> {
        self.ask(move |journal| journal.claim_revert(row))
    }

    /// Records how undoing ended; false when the row has another status by now.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Unfinished>")]
    pub fn finish_revert(&self, row: i64, error_json: Option<String>) -> Promised<bool> {
        self.ask(move |journal| {
            journal.finish_revert(row, error_json.as_deref().map_or(Ok(()), Err))
        })
    }
}

convert! {
    Listed => ListedCalls: |listed| {
        ListedCalls { rows: rows::texts(&listed.calls), is_outline: listed.is_outline }
    };
    (i64, i64) => LastAttempt: |last| LastAttempt { attempt: last.0, seq: last.1 };
}

impl Cross<RevertAnswer> for Claim {
    fn cross(self) -> RevertAnswer {
        let answer = RevertAnswer::default();
        match self {
            Self::Won(call) => RevertAnswer { won: Some(rows::text(&*call)), ..answer },
            Self::Taken(status) => RevertAnswer { taken: Some(status), ..answer },
            Self::Nothing(why) => RevertAnswer { nothing: Some(why.to_owned()), ..answer },
        }
    }
}
