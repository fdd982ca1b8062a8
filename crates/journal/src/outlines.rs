//! Outlines: rows without what makes them large, for long histories.
//!
//! Thousands of calls of an attempt may have given 200 KB each. To warn of them, undo them or count them
//! needs none of that, and [`Journal::rows`] has the outputs of those that are wanted.

use crate::columns::TABLE;
use crate::queries::{calls_of, run_clause};
use crate::{Call, Journal, JournalError, Order, TaskId};

/// The most bytes of whole rows that one answer holds.
pub const MAX_ANSWER_BYTES: usize = 32 << 20;

impl Journal {
    /// As [`Journal::list`], without outputs, and without arguments and errors that are long.
    pub fn outline(&self, task: &TaskId) -> Result<Vec<Call>, JournalError> {
        self.outlines(TASK, &(&task.run_id, &task.node_id, task.iteration))
    }

    /// As [`Journal::list_run`], without outputs, and without arguments and errors that are long.
    pub fn outline_run(&self, run_id: &str, order: Order) -> Result<Vec<Call>, JournalError> {
        self.outlines(run_clause(order), &(run_id,))
    }

    /// As [`Journal::list`], or `None` where that would be more than [`MAX_ANSWER_BYTES`].
    pub fn list_small(&self, task: &TaskId) -> Result<Option<Vec<Call>>, JournalError> {
        self.calls_within(TASK, &(&task.run_id, &task.node_id, task.iteration))
    }

    /// As [`Journal::list_run`], or `None` where that would be more than [`MAX_ANSWER_BYTES`].
    pub fn list_run_small(
        &self,
        run_id: &str,
        order: Order,
    ) -> Result<Option<Vec<Call>>, JournalError> {
        self.calls_within(run_clause(order), &(run_id,))
    }

    /// The outlines for which `clause` (never made from a caller's text) holds.
    pub(crate) fn outlines(
        &self,
        clause: &str,
        parameters: &(impl rusqlite::Params + Clone),
    ) -> Result<Vec<Call>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.outline_columns);
        self.read("reading calls", |connection| calls_of(connection, &sql, parameters.clone()))
    }

    fn calls_within(
        &self,
        clause: &str,
        parameters: &(impl rusqlite::Params + Clone),
    ) -> Result<Option<Vec<Call>>, JournalError> {
        let sql = format!("SELECT {} FROM {TABLE} {clause}", self.columns);
        self.read("reading calls", |connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(parameters.clone())?;
            let (mut calls, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let call = crate::columns::call(row)?;
                bytes += call.bytes();
                if bytes > MAX_ANSWER_BYTES {
                    return Ok(None);
                }
                calls.push(call);
            }
            Ok(Some(calls))
        })
    }
}

pub(crate) const TASK: &str =
    "WHERE run_id = ?1 AND node_id = ?2 AND iteration = ?3 ORDER BY attempt, seq";
