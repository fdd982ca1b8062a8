//! The columns of `_smithers_tool_calls`, and how a row is read.
//!
//! The first twelve are the oldest table's, the next eleven came with smithers-orchestrator's side
//! effect journal; it names columns wherever it writes, so that ours, which are nullable and begin
//! with `tw_`, do not disturb it.

use rusqlite::{
    Row,
    types::{Value, ValueRef},
};

use crate::call::{Call, Status, TaskId};

/// The table.
pub(crate) const TABLE: &str = "_smithers_tool_calls";

/// A column's name, and how it is added to a table that lacks it.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `None` for a column that no table can lack.
    pub(crate) definition: Option<&'static str>,
}

const fn oldest(name: &'static str) -> Column {
    Column { name, definition: None }
}

const fn text(name: &'static str) -> Column {
    Column { name, definition: Some("TEXT") }
}

const fn integer(name: &'static str) -> Column {
    Column { name, definition: Some("INTEGER") }
}

/// In the order in which [`call`] reads them.
pub(crate) const COLUMNS: [Column; 29] = [
    oldest("run_id"),
    oldest("node_id"),
    oldest("iteration"),
    oldest("attempt"),
    oldest("seq"),
    oldest("tool_name"),
    oldest("input_json"),
    oldest("output_json"),
    oldest("started_at_ms"),
    oldest("finished_at_ms"),
    oldest("status"),
    oldest("error_json"),
    text("call_token"),
    text("kind"),
    integer("side_effect"),
    integer("idempotent"),
    integer("accepts_idempotency_key"),
    integer("has_revert"),
    text("idempotency_key"),
    text("revert_status"),
    integer("reverted_at_ms"),
    text("revert_error_json"),
    text("forced_past_json"),
    text("tw_args_hash"),
    integer("tw_ordinal"),
    integer("tw_output_bytes"),
    // 0 for a call that was refused before it did anything, otherwise null.
    integer("tw_acted"),
    // Who writes the row, and who undoes the call: rows of `_toolwright_owners`.
    integer("tw_owner"),
    integer("tw_revert_owner"),
];

/// How many of [`COLUMNS`] make up a [`Call`].
const READ: usize = 27;

/// What stands between `SELECT` and `FROM`; columns that are not `present` are read as null.
pub(crate) fn select_list(present: &[String]) -> String {
    let mut list = "rowid".to_owned();
    for column in COLUMNS.iter().take(READ) {
        list.push_str(", ");
        if !present.iter().any(|name| name == column.name) {
            list.push_str("NULL AS ");
        }
        list.push_str(column.name);
    }
    list
}

/// Reads a row selected by [`select_list`].
///
/// A column of `SQLite` holds values of any type, whatever it was declared as, and this journal may
/// have been written by others: a value of an unexpected type is read as near as can be.
pub(crate) fn call(row: &Row<'_>) -> rusqlite::Result<Call> {
    let status_text = text_at(row, 11)?.unwrap_or_default();
    Ok(Call {
        row: integer_at(row, 0)?.unwrap_or_default(),
        task: TaskId {
            run_id: text_at(row, 1)?.unwrap_or_default(),
            node_id: text_at(row, 2)?.unwrap_or_default(),
            iteration: integer_at(row, 3)?.unwrap_or_default(),
        },
        attempt: integer_at(row, 4)?.unwrap_or_default(),
        seq: integer_at(row, 5)?.unwrap_or_default(),
        tool_name: text_at(row, 6)?.unwrap_or_default(),
        input_json: text_at(row, 7)?,
        output_json: text_at(row, 8)?,
        started_at_ms: integer_at(row, 9)?.unwrap_or_default(),
        finished_at_ms: integer_at(row, 10)?,
        status: Status::of(&status_text),
        status_text,
        error_json: text_at(row, 12)?,
        call_token: text_at(row, 13)?,
        kind: text_at(row, 14)?,
        side_effect: flag_at(row, 15)?,
        idempotent: flag_at(row, 16)?,
        accepts_idempotency_key: flag_at(row, 17)?,
        has_revert: flag_at(row, 18)?,
        idempotency_key: text_at(row, 19)?,
        revert_status: text_at(row, 20)?,
        reverted_at_ms: integer_at(row, 21)?,
        revert_error_json: text_at(row, 22)?,
        forced_past_json: text_at(row, 23)?,
        args_hash: text_at(row, 24)?,
        ordinal: integer_at(row, 25)?,
        output_bytes: integer_at(row, 26)?,
        acted: flag_at(row, 27)? != Some(false),
    })
}

pub(crate) fn text_at(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}

pub(crate) fn integer_at(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Integer(number) => Some(number),
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and no clock gets there")]
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    })
}

fn flag_at(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<bool>> {
    Ok(integer_at(row, index)?.map(|number| number != 0))
}

/// For a statement whose parameters are made up at run time.
pub(crate) fn integers(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().map(|number| Value::Integer(*number)).collect()
}
