//! The bytes of an attachment, or a range of them, without the rest.

use rusqlite::{Connection, MAIN_DB, OptionalExtension};

use crate::error::Failure;
use crate::names::check_path;
use crate::threads::number;
use crate::{CHUNK, Store, ThreadError};

/// Where the bytes of an attachment are.
struct Place {
    row: i64,
    size: u64,
    is_chunked: bool,
    /// How many are in the row itself.
    bytes: u64,
}

impl Store {
    /// The bytes from `start` to before `end`, which is the attachment's end where it is absent. What
    /// lies behind the end is left out.
    pub fn read_attachment(
        &self,
        thread: &str,
        path: &str,
        start: u64,
        end: Option<u64>,
    ) -> Result<Vec<u8>, ThreadError> {
        check_path(path)?;
        self.read("reading an attachment", |connection| {
            let thread = number(connection, thread)?;
            let place = place(connection, thread, path)?;
            let end = end.unwrap_or(place.size).min(place.size);
            let start = start.min(end);
            // Before so much memory is taken: the number is read from a file.
            let there = if place.is_chunked {
                bytes_of_chunks(connection, thread, path)?
            } else {
                place.bytes
            };
            if there != place.size {
                let reason = format!("`{path}` has {there} bytes, and should have {}", place.size);
                return Err(self.corrupt(reason).into());
            }
            let mut bytes = self.zeros(end - start)?;
            if !place.is_chunked {
                self.fill(connection, ("files", place.row), start, &mut bytes)?;
                return Ok(bytes);
            }
            let mut position = start;
            let mut rest = bytes.as_mut_slice();
            while !rest.is_empty() {
                let (index, offset) = (position / CHUNK as u64, position % CHUNK as u64);
                let here = rest.len().min(CHUNK - usize::try_from(offset).unwrap_or(0));
                let (part, after) = rest.split_at_mut(here);
                let chunk = self.chunk(connection, thread, path, index)?;
                self.fill(connection, ("file_chunks", chunk), offset, part)?;
                position += here as u64;
                rest = after;
            }
            Ok(bytes)
        })
    }

    /// Memory is asked for, as there may not be so much.
    fn zeros(&self, length: u64) -> Result<Vec<u8>, ThreadError> {
        let mut bytes = Vec::new();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if bytes.try_reserve_exact(length).is_err() {
            let what = format!("{length} bytes at once");
            return Err(ThreadError::TooLarge { what, limit: self.options.attachment_limit });
        }
        bytes.resize(length, 0);
        Ok(bytes)
    }

    fn chunk(
        &self,
        connection: &Connection,
        thread: i64,
        path: &str,
        index: u64,
    ) -> Result<i64, Failure> {
        let row = connection
            .prepare_cached(
                "SELECT rowid FROM file_chunks
                 WHERE thread = ?1 AND file_path = ?2 AND chunk_index = ?3",
            )?
            .query_row((thread, path, index.cast_signed()), |row| row.get(0))
            .optional()?;
        Ok(row.ok_or_else(|| self.corrupt(format!("`{path}` lacks its chunk {index}")))?)
    }

    /// Reads straight from the pages of the value, wherever it begins.
    fn fill(
        &self,
        connection: &Connection,
        (table, row): (&str, i64),
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let blob = connection.blob_open(MAIN_DB, table, "data", row, true)?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if blob.len() < offset.saturating_add(bytes.len()) {
            let reason = format!("a row of `{table}` has {} bytes", blob.len());
            return Err(self.corrupt(reason).into());
        }
        blob.read_at_exact(bytes, offset)?;
        Ok(())
    }
}

/// Counted without reading them.
fn bytes_of_chunks(connection: &Connection, thread: i64, path: &str) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(data)), 0) FROM file_chunks
             WHERE thread = ?1 AND file_path = ?2",
        )?
        .query_row((thread, path), |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
}

fn place(connection: &Connection, thread: i64, path: &str) -> Result<Place, Failure> {
    let size = connection
        .prepare_cached(
            "SELECT rowid, size, is_chunked, coalesce(octet_length(data), 0) FROM files
             WHERE thread = ?1 AND path = ?2 AND staged_by IS NULL",
        )?
        .query_row((thread, path), |row| {
            let count = |index| row.get::<_, i64>(index).map(|n| n.try_into().unwrap_or(0));
            let (row, is_chunked) = (row.get(0)?, row.get(2)?);
            Ok(Place { row, size: count(1)?, is_chunked, bytes: count(3)? })
        })
        .optional()?;
    Ok(size.ok_or_else(|| ThreadError::NoAttachment { path: path.to_owned() })?)
}
