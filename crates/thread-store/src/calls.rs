//! Calls: queued, begun, finished. The order of a queue is the order of its numbers.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;
use toolwright_sqlite::clock::{now_ms, now_us};

use crate::error::Failure;
use crate::messages::taken;
use crate::names::check_id;
use crate::{Part, Store, ThreadError, threads};

/// A call to queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewCall {
    /// Unique within its thread.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments_json: String,
    /// Which queue of the thread.
    pub queue: String,
    /// Whether it runs although the prompt does not list the tool.
    pub force_allow: bool,
    /// The call that queued it.
    pub parent_call_id: Option<String>,
    /// What else the host wants to find again.
    pub info_json: Option<String>,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waits for a worker.
    Queued,
    /// A worker has begun it.
    Running,
    /// Ended well.
    Success,
    /// Ended otherwise.
    Error,
    /// Taken back, before it ran or while it did.
    Cancelled,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndStatus {
    /// Well.
    Success,
    /// Otherwise.
    Error,
    /// Stopped by its caller.
    Cancelled,
}

impl EndStatus {
    /// By its word; any other word is an error.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        match word {
            "success" => Self::Success,
            "cancelled" => Self::Cancelled,
            _ => Self::Error,
        }
    }
}

impl Status {
    /// By its word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Running, Self::Success, Self::Error, Self::Cancelled];
        all.into_iter().find(|status| status.word() == word)
    }

    /// As it is written in the table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl From<EndStatus> for Status {
    fn from(end: EndStatus) -> Self {
        match end {
            EndStatus::Success => Self::Success,
            EndStatus::Error => Self::Error,
            EndStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// The end of a call that runs.
#[derive(Debug, Clone)]
pub struct CallEnd {
    /// Which call.
    pub call_id: String,
    /// How it ended.
    pub status: EndStatus,
    /// Its result.
    pub result_json: String,
}

/// A call in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// As it was queued.
    #[serde(flatten)]
    pub new: NewCall,
    /// Its place among all calls of the thread.
    pub seq: i64,
    /// How it stands: a word of [`Status`].
    pub status: String,
    /// How often it was begun.
    pub attempts: i64,
    /// Its result.
    pub result_json: Option<String>,
    /// In microseconds since 1970.
    pub queued_at_us: i64,
    /// When it was begun last, in milliseconds since 1970.
    pub started_at_ms: Option<i64>,
    /// In milliseconds since 1970.
    pub finished_at_ms: Option<i64>,
}

/// Which calls.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// Of this status alone.
    pub status: Option<Status>,
    /// Of this queue alone.
    pub queue: Option<String>,
}

const COLUMNS: &str = "id, seq, name, arguments, queue, force_allow, parent_call_id, info, status,
    attempts, result, queued_at_us, started_at_ms, finished_at_ms";

impl Store {
    /// A call, however it stands.
    pub fn get_call(&self, thread: &str, call_id: &str) -> Result<Option<Call>, ThreadError> {
        self.read("reading a call", |connection| {
            let thread = threads::number(connection, thread)?;
            Ok(find(connection, thread, call_id)?)
        })
    }

    /// Calls of a thread by their numbers.
    pub fn list_calls(
        &self,
        thread: &str,
        filter: &CallFilter,
        part: Part,
    ) -> Result<Vec<Call>, ThreadError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM thread_calls
             WHERE thread = :thread AND (:status IS NULL OR status = :status)
                 AND (:queue IS NULL OR queue = :queue){}",
            part.clause()
        );
        self.read("listing calls", |connection| {
            let thread = threads::number(connection, thread)?;
            let status = filter.status.map(Status::word);
            let mut statement = connection.prepare(&sql)?;
            let parameters =
                named_params! { ":thread": thread, ":status": status, ":queue": filter.queue };
            let rows = statement.query_map(parameters, call_of)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Takes back what is queued, of one queue or of all, and gives it.
    pub fn cancel_queued(
        &self,
        thread: &str,
        queue: Option<&str>,
    ) -> Result<Vec<Call>, ThreadError> {
        self.write("cancelling calls", |connection| {
            let thread = threads::number(connection, thread)?;
            let mut statement = connection.prepare_cached(&format!(
                "UPDATE thread_calls SET status = 'cancelled', finished_at_ms = :now
                 WHERE thread = :thread AND status = 'queued'
                     AND (:queue IS NULL OR queue = :queue)
                 RETURNING {COLUMNS}"
            ))?;
            let parameters = named_params! { ":now": now_ms(), ":thread": thread, ":queue": queue };
            let rows = statement.query_map(parameters, call_of)?;
            let mut calls: Vec<Call> = rows.collect::<rusqlite::Result<_>>()?;
            calls.sort_unstable_by_key(|call| call.seq);
            Ok(calls)
        })
    }

    /// The calls that run. Asked by whoever has just got the right to work on the thread, these are
    /// the calls whose worker died.
    pub fn interrupted(&self, thread: &str) -> Result<Vec<Call>, ThreadError> {
        self.read("listing calls", |connection| {
            let thread = threads::number(connection, thread)?;
            // By the index of those that run: there are few, however many have ended.
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM thread_calls
                 WHERE thread = ?1 AND status = 'running' ORDER BY seq"
            ))?;
            let rows = statement.query_map([thread], call_of)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) fn check_call(&self, call: &NewCall) -> Result<(), ThreadError> {
        check_id("call id", &call.id)?;
        check_id("tool name", &call.name)?;
        check_id("queue", &call.queue)?;
        self.check_text("arguments", &call.arguments_json)?;
        call.info_json.as_ref().map_or(Ok(()), |info| self.check_text("info", info))
    }
}

pub(crate) fn enqueue(
    connection: &Connection,
    thread: i64,
    new: &NewCall,
) -> Result<Call, Failure> {
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO thread_calls (thread, seq, id, name, arguments, queue, force_allow,
             parent_call_id, info, status, attempts, queued_at_us)
         VALUES (:thread,
             (SELECT coalesce(max(seq), 0) + 1 FROM thread_calls WHERE thread = :thread),
             :id, :name, :arguments, :queue, :force, :parent, :info, 'queued', 0, :now)
         RETURNING {COLUMNS}"
    ))?;
    let parameters = named_params! {
        ":thread": thread,
        ":id": new.id,
        ":name": new.name,
        ":arguments": new.arguments_json,
        ":queue": new.queue,
        ":force": new.force_allow,
        ":parent": new.parent_call_id,
        ":info": new.info_json,
        ":now": now_us(),
    };
    statement.query_row(parameters, call_of).map_err(|error| taken(error, "call", &new.id))
}

/// Begins the next call of a queue.
pub(crate) fn claim_next(
    connection: &Connection,
    thread: i64,
    queue: &str,
) -> rusqlite::Result<Option<Call>> {
    connection
        .prepare_cached(&format!(
            "UPDATE thread_calls SET status = 'running', attempts = attempts + 1,
                 started_at_ms = :now
             WHERE thread = :thread AND seq = (
                 SELECT seq FROM thread_calls
                 WHERE thread = :thread AND queue = :queue AND status = 'queued'
                 ORDER BY seq LIMIT 1)
             RETURNING {COLUMNS}"
        ))?
        .query_row(named_params! { ":now": now_ms(), ":thread": thread, ":queue": queue }, call_of)
        .optional()
}

/// Moves one call from one status to the next.
pub(crate) fn change(
    connection: &Connection,
    (thread_id, thread): (&str, i64),
    call_id: &str,
    from: Status,
    set: &str,
) -> Result<Call, Failure> {
    let changed = connection
        .prepare(&format!(
            "UPDATE thread_calls SET {set}
             WHERE thread = ?1 AND id = ?2 AND status = ?3 RETURNING {COLUMNS}"
        ))?
        .query_row((thread, call_id, from.word()), call_of)
        .optional()?;
    match changed {
        Some(call) => Ok(call),
        None => Err(not_so(connection, (thread_id, thread), call_id, from.word())),
    }
}

/// Writes the end of a call that runs.
pub(crate) fn finish(
    connection: &Connection,
    (thread_id, thread): (&str, i64),
    end: &CallEnd,
) -> Result<(), Failure> {
    let changed = connection
        .prepare_cached(
            "UPDATE thread_calls SET status = ?1, result = ?2, finished_at_ms = ?3
             WHERE thread = ?4 AND id = ?5 AND status = 'running'",
        )?
        .execute((
            Status::from(end.status).word(),
            &end.result_json,
            now_ms(),
            thread,
            &end.call_id,
        ))?;
    if changed == 1 {
        return Ok(());
    }
    Err(not_so(connection, (thread_id, thread), &end.call_id, Status::Running.word()))
}

fn not_so(
    connection: &Connection,
    (thread_id, thread): (&str, i64),
    call_id: &str,
    expected: &'static str,
) -> Failure {
    let call = call_id.to_owned();
    match find(connection, thread, call_id) {
        Ok(Some(existing)) => {
            ThreadError::CallState { call, status: existing.status, expected }.into()
        }
        Ok(None) => ThreadError::NoCall { thread: thread_id.to_owned(), call }.into(),
        Err(error) => error.into(),
    }
}

fn find(connection: &Connection, thread: i64, call_id: &str) -> rusqlite::Result<Option<Call>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM thread_calls WHERE thread = ?1 AND id = ?2"
        ))?
        .query_row((thread, call_id), call_of)
        .optional()
}

fn call_of(row: &Row<'_>) -> rusqlite::Result<Call> {
    Ok(Call {
        new: NewCall {
            id: row.get(0)?,
            name: row.get(2)?,
            arguments_json: row.get(3)?,
            queue: row.get(4)?,
            force_allow: row.get(5)?,
            parent_call_id: row.get(6)?,
            info_json: row.get(7)?,
        },
        seq: row.get(1)?,
        status: row.get(8)?,
        attempts: row.get(9)?,
        result_json: row.get(10)?,
        queued_at_us: row.get(11)?,
        started_at_ms: row.get(12)?,
        finished_at_ms: row.get(13)?,
    })
}
