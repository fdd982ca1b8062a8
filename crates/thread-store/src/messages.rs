//! Messages: appended, numbered, never changed.

use rusqlite::{Connection, Row, ffi};
use serde::Serialize;
use toolwright_sqlite::clock::now_ms;

use crate::error::Failure;
use crate::names::check_id;
use crate::{Part, Store, ThreadError, threads};

/// A message to append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewMessage {
    /// Unique within its thread.
    pub id: String,
    /// Who speaks.
    pub role: String,
    /// The whole message, as JSON.
    pub body_json: String,
    /// The call that it is about.
    pub call_id: Option<String>,
}

/// A message in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// As it was appended.
    #[serde(flatten)]
    pub new: NewMessage,
    /// Its place: 1 for the first one.
    pub seq: i64,
    /// In milliseconds since 1970.
    pub created_at_ms: i64,
}

impl Store {
    /// Messages of a thread, in order.
    pub fn list_messages(&self, thread: &str, part: Part) -> Result<Vec<Message>, ThreadError> {
        let sql = format!(
            "SELECT id, seq, role, body, call_id, created_at_ms FROM thread_messages
             WHERE thread = ?1{}",
            part.clause()
        );
        self.read("listing messages", |connection| {
            let thread = threads::number(connection, thread)?;
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([thread], message_of)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) fn check_message(&self, message: &NewMessage) -> Result<(), ThreadError> {
        check_id("message id", &message.id)?;
        check_id("message role", &message.role)?;
        self.check_text("message", &message.body_json)
    }
}

pub(crate) fn append(
    connection: &Connection,
    thread: i64,
    new: &NewMessage,
) -> Result<Message, Failure> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO thread_messages (thread, seq, id, role, body, call_id, created_at_ms)
         VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM thread_messages WHERE thread = ?1),
             ?2, ?3, ?4, ?5, ?6)
         RETURNING id, seq, role, body, call_id, created_at_ms",
    )?;
    let parameters = (thread, &new.id, &new.role, &new.body_json, &new.call_id, now_ms());
    statement.query_row(parameters, message_of).map_err(|error| taken(error, "message", &new.id))
}

/// The error of an id that is taken.
pub(crate) fn taken(error: rusqlite::Error, what: &'static str, id: &str) -> Failure {
    match error.sqlite_error().map(|error| error.extended_code) {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE) => {
            Failure::Abort(ThreadError::Duplicate { what, id: id.to_owned() })
        }
        _ => Failure::Sql(error),
    }
}

fn message_of(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        new: NewMessage {
            id: row.get(0)?,
            role: row.get(2)?,
            body_json: row.get(3)?,
            call_id: row.get(4)?,
        },
        seq: row.get(1)?,
        created_at_ms: row.get(5)?,
    })
}
