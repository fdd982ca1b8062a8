//! Reading what was recorded.

use rusqlite::{Connection, OptionalExtension, Params};
use serde::Serialize;

use crate::columns::{self, TABLE, integer_at, integers, text_at};
use crate::outlines::TASK;
use crate::{Call, CallRef, Journal, JournalError, TaskId};

/// A run in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// The run.
    pub run_id: String,
    /// Its calls.
    pub calls: i64,
    /// Of these, without an outcome yet.
    pub started: i64,
    /// Of these, successful.
    pub succeeded: i64,
    /// Of these, failed.
    pub failed: i64,
    /// When the first call began.
    pub started_at_ms: i64,
    /// When the last call ended, as far as it is known.
    pub finished_at_ms: Option<i64>,
}

/// In which direction a run is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As it happened.
    Forward,
    /// The last call first, as it is undone.
    Reverse,
}

/// The most rows of one statement.
const MAX_ROWS: usize = 500;

impl Journal {
    /// The calls of a task, by attempt and sequence number.
    pub fn list(&self, task: &TaskId) -> Result<Vec<Call>, JournalError> {
        self.calls(TASK, &(&task.run_id, &task.node_id, task.iteration))
    }

    /// The calls of a run, by the time they began; at the same time by attempt, sequence number and
    /// task. The reverse is exactly the other way round.
    pub fn list_run(&self, run_id: &str, order: Order) -> Result<Vec<Call>, JournalError> {
        self.calls(run_clause(order), &(run_id,))
    }

    /// All runs, the earliest first.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, JournalError> {
        self.read("listing runs", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT run_id, count(*), sum(status IN ('started', 'intended')),
                     sum(status IN ('success', 'succeeded')), sum(status = 'error'),
                     min(started_at_ms), max(finished_at_ms)
                 FROM _smithers_tool_calls GROUP BY run_id ORDER BY min(started_at_ms), run_id",
            )?;
            let rows = statement.query_map([], |row| {
                let number = |index| integer_at(row, index).map(Option::unwrap_or_default);
                Ok(RunSummary {
                    run_id: text_at(row, 0)?.unwrap_or_default(),
                    calls: number(1)?,
                    started: number(2)?,
                    succeeded: number(3)?,
                    failed: number(4)?,
                    started_at_ms: number(5)?,
                    finished_at_ms: integer_at(row, 6)?,
                })
            })?;
            rows.collect()
        })
    }

    /// At most `limit` rows written after the row with this number (0: from the beginning), in the
    /// order in which they were written. To follow a journal, ask again from the last row got, and
    /// look with [`Journal::rows`] at those that had no outcome yet.
    pub fn tail(&self, after: i64, limit: usize) -> Result<Vec<Call>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.calls("WHERE rowid > ?1 ORDER BY rowid LIMIT ?2", &(after, limit))
    }

    /// The number of the last row, 0 for an empty journal.
    pub fn last_row(&self) -> Result<i64, JournalError> {
        self.read("reading", |connection| {
            connection.query_row(
                "SELECT coalesce(max(rowid), 0) FROM _smithers_tool_calls",
                [],
                |row| row.get(0),
            )
        })
    }

    /// These rows as they are now, in the order of their numbers; those that are gone are left out.
    pub fn rows(&self, numbers: &[i64]) -> Result<Vec<Call>, JournalError> {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        let mut calls = Vec::with_capacity(numbers.len());
        for some in sorted.chunks(MAX_ROWS) {
            let marks = vec!["?"; some.len()].join(", ");
            let these = format!("WHERE rowid IN ({marks}) ORDER BY rowid");
            calls.extend(self.calls(&these, &rusqlite::params_from_iter(integers(some)))?);
        }
        Ok(calls)
    }

    /// One call by its place.
    pub fn find(
        &self,
        task: &TaskId,
        attempt: i64,
        seq: i64,
    ) -> Result<Option<Call>, JournalError> {
        let found = self.calls(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt = ?4 AND seq = ?5",
            &(&task.run_id, &task.node_id, task.iteration, attempt, seq),
        )?;
        Ok(found.into_iter().next())
    }

    /// The latest attempt of a task that made a call, and the highest sequence number of its calls.
    pub fn last_attempt(&self, task: &TaskId) -> Result<Option<(i64, i64)>, JournalError> {
        self.read("reading a task", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT attempt, seq FROM _smithers_tool_calls
                 WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3
                 ORDER BY attempt DESC, seq DESC LIMIT 1",
            )?;
            statement
                .query_row((&task.run_id, &task.node_id, task.iteration), |row| {
                    Ok((
                        integer_at(row, 0)?.unwrap_or_default(),
                        integer_at(row, 1)?.unwrap_or_default(),
                    ))
                })
                .optional()
        })
    }

    /// The whole row, if its arguments have to be hashed.
    pub(crate) fn whole_if_needed(&self, outline: Call) -> Result<Call, JournalError> {
        if outline.args_hash.is_some() || outline.input_json.is_some() {
            return Ok(outline);
        }
        Ok(self.rows(&[outline.row])?.pop().unwrap_or(outline))
    }

    /// What identifies the row of a call for its outcome, by the call's place.
    pub fn reference(
        &self,
        task: &TaskId,
        attempt: i64,
        seq: i64,
    ) -> Result<Option<CallRef>, JournalError> {
        Ok(self.find(task, attempt, seq)?.map(|call| call.reference()))
    }

    /// The calls for which `clause` (never made from a caller's text) holds.
    pub(crate) fn calls(
        &self,
        clause: &str,
        parameters: &(impl Params + Clone),
    ) -> Result<Vec<Call>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.columns);
        self.read("reading calls", |connection| calls_of(connection, &sql, parameters.clone()))
    }
}

pub(crate) fn run_clause(order: Order) -> &'static str {
    match order {
        Order::Forward => {
            "WHERE run_id = ?1 ORDER BY started_at_ms, attempt, seq, node_id, iteration"
        }
        Order::Reverse => {
            "WHERE run_id = ?1 ORDER BY started_at_ms DESC, attempt DESC, seq DESC,
                 node_id DESC, iteration DESC"
        }
    }
}

/// Runs a statement that selects [`columns::select_list`].
pub(crate) fn calls_of(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> rusqlite::Result<Vec<Call>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(parameters, columns::call)?.collect()
}
