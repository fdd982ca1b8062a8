//! Reading what was recorded.

use rusqlite::{Connection, OptionalExtension, Params};
use serde::Serialize;

use crate::columns::{self, TABLE, integer_at, text_at};
use crate::{Call, Journal, JournalError, TaskId};

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

/// Calls as they were recorded, or their outlines: without outputs, and without arguments and errors that
/// are long. [`Journal::rows`] gives the whole rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The calls.
    pub calls: Vec<Call>,
    /// Whether they are outlines.
    pub is_outline: bool,
}

/// The most bytes of whole rows that one answer holds. Thousands of calls may have given 200 KB each.
pub const MAX_ANSWER_BYTES: usize = 32 << 20;

impl Journal {
    /// The calls of a task, by attempt and sequence number. As outlines if asked for, and where the rows
    /// have more than [`MAX_ANSWER_BYTES`].
    pub fn list(&self, task: &TaskId, outline: bool) -> Result<Listed, JournalError> {
        self.listed(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 ORDER BY attempt, seq",
            &(&task.run_id, &task.node_id, task.iteration),
            outline,
        )
    }

    /// The calls of a run, by the time they began; at the same time by attempt, sequence number and
    /// task. The reverse is exactly the other way round. Outlines as for [`Journal::list`].
    pub fn list_run(
        &self,
        run_id: &str,
        order: Order,
        outline: bool,
    ) -> Result<Listed, JournalError> {
        let clause = match order {
            Order::Forward => {
                "WHERE run_id = ?1 ORDER BY started_at_ms, attempt, seq, node_id, iteration"
            }
            Order::Reverse => {
                "WHERE run_id = ?1 ORDER BY started_at_ms DESC, attempt DESC, seq DESC,
                     node_id DESC, iteration DESC"
            }
        };
        self.listed(clause, &(run_id,), outline)
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
        // Texts of numbers alone: nothing can fail.
        let numbers = serde_json::to_string(numbers).unwrap_or_default();
        self.calls("WHERE rowid IN (SELECT value FROM json_each(?1)) ORDER BY rowid", &(numbers,))
    }

    /// One call by its place.
    pub fn find(
        &self,
        task: &TaskId,
        attempt: i64,
        seq: i64,
    ) -> Result<Option<Call>, JournalError> {
        let calls = self.calls(
            "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 AND attempt = ?4 AND seq = ?5",
            &(&task.run_id, &task.node_id, task.iteration, attempt, seq),
        )?;
        Ok(calls.into_iter().next())
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

    /// The calls for which `clause` (never made from a caller's text) holds.
    pub(crate) fn calls(
        &self,
        clause: &str,
        parameters: &(impl Params + Clone),
    ) -> Result<Vec<Call>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.columns);
        self.read("reading calls", |connection| calls_of(connection, &sql, parameters.clone()))
    }

    /// The outlines for which `clause` (never made from a caller's text) holds.
    pub(crate) fn outlines(
        &self,
        clause: &str,
        parameters: &(impl Params + Clone),
    ) -> Result<Vec<Call>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.outline_columns);
        self.read("reading calls", |connection| calls_of(connection, &sql, parameters.clone()))
    }

    fn listed(
        &self,
        clause: &str,
        parameters: &(impl Params + Clone),
        outline: bool,
    ) -> Result<Listed, JournalError> {
        if !outline && let Some(calls) = self.calls_within_limit(clause, parameters)? {
            return Ok(Listed { calls, is_outline: false });
        }
        Ok(Listed { calls: self.outlines(clause, parameters)?, is_outline: true })
    }

    /// `None` where the rows have more than [`MAX_ANSWER_BYTES`].
    fn calls_within_limit(
        &self,
        clause: &str,
        parameters: &(impl Params + Clone),
    ) -> Result<Option<Vec<Call>>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.columns);
        self.read("reading calls", |connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut bytes = 0;
            statement
                .query_map(parameters.clone(), columns::call)?
                .take_while(|call| {
                    bytes += call.as_ref().map_or(0, Call::bytes);
                    bytes <= MAX_ANSWER_BYTES
                })
                .collect::<rusqlite::Result<Vec<_>>>()
                .map(|calls| (bytes <= MAX_ANSWER_BYTES).then_some(calls))
        })
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
