//! The rows of attachments: committed, listed, deleted.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Failure;
use crate::names::check_path;
use crate::threads::number;
use crate::{AttachmentRef, NewAttachment, Store, ThreadError};

/// The size of an attachment whose bytes are still coming.
pub(crate) const UNFINISHED: i64 = -1;

const COLUMNS: &str = "id, path, name, mime_type, size, width, height";

impl Store {
    /// What is at a path, if there is something.
    pub fn get_attachment(
        &self,
        thread: &str,
        path: &str,
    ) -> Result<Option<AttachmentRef>, ThreadError> {
        check_path(path)?;
        self.read("reading an attachment", |connection| {
            let thread = number(connection, thread)?;
            let existing = connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM files
                     WHERE thread = ?1 AND path = ?2 AND staged_by IS NULL"
                ))?
                .query_row((thread, path), ref_of)
                .optional()?;
            Ok(existing)
        })
    }

    /// All attachments, in the order in which they were committed.
    pub fn list_attachments(&self, thread: &str) -> Result<Vec<AttachmentRef>, ThreadError> {
        self.read("listing attachments", |connection| {
            let thread = number(connection, thread)?;
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM files
                 WHERE thread = ?1 AND staged_by IS NULL ORDER BY seq"
            ))?;
            let rows = statement.query_map([thread], ref_of)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Removes an attachment. False if it does not exist.
    pub fn delete_attachment(&self, thread: &str, path: &str) -> Result<bool, ThreadError> {
        check_path(path)?;
        self.write("deleting an attachment", |connection| {
            let thread = number(connection, thread)?;
            let removed = connection.execute(
                "DELETE FROM files WHERE thread = ?1 AND path = ?2 AND staged_by IS NULL",
                (thread, path),
            )?;
            if removed > 0 {
                connection.execute(
                    "DELETE FROM file_chunks WHERE thread = ?1 AND file_path = ?2",
                    (thread, path),
                )?;
            }
            Ok(removed > 0)
        })
    }
}

/// Makes visible what is staged.
pub(crate) fn commit(connection: &Connection, thread: i64, path: &str) -> Result<(), Failure> {
    let changed = connection
        .prepare_cached(
            "UPDATE files SET staged_by = NULL,
                 seq = (SELECT coalesce(max(seq), 0) + 1 FROM files WHERE thread = ?1)
             WHERE thread = ?1 AND path = ?2 AND staged_by IS NOT NULL AND size >= 0",
        )?
        .execute((thread, path))?;
    if changed == 1 {
        return Ok(());
    }
    Err(ThreadError::NoAttachment { path: path.to_owned() }.into())
}

fn ref_of(row: &Row<'_>) -> rusqlite::Result<AttachmentRef> {
    Ok(AttachmentRef {
        id: row.get(0)?,
        path: row.get(1)?,
        new: NewAttachment {
            name: row.get(2)?,
            mime_type: row.get(3)?,
            width: row.get(5)?,
            height: row.get(6)?,
        },
        size: row.get::<_, i64>(4)?.try_into().unwrap_or(0),
    })
}
