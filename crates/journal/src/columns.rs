//! The columns of `_smithers_tool_calls`, and how a row is read.
//!
//! The oldest table has the first twelve. The next eleven came with the side-effect journal of
//! smithers-orchestrator. Ours are nullable and begin with `tw_`; they do not disturb that program, which
//! names columns wherever it writes.

use rusqlite::Row;
use rusqlite::types::ValueRef;

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
pub(crate) const COLUMNS: [Column; 31] = [
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
    // 0 for a call that was refused before it did anything, else null.
    integer("tw_acted"),
    // What the call has made known of files: see the crate `toolwright-ledger`.
    text("tw_seen"),
    // The writer of the row, and the one that undoes the call: rows of `_toolwright_owners`.
    integer("tw_owner"),
    integer("tw_revert_owner"),
    // The identity of a call that was claimed by an id from outside.
    text("tw_call_id"),
];

/// The longest arguments and errors of an outline.
const MAX_OUTLINE_BYTES: usize = 64 << 10;
/// The number of [`COLUMNS`] that a [`Call`] has.
const READ: usize = 28;

/// The columns to select; those that are not `present` are read as null. An outline leaves out what is
/// long: see [`Journal::list`](crate::Journal::list). One more column says whether the output was cut.
pub(crate) fn select_list(present: &[String], outline: bool) -> String {
    let has = |name: &str| present.iter().any(|column| column == name);
    let output_bytes = if has("tw_output_bytes") { "tw_output_bytes" } else { "NULL" };
    let mut list = "rowid".to_owned();
    for column in COLUMNS.iter().take(READ) {
        let expression = match column.name {
            "output_json" if outline => "NULL".to_owned(),
            "input_json" if outline => format!(
                "CASE WHEN octet_length(input_json) <= {MAX_OUTLINE_BYTES} THEN input_json END"
            ),
            "error_json" if outline => format!(
                "CASE WHEN octet_length(error_json) <= {MAX_OUTLINE_BYTES} THEN error_json
                     WHEN json_valid(error_json) THEN json_object(
                         'name', json_extract(error_json, '$.name'),
                         'code', json_extract(error_json, '$.code'),
                         'message', substr(coalesce(json_extract(error_json, '$.summary'),
                             json_extract(error_json, '$.message'), ''), 1, 1000)) END"
            ),
            "tw_output_bytes" if outline => {
                format!("coalesce({output_bytes}, octet_length(output_json))")
            }
            name if has(name) => name.to_owned(),
            _ => "NULL".to_owned(),
        };
        for part in [", ", &expression, " AS ", column.name] {
            list.push_str(part);
        }
    }
    list + &format!(", coalesce({output_bytes} > coalesce(octet_length(output_json), 0), 0)")
}

/// Reads a row selected by [`select_list`].
///
/// A column of `SQLite` holds values of any type, whatever its declaration says, and other programs may
/// have written this journal. A value of an unexpected type is converted as well as possible.
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
        seen: text_at(row, 28)?,
        is_cut: flag_at(row, READ + 1)? == Some(true),
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
