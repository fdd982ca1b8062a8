//! The statements that write a call. Each is prepared once for a connection and kept.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, ffi, params};

use crate::JournalError;
use crate::call::{CallRef, Finish, Intent, Outcome, Status};
use crate::fitted::{Fitted, fit_json};
use crate::keys::task_hash;

/// The columns of an outcome, cut to the limit.
#[derive(Debug)]
pub(crate) struct End {
    status: &'static str,
    output: Option<Fitted>,
    error: Option<Fitted>,
    acted: Option<bool>,
    finished_at_ms: i64,
    seen: Option<String>,
    key_read: bool,
}

impl End {
    pub(crate) fn new(finish: Finish, limit: usize) -> Self {
        let limit = if finish.whole { usize::MAX } else { limit };
        let fit = |json: Option<String>| json.map(|json| fit_json(json, limit));
        let Finish { outcome, finished_at_ms, seen, key_read, .. } = finish;
        let (status, output, error, acted) = match outcome {
            Outcome::Success(json) => ("success", fit(json), None, None),
            Outcome::Error(json) => ("error", None, fit(json), None),
            Outcome::Rejected(json) => ("error", None, fit(json), Some(false)),
            Outcome::Unknown(json) => ("unknown", None, fit(json), None),
        };
        Self { status, output, error, acted, finished_at_ms, seen, key_read }
    }

    fn output_bytes(&self) -> Option<i64> {
        self.output.as_ref().map(|output| i64::try_from(output.bytes).unwrap_or(i64::MAX))
    }

    /// The number of bytes in its texts.
    pub(crate) fn len(&self) -> usize {
        let length = |text: &Option<Fitted>| text.as_ref().map_or(0, |text| text.json.len());
        length(&self.output) + length(&self.error) + self.seen.as_ref().map_or(0, String::len)
    }
}

/// What a statement did to its row. The outer error is that of the database, which ends the transaction;
/// the inner one is that of the row alone.
pub(crate) type Written = rusqlite::Result<Result<i64, JournalError>>;

/// Writes a call that begins, or with `end` one that is over. Returns the number of the row.
pub(crate) fn insert(
    connection: &Connection,
    path: &Path,
    intent: &Intent,
    owner: Option<i64>,
    end: Option<&End>,
) -> Written {
    let token = intent.call_token.as_deref();
    let inserted = match insert_with(connection, intent, token, owner, end) {
        Err(error) if is_constraint(&error, ffi::SQLITE_CONSTRAINT_UNIQUE) => {
            // The hash of the task, because ids may hold any delimiter.
            let (token, task) = (token.unwrap_or_default(), task_hash(&intent.task));
            let unique = format!("{token} {task}/{}/{}", intent.attempt, intent.seq);
            insert_with(connection, intent, Some(&unique), owner, end)
        }
        other => other,
    };
    match inserted {
        Ok(()) => Ok(Ok(connection.last_insert_rowid())),
        Err(error) if is_taken(&error) => Ok(Err(JournalError::Duplicate {
            path: path.to_owned(),
            call: format!(
                "attempt {}, call {} of task `{}` in run `{}`",
                intent.attempt, intent.seq, intent.task.node_id, intent.task.run_id
            ),
        })),
        Err(error) => Err(error),
    }
}

fn insert_with(
    connection: &Connection,
    intent: &Intent,
    token: Option<&str>,
    owner: Option<i64>,
    end: Option<&End>,
) -> rusqlite::Result<()> {
    // By position: `SQLite` would search for each name among all names.
    connection
        .prepare_cached(
            "INSERT INTO _smithers_tool_calls (run_id, node_id, iteration, attempt, seq,
                 call_token, tool_name, input_json, output_json, started_at_ms, finished_at_ms,
                 status, error_json, side_effect, idempotent, accepts_idempotency_key,
                 has_revert, idempotency_key, tw_args_hash, tw_ordinal, tw_output_bytes, tw_acted,
                 tw_owner, kind, tw_seen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22, ?23, 'tool', ?24)",
        )?
        .execute(params![
            intent.task.run_id,
            intent.task.node_id,
            intent.task.iteration,
            intent.attempt,
            intent.seq,
            token,
            intent.tool_name,
            intent.input_json,
            end.and_then(|end| end.output.as_ref()).map(|output| &output.json),
            intent.started_at_ms,
            end.map(|end| end.finished_at_ms),
            end.map_or("started", |end| end.status),
            end.and_then(|end| end.error.as_ref()).map(|error| &error.json),
            intent.side_effect,
            intent.idempotent,
            intent.accepts_idempotency_key || end.is_some_and(|end| end.key_read),
            intent.has_revert,
            intent.idempotency_key,
            intent.args_hash,
            intent.ordinal,
            end.and_then(End::output_bytes),
            end.and_then(|end| end.acted),
            owner,
            end.and_then(|end| end.seen.as_ref()),
        ])
        .map(drop)
}

/// Writes the outcome of a call that began. An unknown outcome may still be replaced by the true one; a
/// known outcome never is. If the call was undone before it ended, the undoing becomes `revert-stale`, as
/// smithers-orchestrator calls it.
pub(crate) fn finish(connection: &Connection, path: &Path, call: CallRef, end: &End) -> Written {
    // `SQLite` would build an index in memory for `IN` with three values, at each call.
    let changed = connection
        .prepare_cached(
            "UPDATE _smithers_tool_calls SET status = ?1, output_json = ?2, error_json = ?3,
                 finished_at_ms = ?4, tw_output_bytes = ?5, tw_acted = ?6, tw_seen = ?11,
                 accepts_idempotency_key = CASE WHEN ?12 THEN 1 ELSE accepts_idempotency_key END,
                 revert_status = CASE WHEN revert_status IN ('reverting', 'reverted')
                     THEN 'revert-stale' ELSE revert_status END
             WHERE rowid = ?7 AND attempt = ?8 AND seq = ?9 AND started_at_ms = ?10
                 AND (status = 'started' OR status = 'intended' OR status = 'unknown')",
        )?
        .execute(params![
            end.status,
            end.output.as_ref().map(|output| &output.json),
            end.error.as_ref().map(|error| &error.json),
            end.finished_at_ms,
            end.output_bytes(),
            end.acted,
            call.row,
            call.attempt,
            call.seq,
            call.started_at_ms,
            end.seen,
            end.key_read,
        ])?;
    if changed > 0 {
        return Ok(Ok(call.row));
    }
    let status: Option<String> = connection
        .prepare_cached(
            "SELECT status FROM _smithers_tool_calls
             WHERE rowid = ?1 AND attempt = ?2 AND seq = ?3 AND started_at_ms = ?4",
        )?
        .query_row((call.row, call.attempt, call.seq, call.started_at_ms), |row| {
            crate::columns::text_at(row, 0)
        })
        .optional()?
        .flatten();
    let path = path.to_owned();
    Ok(Err(match status {
        Some(status) if Status::of(&status) != Status::Started => {
            JournalError::Finished { path, row: call.row, status }
        }
        _ => JournalError::Missing { path, row: call.row },
    }))
}

/// Writes that a call which runs has read its idempotency key. One that has ended stays as it is.
pub(crate) fn note_key_read(connection: &Connection, call: CallRef) -> Written {
    connection
        .prepare_cached(
            "UPDATE _smithers_tool_calls SET accepts_idempotency_key = 1
             WHERE rowid = ?1 AND attempt = ?2 AND seq = ?3 AND started_at_ms = ?4
                 AND status IN ('started', 'intended')",
        )?
        .execute((call.row, call.attempt, call.seq, call.started_at_ms))?;
    Ok(Ok(call.row))
}

/// Whether another row has the key, or the token.
fn is_taken(error: &rusqlite::Error) -> bool {
    is_constraint(error, ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
        || is_constraint(error, ffi::SQLITE_CONSTRAINT_UNIQUE)
}

fn is_constraint(error: &rusqlite::Error, extended: i32) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(code, _) if code.extended_code == extended)
}
