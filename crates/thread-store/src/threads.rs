//! Threads themselves.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use toolwright_sqlite::clock::now_ms;

use crate::error::Failure;
use crate::names::check_id;
use crate::store::Shared;
use crate::{Store, ThreadError};

/// A thread in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id.
    pub thread_id: String,
    /// The flow it belongs to.
    pub flow_id: String,
    /// In milliseconds since 1970.
    pub created_at_ms: i64,
}

impl Store {
    /// The thread with this id; created where there is none, with this flow.
    pub fn open_thread(&self, thread_id: &str, flow_id: &str) -> Result<Thread, ThreadError> {
        check_id("thread id", thread_id)?;
        check_id("flow id", flow_id)?;
        if let Some(thread) = self.get_thread(thread_id)? {
            self.database.check_writable()?;
            return Ok(thread);
        }
        self.write("creating a thread", |connection| {
            connection.execute(
                "INSERT INTO threads (thread_id, flow_id, created_at_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT (thread_id) DO NOTHING",
                (thread_id, flow_id, now_ms()),
            )?;
            Ok(find(connection, thread_id)?)
        })?
        .ok_or_else(|| no_thread(thread_id))
    }

    /// The thread, if there is one.
    pub fn get_thread(&self, thread_id: &str) -> Result<Option<Thread>, ThreadError> {
        self.read("reading a thread", |connection| Ok(find(connection, thread_id)?))
    }

    /// All threads by the time they were created.
    pub fn list_threads(&self) -> Result<Vec<Thread>, ThreadError> {
        self.read("listing threads", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT thread_id, flow_id, created_at_ms FROM threads ORDER BY id",
            )?;
            let threads = statement.query_map([], thread_of)?.collect::<rusqlite::Result<_>>()?;
            Ok(threads)
        })
    }

    /// Removes a thread and everything in it. False if it does not exist.
    pub fn delete_thread(self: &Shared, thread_id: &str) -> Result<bool, ThreadError> {
        let _worker = match self.lock_thread(thread_id) {
            Ok(worker) => worker,
            Err(ThreadError::NoThread { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.write("deleting a thread", |connection| {
            let Some(id) = row_of(connection, thread_id)? else { return Ok(false) };
            for table in
                ["thread_values", "thread_messages", "thread_calls", "file_chunks", "files"]
            {
                connection.execute(&format!("DELETE FROM {table} WHERE thread = ?1"), [id])?;
            }
            connection.execute("DELETE FROM threads WHERE id = ?1", [id])?;
            Ok(true)
        })
    }
}

fn find(connection: &Connection, thread_id: &str) -> rusqlite::Result<Option<Thread>> {
    connection
        .prepare_cached(
            "SELECT thread_id, flow_id, created_at_ms FROM threads WHERE thread_id = ?1",
        )?
        .query_row([thread_id], thread_of)
        .optional()
}

fn thread_of(row: &Row<'_>) -> rusqlite::Result<Thread> {
    Ok(Thread { thread_id: row.get(0)?, flow_id: row.get(1)?, created_at_ms: row.get(2)? })
}

fn row_of(connection: &Connection, thread_id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM threads WHERE thread_id = ?1")?
        .query_row([thread_id], |row| row.get(0))
        .optional()
}

/// The number of a thread, by which its rows know it. Never given again.
pub(crate) fn number(connection: &Connection, thread_id: &str) -> Result<i64, Failure> {
    Ok(row_of(connection, thread_id)?.ok_or_else(|| no_thread(thread_id))?)
}

pub(crate) fn no_thread(thread_id: &str) -> ThreadError {
    ThreadError::NoThread { thread: thread_id.to_owned() }
}
